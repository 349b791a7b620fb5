"""Which attributes are labels: Mulan's XML, MEKA's ``-C`` header, or names given."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.parsers import expat

from hyperlabel.datasets._lines import DataError
from hyperlabel.datasets._numbers import to_whole

MAX_XML_BYTES = 64 << 20
MAX_XML_DEPTH = 100  # labels may be nested in labels


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
    if path.is_dir():
        raise DataError("this is a folder; name a label XML in it.", path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}: check the path of the label XML.")
    if path.stat().st_size > MAX_XML_BYTES:
        raise DataError(f"the XML is larger than {MAX_XML_BYTES >> 20} MiB; no label list is.", path)
    raw = path.read_bytes()
    if not raw.strip():
        raise DataError("the XML file is empty.", path)
    names = _label_names(raw, path)
    if not names or not all(names):
        raise DataError('the XML must list its labels as <label name="…">.', path)
    check_distinct(names, path)
    return names


def _label_names(raw: bytes, path: Path) -> list[str]:
    """Collect names tag by tag, without a tree; a document type, which could hold entities, is refused."""
    names: list[str] = []
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_XML_DEPTH:
            raise DataError(f"the XML is nested deeper than {MAX_XML_DEPTH} levels.", path)
        if tag.rpartition("}")[2] == "label":
            names.append(attributes.get("name", ""))

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def document_type(*_: object) -> None:
        raise DataError("the XML declares a document type; label files need none, so it is refused.", path)

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = document_type
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(raw, True)
    except DataError:
        raise
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise DataError(
            f"this is not well-formed XML ({reason}).", path, line=error.lineno, column=error.offset + 1
        ) from error
    except (ValueError, LookupError) as error:  # encodings that Python cannot offer to the parser
        raise DataError(f"this is not well-formed XML ({error}).", path) from error
    return names


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
        meka = re.search(r"-C\s+(-?)([0-9]+)", relation)
        if xml is not None:
            labels = xml
        elif meka is not None:
            labels = to_whole(meka[2]) * (-1 if meka[1] else 1)
        else:
            raise DataError(
                f"nothing says which attributes are labels: put {path.name.split('.')[0]}.xml beside the "
                "file, write '-C count' into its @relation, or pass labels= (names, an XML path or a count).",
                path,
            )
    if isinstance(labels, int):
        if labels == 0 or abs(labels) > len(attributes):
            raise DataError(f"{labels} labels are asked for, of {len(attributes)} attributes.", path)
        labels = list(attributes[:labels] if labels > 0 else attributes[labels:])
    if isinstance(labels, str | os.PathLike):
        source = labels
        labels = read_mulan_xml(labels)
    return _label_positions(list(labels), attributes, path, source)


def _label_positions(
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
