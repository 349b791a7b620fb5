"""Every C and λ of the ranking machines, each started from its neighbour's duals."""

import copy
from collections.abc import Sequence
from typing import Any

from hyperlabel.ranking.rank_svm import HypergraphRankSVM


def rank_svm_path(
    X: Any,
    y: Any,
    *,
    Cs: Sequence[float],
    hypergraph_weights: Sequence[float] = (0.0,),
    sample_weight: Any = None,
    **parameters: Any,
) -> list[HypergraphRankSVM]:
    """Fit `HypergraphRankSVM` for every pair of C and λ; λ = 0 is `RankSVM`.

    Scaling, kernel factor and XᵀLX are computed once. The duals of one C, scaled by the ratio,
    are feasible for the next, and those of one λ are feasible for any other, so each solve
    begins close to its end.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training rows.
    y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
        Their labels.
    Cs : sequence of float
        Weights of the ranking loss, solved in ascending order.
    hypergraph_weights : sequence of float, default=(0.0,)
        The λ, solved in the given order.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row.
    **parameters : dict
        Further parameters of `HypergraphRankSVM`.

    Returns
    -------
    models : list of HypergraphRankSVM
        Fitted, λ by λ, C ascending inside each.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel.ranking import rank_svm_path
    >>> X, Y = make_multilabel_classification(n_samples=100, random_state=0)
    >>> models = rank_svm_path(X, Y, Cs=[1.0, 2.0], hypergraph_weights=[0.0, 1.0], random_state=0)
    >>> [(m.C, m.hypergraph_weight) for m in models]
    [(1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (2.0, 1.0)]
    """
    if not len(Cs) or not len(hypergraph_weights):
        raise ValueError("Give at least one C and one hypergraph weight.")
    template = HypergraphRankSVM(**parameters).set_params(
        C=max(Cs), hypergraph_weight=float(max(hypergraph_weights))
    )
    prepared = template._prepare(X, y, sample_weight)
    models: list[HypergraphRankSVM] = []
    first_duals: Any = None
    for weight in hypergraph_weights:
        duals, previous_C = first_duals, float(min(Cs))
        for C in sorted(Cs):
            model = copy.copy(template).set_params(C=C, hypergraph_weight=weight)
            start_duals = None if duals is None else duals * (C / previous_C)
            solved = prepared.solve(C, model._laplacian_weight(), start_duals)
            model.C_ = C
            model._adopt(prepared, solved)
            duals, previous_C = solved.result.alpha, C
            first_duals = duals if min(Cs) == C else first_duals
            models.append(model)
    return models
