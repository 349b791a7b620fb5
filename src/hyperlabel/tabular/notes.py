"""Notes on columns in a model file are anybody's JSON: their types are checked before a command uses them."""

import builtins
import typing
from typing import Any, get_args, get_origin, get_type_hints

# Options of a reader that the notes may give it again, by format.
_READING: dict[str, dict[str, Any]] = {
    "arff": {"labels": list[str], "nominal": str},
    "libsvm": {"zero_based": bool, "labels_zero_based": bool},
}
_NEEDED = ("format", "label_names")
_SIZES = ("n_features", "rows", "vectors")


def check_notes(notes: dict[str, Any], owner: type, path: str) -> None:
    """Refuse notes whose names or types are not those of their dataclass, or that make no sense."""
    type_hints = get_type_hints(owner)
    wrong = [name for name in notes if name not in type_hints or not _has_type(notes[name], type_hints[name])]
    wrong = wrong or [name for name in _NEEDED if name not in notes]
    wrong = wrong or [name for name in _SIZES if notes.get(name, 0) < 0]
    if not wrong:
        reader_options = _READING.get(notes["format"], {})
        reader_notes = notes.get("reading", {}).items()
        wrong = [name for name, value in reader_notes if not _has_type(value, reader_options.get(name))]
    if wrong:
        raise ValueError(
            f"The notes on columns in {path} are of another version, or damaged ({wrong[0]!r:.40}): fit the "
            "model again."
        )


def _has_type(value: Any, hint: Any) -> bool:
    """Say whether a value of JSON is what an annotation says."""
    arguments = get_args(hint)
    match get_origin(hint):
        case None:
            return hint is Any or type(value) is hint
        case typing.Literal:
            return type(value) is str and value in arguments
        case builtins.list:
            return type(value) is list and all(_has_type(item, arguments[0]) for item in value)
        case builtins.dict:
            return type(value) is dict and all(_has_type(item, arguments[1]) for item in value.values())
        case _:  # a union
            return any(_has_type(value, member_type) for member_type in arguments)
