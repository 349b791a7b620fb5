"""Weights of a blend, learned on out-of-fold log-odds: stacking with weights that sum to 1.

D. H. Wolpert, *Stacked generalization*, Neural Networks 5, 1992; L. Breiman, *Stacked regressions*, Machine
Learning 24, 1996, for weights that are not negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import optimize, sparse
from scipy.special import expit, log_expit

PRIOR_ROWS = 10.0  # how many samples the preference for the prior weights counts as


def stack_weights(
    log_odds: Sequence[np.ndarray], Y: sparse.csr_array, prior: np.ndarray, *, prior_rows: float = PRIOR_ROWS
) -> np.ndarray:
    r"""Return the weights of the members whose mean log-odds have the least log-loss.

    .. math:: \min_{w \ge 0,\; \sum_m w_m = 1} \frac1n \sum_{ij} \ell\Big(\sum_m w_m z^m_{ij},\; y_{ij}\Big)
        + \frac{r}{n} \sum_m (w_m - p_m)^2,

    where :math:`z^m` are the log-odds of member m, ℓ is the log-loss, p is `prior` and r is `prior_rows`: few
    samples keep weights near the prior. The problem is convex. Unknown entries of Y (NaN) are left out.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]] * 50)
    >>> good, noise = 4 * Y.toarray() - 2, np.tile([[3.0, 3.0], [-3.0, -3.0]], (50, 1))
    >>> stack_weights([good, noise], Y, np.array([0.5, 0.5])).round(2)
    array([1., 0.])
    """
    labels = Y.toarray()
    is_known = ~np.isnan(labels)
    targets = labels[is_known]
    members = np.stack([member_scores[is_known] for member_scores in log_odds])
    n_members, n_rows = len(members), labels.shape[0]
    if n_members < 2:
        return np.ones(n_members)

    def penalised_loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        blended = weights @ members
        step = weights - prior
        loss = -(targets @ log_expit(blended) + (1.0 - targets) @ log_expit(-blended))
        gradient = members @ (expit(blended) - targets) + 2.0 * prior_rows * step
        return float(loss + prior_rows * step @ step) / n_rows, gradient / n_rows

    sum_to_one = {
        "type": "eq",
        "fun": lambda weights: weights.sum() - 1.0,
        "jac": lambda weights: np.ones(n_members),
    }
    solution = optimize.minimize(
        penalised_loss,
        prior,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_members,
        constraints=[sum_to_one],
        options={"ftol": 1e-9},
    )
    weights = np.where(solution.x > 1e-3, solution.x, 0.0)  # a trace of a member is not worth its cost
    return weights / weights.sum()
