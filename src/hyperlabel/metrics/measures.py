"""One record for each measure: its function, what it reads and which way is better.

Scorers, `evaluate`, thresholds, `AutoMultiLabel`, comparisons and the command line ask this registry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel.metrics import at_k, bipartition, probability, ranking
from hyperlabel.metrics.validation import CheckedAnswer, Truth, takes_checked


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure of multi-label predictions.

    Parameters
    ----------
    name : str
        What ``scoring=`` calls it.
    function : callable
        ``function(y_true, y, *, sample_weight=None, **options) -> float``, y being what it `reads`.
    reads : {"label_sets", "scores", "probabilities"}
        What it compares with the truth.
    greater_is_better : bool, default=True
        False for a loss.
    options : mapping, default={}
        Further arguments of `function`.
    aliases : tuple of str, default=()
        Other names.
    threshold_objective : {"f1_macro", "f1_micro", "f1_samples", "hamming_loss"} or None, default=None
        What thresholds maximise to make this measure best; None where thresholds are no way to it.

    Examples
    --------
    >>> from hyperlabel.metrics import Measure, hamming_loss
    >>> loss = Measure("loss", hamming_loss, "label_sets", greater_is_better=False)
    >>> loss.score([[1, 0]], [[1, 1]])  # greater is better
    -0.5
    """

    name: str
    function: Callable[..., Any]
    reads: Literal["label_sets", "scores", "probabilities"]
    greater_is_better: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    threshold_objective: str | None = None

    def __call__(self, y_true: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the value of the measure."""
        return float(self.function(y_true, y, sample_weight=sample_weight, **self.options))

    def score(self, y_true: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the value where greater is better: of a loss the negative."""
        value = self(y_true, y, sample_weight)
        return value if self.greater_is_better else -value


_MEASURES: dict[str, Measure] = {}
_ALIASES: dict[str, str] = {}


def register_measure(measure: Measure) -> Measure:
    """Add a measure to the registry; its names must be new.

    Parameters
    ----------
    measure : Measure
        The record.

    Returns
    -------
    measure : Measure
        The same.

    Examples
    --------
    >>> from hyperlabel.metrics import Measure, f1_score, register_measure
    >>> register_measure(Measure("f1_macro", f1_score, "label_sets"))
    Traceback (most recent call last):
    ...
    ValueError: There is a measure 'f1_macro' already.
    """
    for name in (measure.name, *measure.aliases):
        if name in _MEASURES or name in _ALIASES:
            raise ValueError(f"There is a measure {name!r} already.")
    _MEASURES[measure.name] = measure
    _ALIASES.update(dict.fromkeys(measure.aliases, measure.name))
    return measure


def find_measure(scoring: Any) -> Measure | None:
    """Return the measure of this name or alias; None for a callable or a name of others."""
    return _MEASURES.get(_ALIASES.get(scoring, scoring)) if isinstance(scoring, str) else None


def get_measure(name: str) -> Measure:
    """Return the measure of this name or alias."""
    measure = find_measure(name)
    if measure is None:
        raise ValueError(f"There is no scorer {name!r}: choose one of {', '.join(sorted(_MEASURES))}.")
    return measure


def list_measures() -> list[Measure]:
    """Return all measures, in the order they were registered."""
    return list(_MEASURES.values())


def is_loss(name: str) -> bool:
    """Whether smaller values of this measure are better; False for names nobody registered."""
    measure = find_measure(name)
    return measure is not None and not measure.greater_is_better


def score_parts(
    measure: Measure,
    Y: sparse.csr_array,
    label_sets: np.ndarray,
    parts: Sequence[Any],
    sample_weight: np.ndarray | None = None,
) -> list[float]:
    """Return the score of validated label sets on each of some parts of the rows."""
    P = sparse.csr_array(label_sets, dtype=np.float64)
    is_ours = takes_checked(measure.function)
    truth = Truth.of_targets(Y) if is_ours else None
    values = []
    for rows in parts:
        weight = None if sample_weight is None else sample_weight[rows]
        if truth is None:
            values.append(measure.score(Y[rows], P[rows], weight))
        else:
            values.append(measure.score(truth.take(rows), CheckedAnswer(P[rows]), weight))
    return values


def _register_all() -> None:
    loss: dict[str, Any] = {"greater_is_better": False}
    # A Jaccard index grows with the F1 of the same counts: tp/(tp+fp+fn) = F1/(2 − F1).
    objectives = {name: name for name in ("f1_macro", "f1_micro", "f1_samples")}
    objectives |= {"jaccard_macro": "f1_macro", "jaccard_micro": "f1_micro"}
    measures = [
        Measure(
            "hamming_loss",
            bipartition.hamming_loss,
            "label_sets",
            threshold_objective="hamming_loss",
            **loss,
        ),
        Measure("subset_accuracy", bipartition.subset_accuracy, "label_sets"),
    ]
    for name in bipartition.MEASURES:
        for average in ("micro", "macro", "weighted", "samples"):
            aliases = ("example_based_accuracy",) if (name, average) == ("jaccard", "samples") else ()
            measures.append(
                Measure(
                    f"{name}_{average}",
                    getattr(bipartition, f"{name}_score"),
                    "label_sets",
                    options={"average": average},
                    aliases=aliases,
                    threshold_objective=objectives.get(f"{name}_{average}"),
                )
            )
    measures += [
        Measure("ranking_loss", ranking.ranking_loss, "scores", **loss),
        Measure("one_error", at_k.one_error, "scores", **loss),
        Measure("coverage_error", ranking.coverage_error, "scores", **loss),
        Measure("label_ranking_average_precision", ranking.label_ranking_average_precision, "scores"),
        Measure("roc_auc_macro", ranking.roc_auc_score, "scores"),
        Measure("log_loss", probability.log_loss, "probabilities", **loss),
        Measure("brier_score", probability.brier_score, "probabilities", **loss),
    ]
    for average in ("micro", "macro"):
        options = {"average": average}
        measures.append(
            Measure(
                f"average_precision_{average}",
                ranking.average_precision_score,
                "scores",
                options=options,
                aliases=(f"auprc_{average}",),
            )
        )
    for k in (1, 3, 5):
        measures.append(Measure(f"precision_at_{k}", at_k.precision_at_k, "scores", options={"k": k}))
        measures.append(Measure(f"ndcg_at_{k}", at_k.ndcg_at_k, "scores", options={"k": k}))
    for measure in measures:
        register_measure(measure)


_register_all()
