"""
What does cross-validation cost, and can a model forget?
========================================================

The sums of a training fold are all sums minus those of the fold. So cross-validation is a subtraction,
and so is forgetting the rows of a person who asks for it.
"""

# %%
# Ten folds from one pass over the rows
# -------------------------------------
# Out-of-fold scores of ten folds cost a few fits, not ten. Scores at eight λ share the same sums.
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict

from hyperlabel import BinaryRelevance

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 200)).astype(np.float32)
Y = (X @ rng.normal(size=(200, 100)) + 8 * rng.normal(size=(20_000, 100)) > 14).astype(int)


def cpu(work):
    """Return CPU seconds of the faster of two runs: the first one may compile."""
    times = []
    for _ in range(2):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


grid = list(np.geomspace(1, 1e4, 8))
targets = 2.0 * Y - 1


def ten_folds(alphas):
    """Score each row by scikit-learn's Ridge fitted on the other nine folds, for every λ."""
    for alpha in alphas:
        cross_val_predict(Ridge(alpha=alpha), X, targets, cv=10)


seconds = {
    "one fit": cpu(lambda: BinaryRelevance(alpha=100.0).fit(X, Y)),
    "fit and 10 folds": cpu(lambda: BinaryRelevance(alpha=100.0, cv=10).fit(X, Y)),
    "scikit-learn, 10 folds": cpu(lambda: ten_folds([100.0])),
    "fit and 10 folds, 8 λ": cpu(lambda: BinaryRelevance(alpha=grid, cv=10).fit(X, Y)),
    "scikit-learn, 10 folds, 8 λ": cpu(lambda: ten_folds(grid)),
}
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
colours = ["0.6" if name.startswith("scikit") else "C0" for name in seconds]
ax.barh(list(seconds), list(seconds.values()), color=colours)
ax.invert_yaxis()
ax.set(xlabel="CPU seconds, 20 000 rows, 200 features, 100 labels")

# %%
# Rows that were never there
# --------------------------
# 500 rows belong to one person. After ``forget`` the model is the one that would have been fitted without
# them.
model = BinaryRelevance(alpha=100.0).fit(X, Y)
forgot = model.forget(X[:500], Y[:500])
without = BinaryRelevance(alpha=100.0).fit(X[500:], Y[500:])
print(f"largest difference of any weight: {np.abs(forgot.coef_ - without.coef_).max():.1e}")
print(f"largest weight:                   {np.abs(without.coef_).max():.1e}")

# %%
# Two models that never met become one: sums add.
first = BinaryRelevance(alpha=100.0).fit(X[:9_000], Y[:9_000])
second = BinaryRelevance(alpha=100.0).fit(X[9_000:], Y[9_000:])
whole = BinaryRelevance(alpha=100.0).fit(X, Y)
print(
    f"merged against fitted together:   {np.abs(first.merge(second).coef_ - whole.coef_).max():.1e}"
)
plt.show()
