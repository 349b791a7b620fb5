"""Objects to JSON nodes and back; arrays go to a store beside the JSON.

A node is a JSON value. None, true/false, integers, finite floats, strings and lists stand for
themselves; everything else is an object with a ``kind`` (the table is in docs/model-files.md).
"""

import math
from collections.abc import Callable, Collection
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metadata_routing import MetadataRequest

from hyperlabel._labels import check_places
from hyperlabel._tables import Results, Table
from hyperlabel.persistence import _registry
from hyperlabel.persistence._container import ModelFileError
from hyperlabel.persistence._fitted import check_fitted

_SPARSE = {
    name: getattr(sparse, name)
    for name in ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "coo_matrix")
}
_FRAMES = ("pandas.DataFrame", "pandas.core.frame.DataFrame")  # looked at without importing pandas
_PLAIN = frozenset((bool, int, str, type(None)))  # what stands for itself in JSON, and is always finite
_PLAIN_IN_FILES = _PLAIN | {float}
_FUNCTION_TYPES = (FunctionType, BuiltinFunctionType)
# Dtypes an array may have: numbers, truth values, text and dates; never objects or records.
_ARRAY_KINDS = "biufcUSmM"
# Estimators inside one another. Each pipeline asks the one inside it about three times whatever it is asked
# itself: ten levels cost a second, twelve ten, thirty for ever.
DEEPEST = 10


