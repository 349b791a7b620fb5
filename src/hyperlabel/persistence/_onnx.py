"""Fitted linear classifiers as ONNX graphs: features → scores and labels, written with `onnx` alone.

The graph is one or two matrix products, the places of constant labels, and one comparison with the
thresholds: plain operators of the standard domain, so that any runtime takes it.
"""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from hyperlabel import __version__
from hyperlabel._base import place_constant_labels
from hyperlabel._files import replacing
from hyperlabel.meta.calibrator import MultiLabelCalibrator
from hyperlabel.meta.linear_view import linear_view
from hyperlabel.meta.threshold import ThresholdTuner
from hyperlabel.meta.wrapper_base import iter_nested_estimators
from hyperlabel.projection import Projection

OPSET, IR = 17, 8  # of 2022: what runtimes in use understand
MOST_BYTES = 2**31 - 2**20  # of one protobuf message
_SCALERS = StandardScaler, MinMaxScaler, MaxAbsScaler


def export_onnx(model: Any, path: Any) -> None:
    """Write a fitted linear classifier as an ONNX file.

    The graph takes ``features`` (float32, rows × features) and gives ``scores`` (float32) as
    `decision_function` does and ``labels`` (bool) as `predict` does, tuned thresholds included. The names of
    labels and features are in the file's metadata, as JSON lists (``label_names``, ``feature_names``).

    Every model that `explain` can take apart can be exported: linear models, label spaces and
    projections without kernels, scikit-learn's scalers before them, `ThresholdTuner` and
    `MultiLabelCalibrator(method="sigmoid")` around them.

    Parameters
    ----------
    model : fitted estimator
        A classifier of the library, or a Pipeline that ends in one; y was an indicator of labels.
    path : str or Path
        The file to write, replaced only when all went well.

    Notes
    -----
    Text stays outside: export what follows the vectoriser, ``export_onnx(model[1:], path)``, and
    vectorise in Python, since ONNX's tokeniser follows the locale, keeps accents as they are encoded and
    knows no sublinear term frequencies. Numbers are single precision, so that a score within about 1e-6 of
    its threshold may fall on the other side.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance, export_onnx
    >>> X, Y = make_multilabel_classification(n_samples=50, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(BinaryRelevance().fit(X, Y), pathlib.Path(folder, "model.onnx"))
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['model.onnx']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx: pip install 'hyperlabel[onnx]'.") from error
    check_is_fitted(model)
    outer = _find_classifier(model)
    scores = _read_linear_scores(model, outer._constant)
    _compare_with_graph(model, scores)
    onnx_model = onnx.helper.make_model(
        _build_graph(onnx, scores),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="hyperlabel",
        producer_version=__version__,
    )
    names = {"label_names": outer.label_names_, "feature_names": getattr(model, "feature_names_in_", None)}
    metadata_props = {
        key: json.dumps(list(map(str, entries))) for key, entries in names.items() if entries is not None
    }
    onnx.helper.set_model_props(onnx_model, metadata_props)
    onnx.checker.check_model(onnx_model)
    with replacing(path) as file:
        file.write(onnx_model.SerializeToString())


def _find_classifier(model: Any) -> Any:
    for estimator in iter_nested_estimators(model):
        if hasattr(estimator, "_layout"):
            if estimator._layout.kind != "multilabel":
                raise ValueError("export_onnx writes models of label indicators; this one had a 1-D y.")
            return estimator
    raise ValueError(f"{type(model).__name__} is no classifier of hyperlabel: export_onnx takes those.")


@dataclass
class _Scores:
    """What the graph computes: x·A₁(·A₂) + b within ±limit, constant labels in their places, and
    thresholds.
    """

    layers: list[np.ndarray]
    intercept: np.ndarray
    constant: np.ndarray
    thresholds: np.ndarray
    limit: float | None  # of calibrated log-odds


def _read_linear_scores(model: Any, constant: np.ndarray) -> _Scores:
    """Read the linear part of the model, scalers multiplied in."""
    view = linear_view(model, None, None, slice(None))
    layers, intercept = [view.coef.T], view.intercept
    if view.codes is not None and view.readout is not None:
        two_layers = [view.codes[0], view.readout]
        layers = min(layers, two_layers, key=lambda stack: sum(layer.size for layer in stack))
    for scaler in reversed(list(_iter_scalers(model))):
        d = scaler.n_features_in_
        # a scaler is affine in each column: its values at 0 and 1 give shift and slope, whichever it is
        shift = scaler.transform(np.zeros((1, d)))[0]
        slope = scaler.transform(np.ones((1, d)))[0] - shift
        shifted = shift @ layers[0]
        intercept = intercept + (shifted if len(layers) == 1 else shifted @ layers[1])
        layers[0] = slope[:, None] * layers[0]
    if 4 * sum(layer.size for layer in layers) > MOST_BYTES:
        raise ValueError("The weights take more than the 2 GB of ONNX files: use PLST with fewer components.")
    calibrated = any(isinstance(inner, MultiLabelCalibrator) for inner in iter_nested_estimators(model))
    # calibrated probabilities keep ε from 0 and 1, so their log-odds are bounded
    limit = float(logit(1.0 - np.finfo(np.float32).eps)) if calibrated else None
    return _Scores(layers, intercept, constant, _read_thresholds(model, len(intercept)), limit)


def _iter_scalers(model: Any) -> Iterator[Any]:
    """Steps between the features and the linear part, first to last."""
    for estimator in iter_nested_estimators(model):
        preprocessor = getattr(estimator, "preprocessor_", None)
        for step in [*(step for _, step in getattr(estimator, "steps", [])[:-1]), preprocessor]:
            if step is None or step == "passthrough" or isinstance(step, Projection):
                continue
            if not isinstance(step, _SCALERS) or getattr(step, "clip", False):
                raise ValueError(
                    f"{type(step).__name__} stays outside ONNX: export what follows it, "
                    "export_onnx(model[1:], …), and transform the rows before."
                )
            yield step


def _read_thresholds(model: Any, k: int) -> np.ndarray:
    for estimator in iter_nested_estimators(model):
        if hasattr(estimator, "thresholds_"):
            return np.asarray(estimator.thresholds_, dtype=np.float64)
        if isinstance(estimator, ThresholdTuner):
            raise ValueError(
                f"ThresholdTuner(strategy={estimator.strategy!r}) has no threshold for each label to export: "
                "choose a strategy that has, or export estimator_."
            )
    return np.zeros(k)


def _compare_with_graph(model: Any, graph: _Scores) -> None:
    """Refuse a model whose scores or labels are not those of the graph, such as a rule of its own."""
    rows = np.random.default_rng(0).standard_normal((16, len(graph.layers[0])))
    scores = rows
    for layer in graph.layers:
        scores = scores @ layer
    scores = scores + graph.intercept
    if graph.limit is not None:
        scores = np.clip(scores, -graph.limit, graph.limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these rows have no names of columns
        expected, labels = model.decision_function(rows), model.predict(rows)
    scores = place_constant_labels(scores, graph.constant)
    labels = np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels) > 0
    clear = np.abs(expected - graph.thresholds) > 1e-6
    if (
        not np.allclose(scores, expected, rtol=1e-5, atol=1e-5)
        or (labels != (expected > graph.thresholds))[clear].any()
    ):
        raise ValueError(
            f"{type(model).__name__} does more than compare linear scores with thresholds: it cannot be "
            "exported."
        )


def _build_graph(onnx: Any, scores: _Scores) -> Any:
    node, tensor = onnx.helper.make_node, onnx.numpy_helper.from_array
    constant, d, k = scores.constant, len(scores.layers[0]), len(scores.intercept)
    float_constants: dict[str, Any] = {"intercept": scores.intercept, "thresholds": scores.thresholds}
    typed_constants: list[Any] = []
    nodes, last = [], "features"
    for i, layer in enumerate(scores.layers):
        float_constants[f"weights_{i}"] = layer
        nodes.append(node("MatMul", [last, f"weights_{i}"], [f"product_{i}"]))
        last = f"product_{i}"
    linear = "linear" if constant.any() else "scores"
    nodes.append(node("Add", [last, "intercept"], [linear if scores.limit is None else "unlimited"]))
    if scores.limit is not None:
        float_constants |= {"lower": np.array(-scores.limit), "upper": np.array(scores.limit)}
        nodes.append(node("Clip", ["unlimited", "lower", "upper"], [linear]))
    if constant.any():
        float_constants |= {"zero": np.zeros((1, 1)), "one": np.ones((1, 1))}
        nodes += _constant_label_nodes(node, bool((constant == 0).any()))
        typed_constants = [tensor(np.flatnonzero(constant == 0), "ordinary")]
        typed_constants += [tensor(constant < 0, "never"), tensor(constant > 0, "always")]
    float_tensors = [tensor(value.astype(np.float32), name) for name, value in float_constants.items()]
    nodes.append(node("Greater", ["scores", "thresholds"], ["labels"]))
    value, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto
    answers = [value("scores", kind.FLOAT, ["rows", k]), value("labels", kind.BOOL, ["rows", k])]
    rows = value("features", kind.FLOAT, ["rows", d])
    return onnx.helper.make_graph(nodes, "hyperlabel", [rows], answers, float_tensors + typed_constants)


def _constant_label_nodes(node: Any, some_vary: bool) -> list[Any]:
    """Labels never seen one below the rest (and below 0), labels always on one above: as in `_base`."""
    ends = [
        node("Gather", ["linear", "ordinary"], ["varying"], axis=1),
        node("ReduceMin", ["varying"], ["smallest"], axes=[1], keepdims=1),
        node("ReduceMax", ["varying"], ["largest"], axes=[1], keepdims=1),
        node("Min", ["smallest", "zero"], ["lowest"]),
        node("Max", ["largest", "zero"], ["highest"]),
    ]
    lowest, highest = ("lowest", "highest") if some_vary else ("zero", "zero")
    return [
        *(ends if some_vary else []),  # the linear part of constant labels is 0
        node("Sub", [lowest, "one"], ["low"]),
        node("Add", [highest, "one"], ["high"]),
        node("Where", ["never", "low", "linear"], ["without_never"]),
        node("Where", ["always", "high", "without_never"], ["scores"]),
    ]
