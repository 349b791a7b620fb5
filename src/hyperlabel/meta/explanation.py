"""Explain scores: the features that drove them and the label directions they passed through.

Every linear method of the library scores a row by f(x) = Wx + b, whatever it solved to get there; so
the share of feature i in the score of label j is W[j, i]·x[i], and shares and b add up to the
score. Methods that go through a few directions (label spaces, projections) are f(x) = V(Ux + o) + b:
the share of direction m is V[j, m]·(Ux + o)[m], and these add up to the same score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import score_rows
from hyperlabel._tables import Table
from hyperlabel.meta.linear_view import LinearView, linear_view
from hyperlabel.meta.wrapper_base import iter_nested_estimators
from hyperlabel.moments.linear_map import not_linear

_LABELS_SHOWN = 4  # of a direction


@dataclass(frozen=True)
class Share:
    """What one feature (or direction) adds to a score: share = weight · value."""

    name: str
    value: float  # as the classifier sees it (scaled, vectorised); 1 where a label as such is explained
    weight: float
    share: float
    from_name: float = 0.0  # the part of the share that comes from the name of the label
    labels: tuple[tuple[str, float], ...] = ()  # of a direction: those it moves most, with their weights


@dataclass(frozen=True)
class Explanation:
    """Why a row got its score for a label: score = base + Σ shares of `features` + rest."""

    row: int | None  # None where a label as such is explained
    label: str
    score: float | None
    threshold: float | None  # the tuned threshold the score must pass, if there is one
    base: float  # the score of a row of zeros
    features: tuple[Share, ...]  # the largest, by absolute share
    rest: float  # sum of the shares not listed
    directions: tuple[Share, ...] = ()  # label directions passed through, by absolute share
    note: str = ""  # says so where there is nothing to explain
    from_name: float | None = None  # the part of all shares that comes from the label's name, if it counts

    def as_row(self) -> dict[str, Any]:
        """Return the explanation as a row of a table: the shares of the features in one cell."""
        feature_shares = ", ".join(f"{feature.name} {feature.share:+.3f}" for feature in self.features)
        row_entry = {} if self.row is None else {"row": self.row}
        scores = {"label": self.label, "score": self.score, "threshold": self.threshold, "base": self.base}
        name_entry = {} if self.from_name is None else {"from_name": self.from_name}
        return row_entry | scores | {"features": self.note or feature_shares, "rest": self.rest} | name_entry


def explain(
    model: Any,
    X: Any = None,
    *,
    labels: Sequence[str | int] | None = None,
    top: int = 10,
    feature_names: Sequence[str] | None = None,
) -> list[Explanation]:
    r"""Explain the scores of a linear model, by features and by label directions.

    .. math:: f_j(x) = b_j + \sum_i W_{ji} x_i = b_j' + \sum_m V_{jm} (Ux + o)_m,

    where:

    - :math:`W_{ji} x_i` is the share of feature i in the score of label j;
    - :math:`U` leads to the directions (principal label space, hypergraph projection) and :math:`V` from
      them to the labels, for methods that have them.

    Where names are features of the labels (``label_features=``), ``from_name`` is the part of a share that
    the name alone gives, g·v·x on the scale of scores; the rows have taught what remains.

    Parameters
    ----------
    model : fitted classifier or Pipeline
        `BinaryRelevance` (shared ridge, or linear estimators), `PLST` and its relatives,
        `ProjectionClassifier`, linear `RankSVM`, linear classifiers of scikit-learn; inside a Pipeline,
        `ThresholdTuner`, `MultiLabelCalibrator` (sigmoid) or `AutoMultiLabel`.
    X : rows as the model takes them, default=None
        The rows to explain; None explains the labels as such, by weights alone.
    labels : sequence of str or int, default=None
        Names or columns; None: the best label of each row.
    top : int, default=10
        Features and directions to list.
    feature_names : sequence of str, default=None
        Names of the columns of X; the words of a vectoriser name themselves.

    Returns
    -------
    explanations : list of Explanation
        By row, then by label; a notebook shows it as a table.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from hyperlabel import BinaryRelevance, explain
    >>> texts = ["red apple", "green apple", "red car", "green car"]
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> model = make_pipeline(TfidfVectorizer(), BinaryRelevance()).fit(texts, Y)
    >>> why = explain(model, ["a red apple"], labels=[0])[0]
    >>> why.features[0].name, bool(abs(why.score - why.base - sum(s.share for s in why.features)) < 1e-12)
    ('apple', True)
    """
    check_is_fitted(model)
    label_names = _label_names(model)
    if X is not None and not hasattr(model, "decision_function"):
        raise not_linear(type(model).__name__)
    scores = None if X is None else score_rows(model, X)
    row_label_pairs = _pair_rows_with_labels(scores, labels, label_names)
    label_columns = sorted({j for _, j in row_label_pairs})
    model_view = linear_view(model, X, feature_names, label_columns)
    thresholds, constant = (_first_attribute(model, "thresholds_"), _first_attribute(model, "_constant"))
    constant = np.zeros(len(label_names)) if constant is None else constant
    explanations = Table()
    for row, j in row_label_pairs:
        score = None if scores is None else float(scores[row, j])
        threshold = None if thresholds is None else float(thresholds[j])
        if constant[j]:
            note = "never seen in training" if constant[j] < 0 else "on in every training row"
            base = 0.0 if score is None else score
            explanations.append(Explanation(row, label_names[j], score, threshold, base, (), 0.0, note=note))
        else:
            explanations.append(
                _explain_label(model_view, row, label_columns.index(j), j, label_names, score, threshold, top)
            )
    return explanations


def _pair_rows_with_labels(
    scores: np.ndarray | None, labels: Sequence[str | int] | None, label_names: list[str]
) -> list[tuple[int | None, int]]:
    """Return the pairs of row (None: the labels as such) and label to explain."""
    if labels is not None:
        row_indices = [None] if scores is None else range(len(scores))
        label_columns = [_label_column(label, label_names) for label in labels]
        return [(row, j) for row in row_indices for j in label_columns]
    if scores is None:
        raise ValueError("Name the labels to explain, or give rows.")
    return [(row, int(best_label)) for row, best_label in enumerate(np.argmax(scores, axis=1))]


def _explain_label(
    view: LinearView,
    row: int | None,
    view_row: int,
    label: int,
    label_names: list[str],
    score: float | None,
    threshold: float | None,
    top: int,
) -> Explanation:
    weights = view.coef[view_row]
    values = np.ones(len(weights)) if row is None or view.Z is None else view.Z[row]
    shares = weights * values
    name_shares = np.zeros(len(weights)) if view.of_names is None else view.of_names[view_row] * values
    top_features = np.argsort(-np.abs(shares), kind="stable")[:top]
    listed_shares = tuple(
        Share(
            _feature_name(view.names, i),
            float(values[i]),
            float(weights[i]),
            float(shares[i]),
            float(name_shares[i]),
        )
        for i in top_features
        if shares[i] != 0
    )
    rest_share = 0.0 if row is None else float(shares.sum() - sum(share.share for share in listed_shares))
    directions = _explain_directions(view, row, label, label_names, top)
    base_score = float(view.intercept[view_row])
    from_name = None if row is None or view.of_names is None else float(name_shares.sum())
    return Explanation(
        row,
        label_names[label],
        score,
        threshold,
        base_score,
        listed_shares,
        rest_share,
        directions,
        from_name=from_name,
    )


def _explain_directions(
    view: LinearView, row: int | None, label: int, label_names: list[str], top: int
) -> tuple[Share, ...]:
    if view.codes is None or view.readout is None:
        return ()
    U, offset = view.codes
    V = view.readout
    codes = np.ones(V.shape[0]) if row is None or view.Z is None else view.Z[row] @ U + offset
    shares = V[:, label] * codes
    listed_shares = []
    for m in np.argsort(-np.abs(shares), kind="stable")[:top]:
        top_labels = np.argsort(-np.abs(V[m]), kind="stable")[:_LABELS_SHOWN]
        label_weights = tuple((label_names[j], float(V[m, j])) for j in top_labels)
        share = Share(
            f"direction {m + 1}",
            float(codes[m]),
            float(V[m, label]),
            float(shares[m]),
            labels=label_weights,
        )
        listed_shares.append(share)
    return tuple(listed_shares)


# -- names and values -----------------------------------------------------------------------------------


def _feature_name(names: Any, i: int) -> str:
    return f"x{i}" if names is None else str(names[i])


def _label_names(model: Any) -> list[str]:
    for attribute in ("label_names_", "classes_"):
        label_names = _first_attribute(model, attribute)
        if label_names is not None:
            return [str(name) for name in label_names]
    raise ValueError(f"{type(model).__name__} has no labels: explain takes fitted classifiers.")


def _label_column(label: str | int, label_names: list[str]) -> int:
    if isinstance(label, str) and label in label_names:
        return label_names.index(label)
    if isinstance(label, (int, np.integer)) and 0 <= label < len(label_names):
        return int(label)
    raise ValueError(f"The model has no label {label!r}.")


def _first_attribute(model: Any, name: str) -> Any:
    """Return an attribute of the outermost estimator that has it, or None."""
    return next(
        (getattr(estimator, name) for estimator in iter_nested_estimators(model) if hasattr(estimator, name)),
        None,
    )
