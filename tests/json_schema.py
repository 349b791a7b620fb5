"""What a page says that a command prints as JSON, and where the printed value differs from it."""

from __future__ import annotations

KINDS = {"text": str, "int": int, "number": (int, float), "bool": bool}


def faults(value, kind, path="$"):
    """Say where a value is not of the kind the page gives."""
    if isinstance(kind, str):
        if value is None and kind.endswith("?"):
            return []
        wanted = KINDS[kind.rstrip("?")]
        right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
        return [] if right else [f"{path}: {value!r} is not {kind}"]
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        kinds = kind if len(kind) > 1 else kind * len(value)
        pairs = enumerate(zip(value, kinds, strict=True))
        return [fault for i, (one, of) in pairs for fault in faults(one, of, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    named = {name.rstrip("?"): name for name in kind if name != "*"}
    found = [f"{path}: no {key}" for key, name in named.items() if name == key and key not in value]
    for key, one in value.items():
        name = named.get(key, "*")
        of = kind.get(name)
        found += [f"{path}: {key} is not documented"] if of is None else faults(one, of, f"{path}.{key}")
    return found