class NodeEncoder:
    """Writes objects as nodes; arrays are handed to `store(array) -> name`."""

    def __init__(self, store: Callable[[np.ndarray], str], left_out: Collection[str] = ()) -> None:
        self._store = store
        self._left_out = frozenset((*_registry.LEFT_OUT, *left_out))
        self._arrays: dict[int, str] = {}
        self._parts: dict[int, int | None] = {}  # None while its state is written
        self._references: list[Any] = []  # keeps ids valid while encoding
        self._depth = 0

    def node(self, value: Any, path: str) -> Any:
        """Return the node of a value; `path` says where it is, for messages."""
        cls = type(value)
        if cls in _PLAIN:
            return value
        if cls is float:
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        if (write := _WRITERS.get(cls)) is not None:
            return write(self, value, path)
        for base, write in _WRITERS_OF_KIND:
            if isinstance(value, base):
                return write(self, value, path)
        if isinstance(value, _FUNCTION_TYPES) and (name := _registry.function_name(value)) is not None:
            return {"kind": "function", "name": name}
        if f"{cls.__module__}.{cls.__name__}" in _FRAMES:
            return self._write_frame(value, path)
        return self._write_part(value, path)

    def _write_items(self, value: Any, path: str) -> list[Any]:
        if _PLAIN.issuperset(map(type, value)):  # names of labels, words: thousands that stand for themselves
            return [*value]
        return [self.node(item, f"{path}[{i}]") for i, item in enumerate(value)]

    def _write_collection(self, value: Any, path: str) -> dict[str, Any]:
        if type(value) is slice:
            items: Any = (value.start, value.stop, value.step)
        else:
            items = value if type(value) is tuple else sorted(value, key=repr)
        return {"kind": type(value).__name__, "items": self._write_items(items, path)}

    def _write_dict(self, value: dict[Any, Any], path: str) -> dict[str, Any]:
        if _PLAIN.issuperset(map(type, value)) and _PLAIN.issuperset(map(type, value.values())):
            return {"kind": "dict", "items": [[k, v] for k, v in value.items()]}
        items = [[self.node(k, path), self.node(v, f"{path}[{k!r}]")] for k, v in value.items()]
        return {"kind": "dict", "items": items}

    def _write_array(self, value: np.ndarray, path: str) -> dict[str, Any]:
        if value.dtype == object:
            items = self._write_items(value.ravel().tolist(), path)
            return {"kind": "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind not in _ARRAY_KINDS:
            raise ModelFileError(f"{path} is an array of {value.dtype}, which model files do not hold.")
        if id(value) not in self._arrays:
            self._references.append(value)
            self._arrays[id(value)] = self._store(value)
        return {"kind": "array", "name": self._arrays[id(value)]}

    def _write_dtype(self, value: np.dtype, path: str) -> dict[str, Any]:
        return {"kind": "dtype", "value": value.str}

    def _write_scalar(self, value: np.generic, path: str) -> dict[str, Any]:
        return {"kind": "scalar", "array": self._write_array(np.asarray(value), path)}

    def _write_sparse(self, value: Any, path: str) -> dict[str, Any]:
        kind = type(value).__name__
        if kind not in _SPARSE:
            raise ModelFileError(f"{path} is a {kind}: convert it to csr_array before saving.")
        if not kind.startswith("coo") and _has_duplicates(value):
            value = value.copy()
            value.sum_duplicates()
        arrays = {
            name: self._write_array(getattr(value, name), f"{path}.{name}") for name in _array_fields(kind)
        }
        return {"kind": "sparse", "type": kind, "shape": list(value.shape), **arrays}

    def _write_random_state(self, value: np.random.RandomState, path: str) -> dict[str, Any]:
        name, keys, *generator_state = value.get_state(legacy=True)
        stored_keys = self._write_array(np.array(keys), path)
        return {"kind": "random_state", "state": [name, stored_keys, *map(float, generator_state)]}

    def _write_type(self, value: type, path: str) -> dict[str, Any]:
        name = _registry.listed_name(value, _registry.SCALAR_TYPES)
        if name is None:
            raise ModelFileError(f"{path} is the class {value.__qualname__}, which model files do not hold.")
        return {"kind": "scalar_type", "name": name.removeprefix("numpy.")}

    def _write_frame(self, value: Any, path: str) -> dict[str, Any]:
        columns = [self.node(str(column), path) for column in value.columns]
        arrays = [self.node(value[column].to_numpy(), f"{path}[{column!r}]") for column in value.columns]
        return {"kind": "frame", "columns": columns, "arrays": arrays}

    def _write_metadata_request(self, value: MetadataRequest, path: str) -> dict[str, Any]:
        method_requests = {name: method for name, method in vars(value).items() if name != "owner"}
        requests = {name: method.requests for name, method in method_requests.items() if method.requests}
        return {"kind": "metadata_request", "requests": self.node(requests, path)}

    def _write_part(self, value: Any, path: str) -> dict[str, Any]:
        if id(value) in self._parts:
            if self._parts[id(value)] is None:
                raise ModelFileError(
                    f"{path} leads back to a part that contains it: model files hold no circles."
                )
            return {"kind": "same", "id": self._parts[id(value)]}
        name = _registry.name_of(type(value))
        if name is None:
            cls = type(value)
            what = f"the function {value.__name__}" if hasattr(value, "__name__") else f"a {cls.__name__}"
            raise ModelFileError(
                f"{path} is {what} ({cls.__module__}), which is not on the list of parts model files hold: "
                "use a part of hyperlabel or a listed one of scikit-learn (docs/model-files.md), or register "
                "your class (hyperlabel.persistence.register)."
            )
        _registry.check_settings(value, path)
        number, self._parts[id(value)] = len(self._parts), None
        self._references.append(value)
        level = int(hasattr(value, "get_params"))
        self._depth += level
        if self._depth > DEEPEST:
            raise ModelFileError(
                f"{path}: more than {DEEPEST} estimators inside one another cannot be saved."
            )
        attributes = {key: item for key, item in vars(value).items() if key not in self._left_out}
        if name.startswith("sklearn.feature_extraction") and "vocabulary_" in attributes:
            # as it stands, in order of appearance, it would spell out the first texts
            by_column = sorted(attributes["vocabulary_"].items(), key=lambda item: item[1])
            attributes["vocabulary_"] = dict(by_column)
        state = {key: self.node(item, f"{path}.{key}") for key, item in attributes.items()}
        self._parts[id(value)], self._depth = number, self._depth - level
        return {"kind": "part", "type": name, "id": number, "state": state}


_WRITERS: dict[type, Callable[[NodeEncoder, Any, str], Any]] = {
    **dict.fromkeys((list, Table), NodeEncoder._write_items),
    **dict.fromkeys((tuple, set, frozenset, slice), NodeEncoder._write_collection),
    **dict.fromkeys((dict, Results), NodeEncoder._write_dict),
    np.ndarray: NodeEncoder._write_array,
}
_WRITERS_OF_KIND: list[tuple[type | tuple[type, ...], Callable[[NodeEncoder, Any, str], Any]]] = [
    (np.generic, NodeEncoder._write_scalar),
    (np.dtype, NodeEncoder._write_dtype),
    ((sparse.sparray, sparse.spmatrix), NodeEncoder._write_sparse),
    (np.random.RandomState, NodeEncoder._write_random_state),
    (type, NodeEncoder._write_type),
    (MetadataRequest, NodeEncoder._write_metadata_request),
]


class NodeDecoder:
    """Builds objects from nodes; arrays come from `fetch(name)`. Calls nothing a file could choose."""

    def __init__(self, fetch: Callable[[str], np.ndarray], written_by: str) -> None:
        self._fetch = fetch
        self._written_by = written_by
        self._arrays: dict[str, np.ndarray] = {}
        self._parts: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}  # parts in each part, those named again counted again
        self._depth = self._unfolded = 0

    def value(self, node: Any) -> Any:
        """Return the object a node stands for."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            if _PLAIN_IN_FILES.issuperset(map(type, node)):
                return [*node]
            return [self.value(item) for item in node]
        if (kind := node["kind"]) in _COLLECTIONS:
            return _COLLECTIONS[kind](self.value(node["items"]))
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["value"]]
        if kind == "scalar":
            return self._read_array(node["array"])[()]
        if kind == "dtype":
            return np.dtype(str(node["value"]))
        if kind == "same":
            self._unfolded += self._sizes[node["id"]]
            # parts named again double at each level: a few hundred bytes could unfold without end
            if self._unfolded > 10 * len(self._parts) + 200:
                raise ValueError("parts that hold each other many times over")
            return self._parts[node["id"]]
        if kind not in _KINDS:
            raise ModelFileError(
                f"The file holds a value of kind {str(kind)!r}, which this hyperlabel does not know: it was "
                f"written by {self._written_by}; install that version."
            )
        return getattr(self, f"_read_{kind}")(node)

    def _read_dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        items = node["items"]
        if all(type(key) in _PLAIN and type(value) in _PLAIN_IN_FILES for key, value in items):
            return {key: value for key, value in items}  # noqa: C416 - pairs of any length must not pass
        return {self.value(key): self.value(value) for key, value in items}

    def _read_array(self, node: dict[str, Any]) -> np.ndarray:
        name = str(node["name"])
        if name not in self._arrays:
            self._arrays[name] = self._fetch(name)
        return self._arrays[name]

    def _read_objects(self, node: dict[str, Any]) -> np.ndarray:
        items = self.value(node["items"])
        object_array = np.empty(len(items), dtype=object)
        object_array[:] = items
        return object_array.reshape([int(size) for size in node["shape"]])

    def _read_sparse(self, node: dict[str, Any]) -> Any:
        cls = _SPARSE[node["type"]]
        shape = tuple(int(size) for size in node["shape"])
        data, *index_arrays = (self._read_array(node[name]) for name in _array_fields(node["type"]))
        if node["type"].startswith("coo"):
            return cls((data, tuple(index_arrays)), shape=shape)
        matrix = cls((data, *index_arrays), shape=shape)
        check_places(matrix)
        if _has_duplicates(matrix):
            raise ValueError("a sparse matrix holds an entry twice")
        return matrix

    def _read_random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        name, keys, position, has_gauss, cached = node["state"]
        if not 0 <= position <= 624 or has_gauss not in (0, 1):  # numpy reads there without looking
            raise ValueError("no random state has such a position")
        generator = np.random.RandomState()
        generator.set_state((str(name), self._read_array(keys), int(position), int(has_gauss), float(cached)))
        return generator

    def _read_scalar_type(self, node: dict[str, Any]) -> Any:
        return self._require_listed(
            _registry.listed_part(f"numpy.{node['name']}", _registry.SCALAR_TYPES), node["name"]
        )

    def _read_function(self, node: dict[str, Any]) -> Any:
        return self._require_listed(
            _registry.listed_part(str(node["name"]), _registry.FUNCTIONS), node["name"]
        )

    def _read_frame(self, node: dict[str, Any]) -> Any:
        import pandas as pd

        columns = [str(column) for column in node["columns"]]
        return pd.DataFrame(dict(zip(columns, map(self.value, node["arrays"]), strict=True)))

    def _read_metadata_request(self, node: dict[str, Any]) -> MetadataRequest:
        metadata_request = MetadataRequest(owner="a loaded model")
        for method, requests in self.value(node["requests"]).items():
            for param, alias in requests.items():
                vars(metadata_request)[method].add_request(param=param, alias=alias)
        return metadata_request

    def _read_part(self, node: dict[str, Any]) -> Any:
        cls = self._require_listed(_registry.class_of(str(node["type"])), node["type"])
        instance, unfolded_before, level = cls.__new__(cls), self._unfolded, int(hasattr(cls, "get_params"))
        self._unfolded, self._depth = unfolded_before + 1, self._depth + level
        if self._depth > DEEPEST:
            raise ValueError("more estimators inside one another than anybody can ask")
        for key, item in node["state"].items():
            if not key.isidentifier() or key.startswith("__"):
                raise ModelFileError(
                    f"The file gives a part an attribute named {key!r}: it was tampered with."
                )
            instance.__dict__[key] = None if key in _registry.WORKERS else self.value(item)
        _registry.check_settings(instance, str(node["type"]))
        # Only now: a part that could contain itself would be followed without end.
        self._parts[node["id"]] = instance
        self._sizes[node["id"]], self._depth = self._unfolded - unfolded_before, self._depth - level
        return instance

    def check_parts(self) -> None:
        """Refuse parts whose attributes contradict each other, once all of them are there."""
        for instance in self._parts.values():
            check_fitted(instance)

    def _require_listed(self, listed: Any, name: Any) -> Any:
        if listed is None:
            raise ModelFileError(
                f"The file holds {name!s:.80}, which is not on the list of parts this hyperlabel loads: it "
                f"was written by {self._written_by}; install that version, or register your own class first "
                "(hyperlabel.persistence.register)."
            )
        return listed


_COLLECTIONS: dict[str, Callable[[Any], Any]] = {cls.__name__: cls for cls in (tuple, set, frozenset)}
_COLLECTIONS["slice"] = lambda items: slice(*items)
_KINDS = frozenset(name.removeprefix("_read_") for name in vars(NodeDecoder) if name.startswith("_read_"))


def _array_fields(kind: str) -> tuple[str, ...]:
    return ("data", "row", "col") if kind.startswith("coo") else ("data", "indices", "indptr")


def _has_duplicates(value: Any) -> bool:
    """Say whether a csr or csc matrix stores an entry twice; scikit-learn keeps some unsorted."""
    return not (value.has_canonical_format or value.sorted_indices().has_canonical_format)
