"""
Which λ, and how many components?
=================================

A ridge needs a λ, a compressed label space a dimension. Both are usually searched by refitting; here one
pass over the rows answers both, and the plot compares the answers with what a test set would have said.
"""

# %%
# λ from the sums alone
# ---------------------
# ``alpha="auto"`` maximises the evidence, a function of :class:`hyperlabel.Moments`: no folds, no held-out
# rows. The dots are models at other λ, judged on rows the choice never saw.
import matplotlib.pyplot as plt
import numpy as np

from hyperlabel import PLST, BinaryRelevance
from hyperlabel.datasets import load_debtags
from hyperlabel.metrics import ndcg_at_k
from hyperlabel.model_selection import iterative_train_test_split

data = load_debtags()
X, X_test, Y, Y_test = iterative_train_test_split(
    data.X, data.Y, groups=data.groups, test_size=0.25, random_state=0
)

chosen = BinaryRelevance(alpha="auto").fit(X, Y)
grid = np.geomspace(0.03, 30, 10)
quality = [
    ndcg_at_k(Y_test, BinaryRelevance(alpha=a).fit(X, Y).decision_function(X_test), k=5)
    for a in grid
]

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.semilogx(grid, quality, "o-", label="a fit at each λ, judged on test rows")
ax.axvline(
    chosen.alpha_, color="C3", label=f"evidence: λ = {chosen.alpha_:.2f}, no test row seen"
)
ax.set(xlabel="λ", ylabel="nDCG@5 on test rows")
ax.legend()
at_evidence = ndcg_at_k(Y_test, chosen.decision_function(X_test), k=5)
print(f"nDCG@5 at the evidence's λ {at_evidence:.3f}, best of the grid {max(quality):.3f}")

# %%
# Every dimension from one pass
# -----------------------------
# ``PLST("auto")`` judges every number of components on held-out folds; the folds are subtractions of sums,
# so that costs no refit. ``dimension_path_`` holds the whole curve.
compressed = PLST(
    "auto", alpha=chosen.alpha_, scoring="label_ranking_average_precision"
).fit(X, Y)
path = compressed.dimension_path_

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
low, high = path["mean"] - path["std"], path["mean"] + path["std"]
ax.fill_between(
    path["n_components"], low, high, color="0.85", label="spread over the folds"
)
ax.plot(path["n_components"], path["mean"])
ax.axvline(path["chosen"], color="C3", label=f"chosen: {path['chosen']} of {Y.shape[1]}")
ax.set(xlabel="components", ylabel="ranking precision, out of fold")
ax.legend()
plt.show()
