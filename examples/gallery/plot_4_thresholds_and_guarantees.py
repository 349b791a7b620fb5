"""
Which threshold, and what can be guaranteed?
============================================

Scores rank; thresholds decide. The threshold at 0 of a ridge finds almost no rare label. Thresholds tuned on
out-of-fold scores do, and a threshold with a *guarantee* is one whose precision was proven on rows held out
for that.
"""

# %%
# The same scores under different thresholds
# ------------------------------------------
import matplotlib.pyplot as plt
import numpy as np

from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.datasets import load_debtags
from hyperlabel.metrics import f1_score
from hyperlabel.model_selection import iterative_train_test_split

data = load_debtags()
X, X_test, Y, Y_test = iterative_train_test_split(
    data.X, data.Y, groups=data.groups, test_size=0.3, random_state=0
)
base = BinaryRelevance(alpha=1.0, cv=3)

models = {
    "threshold at 0": base,
    "one threshold for all labels": ThresholdTuner(
        base, strategy="global", scoring="f1_micro"
    ),
    "a threshold for each label": ThresholdTuner(
        base, strategy="per_label", scoring="f1_macro"
    ),
}
values = {name: model.fit(X, Y).predict(X_test) for name, model in models.items()}
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
at = np.arange(len(values))
for shift, average in ((-0.2, "micro"), (0.2, "macro")):
    ax.barh(
        at + shift,
        [f1_score(Y_test, p, average=average) for p in values.values()],
        0.38,
        label=average,
    )
ax.set_yticks(at, list(values))
ax.invert_yaxis()
ax.set(xlabel="F1 on test rows, the same scores in each row")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))

# %%
# At least 70 % right, proven
# ---------------------------
# A third of the rows is held out. Thresholds are tried from strict to loose while an exact binomial test
# allows it. A label without enough rows gets no guarantee and is never predicted.
safe = ThresholdTuner(
    base, strategy="precision_at_least", precision=0.7, confidence=0.9, cv="split"
).fit(X, Y)
predicted = safe.predict(X_test).toarray()
lines = list(safe.guarantees_)
guaranteed = [j for j, line in enumerate(lines) if line["guaranteed"]]
without = next(line for line in lines if not line["guaranteed"])
print(f"{len(guaranteed)} of {len(lines)} labels are guaranteed. One that is not:")
print(without["guarantee"])

truth = Y_test.toarray()
rows_of = predicted[:, guaranteed].sum(axis=0)
right = (predicted * truth)[:, guaranteed].sum(axis=0) / np.maximum(rows_of, 1)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.scatter(rows_of, right, s=18)
ax.axhline(0.7, color="C3", label="guaranteed")
ax.set(
    xscale="log",
    xlabel="test rows given the label",
    ylabel="precision on test rows",
    ylim=(0, 1.05),
)
ax.legend()
plt.show()
