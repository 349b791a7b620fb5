"""
What do hypergraph expansions see in real labels?
=================================================

A label is a hyperedge over the rows that carry it. The four expansions turn the same hyperedges into
different geometries; on real tags the difference shows in which rows come close, and in how well
neighbours vote.
"""

# %%
# Labels that share rows
# ----------------------
# The tags of 4 879 Debian packages; the display orders labels so that those which occur together stand
# together.
import matplotlib.pyplot as plt
import numpy as np

from hyperlabel import HypergraphSpectral, LabelHypergraph, MLkNN
from hyperlabel.apps.report import CooccurrenceDisplay, EmbeddingDisplay
from hyperlabel.datasets import load_debtags
from hyperlabel.metrics import evaluate
from hyperlabel.model_selection import iterative_train_test_split

data = load_debtags()
often = np.sort(np.argsort(-np.asarray(data.Y.sum(axis=0)).ravel())[:20])
names = [data.label_names[j] for j in often]
fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
CooccurrenceDisplay.from_labels(data.Y[:, often], label_names=names, ax=ax)

# %%
# Four geometries
# ---------------
# How much a row counts depends on the expansion: by the number of its labels (Zhou), or by their sizes.
graph = LabelHypergraph(data.Y)
for expansion in ("clique", "star", "zhou"):
    degrees = graph.degrees(expansion)
    print(
        f"{expansion:7} degree of a row: median {np.median(degrees):8.2f}, largest {degrees.max():8.2f}"
    )

# %%
# Where rows end up, and whether that helps
# -----------------------------------------
# Each projection is fitted on three quarters of the packages; ten neighbours vote in it.
X, X_test, Y, Y_test = iterative_train_test_split(
    data.X, data.Y, groups=data.groups, test_size=0.25, random_state=0
)

fig, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
plain = MLkNN(10).fit(X, Y)
worth = {"words": evaluate(Y_test, plain.predict(X_test), plain.decision_function(X_test))}
for expansion, ax in zip(("clique", "star", "zhou", "cca"), axes.ravel(), strict=True):
    projection = HypergraphSpectral(40, expansion=expansion, alpha=3.0).fit(X, Y)
    EmbeddingDisplay.from_estimator(
        projection, X_test, Y_test, label_names=data.label_names, ax=ax
    )
    ax.set_title(expansion)
    voters = MLkNN(10).fit(projection.transform(X), Y)
    scores = voters.decision_function(projection.transform(X_test))
    worth[expansion] = evaluate(
        Y_test, voters.predict(projection.transform(X_test)), scores
    )
plt.show()

for name, values in worth.items():
    print(
        f"{name:7} micro-F1 {values['f1_micro']:.3f}  ranking loss {values['ranking_loss']:.3f}"
    )
