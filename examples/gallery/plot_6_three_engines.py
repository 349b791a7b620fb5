"""
One model from three engines?
=============================

The rows of a company live in several places. Models here need sums of rows only, so each place sums its
own and sends kilobytes; the sums add up to the model that all rows together would have given.
"""

# %%
# Three parts: a Parquet data set, a DuckDB query, a Polars frame
# ---------------------------------------------------------------
import tempfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hyperlabel import BinaryRelevance, HypergraphSpectral, Moments

rng = np.random.default_rng(0)
n, labels = 30_000, ["red", "round", "soft", "new"]
X = rng.normal(size=(n, 8))
Y = (X @ rng.normal(size=(8, 4)) + rng.normal(size=(n, 4)) > 1.5).astype(int)
names = [f"x{j}" for j in range(8)]
table = pa.table(dict(zip([*names, *labels], [*X.T, *Y.T], strict=True)))

folder = Path(tempfile.mkdtemp())
for part in range(4):
    pq.write_table(table.slice(2_500 * part, 2_500), folder / f"{part}.parquet")
parquet = Moments.from_batches(ds.dataset(folder, format="parquet"), labels=labels)

rest = table.slice(10_000, 12_000)
query = duckdb.sql("SELECT * FROM rest WHERE isfinite(x0)").to_arrow_reader(1_000)
database = Moments.from_batches(query, labels=labels)

frame = Moments.from_batches(pl.from_arrow(table.slice(22_000)), labels=labels)
parts = {"Parquet": parquet, "DuckDB": database, "Polars": frame}
for name, part in parts.items():
    print(f"{name}: {part}")

# %%
# The sum of the parts is the whole
# ---------------------------------
together = parquet + database + frame
model = BinaryRelevance.from_moments(together, alpha="auto")
whole = BinaryRelevance(alpha="auto").fit(X, Y)
apart = np.abs(model.coef_ - whole.coef_).max()
print(f"λ {model.alpha_:.3g} and {whole.alpha_:.3g}; weights differ by {apart:.1e}")

# %%
# What each place knows alone, and what they know together. The same sums fit other methods too.
test = pd.DataFrame(rng.normal(size=(5_000, 8)), columns=names)
best = whole.decision_function(test.to_numpy())
gap = {}
for name, part in parts.items():
    alone = BinaryRelevance.from_moments(part, alpha="auto")
    gap[name] = np.abs(alone.decision_function(test) - best).mean()
gap["together"] = np.abs(model.decision_function(test) - best).mean()
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.barh(list(gap), np.maximum(list(gap.values()), 1e-17), color=["0.6"] * 3 + ["C0"])
ax.invert_yaxis()
ax.set(
    xscale="log",
    xlabel="mean difference of scores from the model of all rows in one process",
)
projection = HypergraphSpectral.from_moments(together, expansion="cca")
print("a projection from the same sums:", projection.components_.shape)
plt.show()
