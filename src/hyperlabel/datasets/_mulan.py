"""Which attributes are labels: Mulan's XML, MEKA's ``-C`` header, or names given."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from hyperlabel.datasets._lines import DataError

MAX_XML_BYTES = 64 << 20


def read_mulan_xml(path: str | os.PathLike[str]) -> list[str]:
    """Read the label names of a Mulan XML file (nested labels too), in document order.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from hyperlabel.datasets import read_mulan_xml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.xml")
    ...     _ = file.write_text('<labels><label name="sky"/><label name="sea"/></labels>')
    ...     read_mulan_xml(file)
    ['sky', 'sea']
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the path of the label XML.")
    if path.stat().st_size > MAX_XML_BYTES:
        raise DataError(f"the XML is larger than {MAX_XML_BYTES >> 20} MiB; no label list is.", path)
    raw = path.read_bytes()
    if not raw.strip():
        raise DataError("the XML file is empty.", path)
    if b"<!ENTITY" in raw or b"<!DOCTYPE" in raw:
        raise DataError("the XML declares a document type; label files need none, so it is refused.", path)
    try:
        root = ElementTree.fromstring(raw)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        line, column = getattr(error, "position", (None, None))
        raise DataError(
            f"this is not well-formed XML ({str(error).split(':')[0]}).",
            path,
            line=line,
            column=None if column is None else column + 1,
        ) from error
    names = [node.get("name") for node in root.iter() if node.tag.rpartition("}")[2] == "label"]
    if not names or any(not name for name in names):
        raise DataError('the XML must list its labels as <label name="…">.', path)
    check_distinct(found := [str(name) for name in names], path)
    return found


def check_distinct(names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Refuse a label that is listed twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"the label {twice[0]!r} is listed more than once.", path)


def find_xml(path: Path) -> Path | None:
    """Find the label XML that belongs to an ARFF file: ``a-train-sparse.arff.gz`` → ``a.xml``."""
    stem = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    stem = re.sub(r"\.arff$", "", stem, flags=re.IGNORECASE)
    while stem:
        candidate = path.with_name(f"{stem}.xml")
        if candidate.exists():
            return candidate
        shorter = re.sub(r"[-_.][^-_.]*$", "", stem)
        if shorter == stem:
            return None
        stem = shorter
    return None


def label_columns(
    path: Path,
    relation: str,
    attributes: Sequence[str],
    labels: Sequence[str] | str | os.PathLike[str] | int | None,
) -> list[int]:
    """Return the positions of the label attributes, in the order of the file.

    ``labels`` is an XML path, a list of names, a count (MEKA: the first ``C`` attributes, the last
    ``-C`` when negative), or None: the XML beside the file, else the ``-C`` of the relation.
    """
    source: str | os.PathLike[str] = path
    if labels is None:
        xml = find_xml(path)
        meka = re.search(r"-C\s+(-?\d+)", relation)
        if xml is not None:
            labels = xml
        elif meka is not None:
            labels = int(meka[1])
        else:
            raise DataError(
                f"nothing says which attributes are labels: put {path.name.split('.')[0]}.xml beside the "
                "file, write '-C count' into its @relation, or pass labels= (names, an XML path or a count).",
                path,
            )
    if isinstance(labels, int):
        if labels == 0 or abs(labels) > len(attributes):
            raise DataError(f"{labels} labels are asked for, of {len(attributes)} attributes.", path)
        return list(range(labels)) if labels > 0 else list(range(len(attributes) + labels, len(attributes)))
    if isinstance(labels, str | os.PathLike):
        source = labels
        labels = read_mulan_xml(labels)
    return _places(list(labels), attributes, path, source)


def _places(
    labels: list[str], attributes: Sequence[str], path: Path, source: str | os.PathLike[str]
) -> list[int]:
    check_distinct(labels, source)
    places: dict[str, list[int]] = {}
    for j, name in enumerate(attributes):
        places.setdefault(name, []).append(j)
    found = []
    for label in labels:
        where = places.get(label) or places.get(re.sub(r"\\(.)", r"\1", label))
        if where is None:
            raise DataError(f"the label {label!r} is not an attribute of {path.name}.", source)
        if len(where) > 1:
            raise DataError(f"the label {label!r} names {len(where)} attributes of the file.", path)
        found.append(where[0])
    return sorted(found)
