"""
Which labels look wrong, and what should a person check?
========================================================

Out-of-fold scores are free here, so every entry (row, label) can be compared with what a model that never
saw the row expects. That finds labels which are likely wrong or missing, and orders the work of a
reviewer.
"""

# %%
# Errors planted on purpose
# -------------------------
# One tag in twenty is taken away from the packages; how many of the first entries on the list are such
# gaps?
import matplotlib.pyplot as plt
import numpy as np

from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.datasets import load_debtags
from hyperlabel.decision import label_errors
from hyperlabel.decision.review import review_gains, review_order

data = load_debtags()
X = data.X
rng = np.random.default_rng(0)
given = data.Y.toarray()
held = np.argwhere(given)
gone = held[rng.choice(len(held), len(held) // 20, replace=False)]
given[gone[:, 0], gone[:, 1]] = 0
planted = {(int(i), int(j)) for i, j in gone}

model = BinaryRelevance(alpha=1.0, cv=5).fit(X, given)
entries = label_errors(
    given, model.oof_scores_, n_entries=1000, label_names=data.label_names
)
missing = [entry for entry in entries if entry[2] == "missing"]
is_planted = np.array([(entry[0], entry[1]) in planted for entry in missing])
n_planted = np.cumsum(is_planted)
planted_share = len(planted) / (given == 0).sum()

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(np.arange(1, len(missing) + 1), n_planted, label="in the order of the list")
ax.plot(
    [0, len(missing)], [0, planted_share * len(missing)], color="0.6", label="at random"
)
ax.set(xlabel="entries looked at", ylabel="planted gaps among them")
ax.legend()
print(
    f"{n_planted[199]} of the first 200 are planted; many of the others are real gaps in Debian's tags:"
)
for i, j, _, p in [missing[place] for place in np.flatnonzero(~is_planted)[:3]]:
    words = X[[i]].indices[np.argsort(-X[[i]].data)[:4]]
    print(
        f"  {data.label_names[j]} (p = {p:.2f}): {' '.join(data.feature_names[w] for w in words)}"
    )

# %%
# A reviewer's queue
# ------------------
# Half of the rows fit the model, the others are new. What does checking a few entries do to F1?
# ``hyperlabel predict --review`` writes this order as a file, and ``hyperlabel update`` learns the answers.
half = rng.permutation(len(given))
known, new = half[: len(half) // 2], half[len(half) // 2 :]
tuned = ThresholdTuner(BinaryRelevance(alpha=1.0, cv=5), scoring="f1_micro").fit(
    X[known], data.Y[known]
)
p, sets = tuned.predict_proba(X[new]), tuned.predict(X[new]).toarray() > 0
truth = data.Y[new].toarray() > 0


def f1_after(order):
    """Return micro-F1 when the entries of `order` are replaced by the truth."""
    checked = sets.ravel().copy()
    checked[order] = truth.ravel()[order]
    return 2 * (checked & truth.ravel()).sum() / (checked.sum() + truth.sum())


budgets = np.linspace(0, 0.04 * p.size, 9).astype(int)
margin = np.argsort(np.abs(p - 0.5).ravel(), kind="stable")
at_random = rng.permutation(p.size)
ours = [
    f1_after(review_order(review_gains(p, sets, budget=b), limit=b) if b else margin[:0])
    for b in budgets
]
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(budgets, ours, label="by expected gain")
ax.plot(budgets, [f1_after(margin[:b]) for b in budgets], label="nearest to ½ first")
ax.plot(budgets, [f1_after(at_random[:b]) for b in budgets], color="0.6", label="at random")
ax.set(xlabel=f"entries checked, of {p.size}", ylabel="micro-F1 of the new rows")
ax.legend()
plt.show()
