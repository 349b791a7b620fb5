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
    xml_bytes = path.read_bytes()
    if not xml_bytes.strip():
        raise DataError("the XML file is empty.", path)
    label_names = _parse_label_names(xml_bytes, path)
    if not label_names or not all(label_names):
        raise DataError('the XML must list its labels as <label name="…">.', path)
    check_distinct(label_names, path)
    return label_names


def _parse_label_names(xml_bytes: bytes, path: Path) -> list[str]:
    """Collect names tag by tag, without a tree; a document type, which could hold entities, is refused."""
    label_names: list[str] = []
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_XML_DEPTH:
            raise DataError(f"the XML is nested deeper than {MAX_XML_DEPTH} levels.", path)
        if tag.rpartition("}")[2] == "label":
            label_names.append(attributes.get("name", ""))

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def document_type(*_: object) -> None:
        raise DataError("the XML declares a document type; label files need none, so it is refused.", path)

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = document_type
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(xml_bytes, True)
    except DataError:
        raise
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise DataError(
            f"this is not well-formed XML ({reason}).", path, line=error.lineno, column=error.offset + 1
        ) from error
    except (ValueError, LookupError) as error:  # encodings that Python cannot offer to the parser
        raise DataError(f"this is not well-formed XML ({error}).", path) from error
    return label_names


def check_distinct(names: Sequence[str], path: str | os.PathLike[str]) -> None:
    """Refuse a label that is listed twice."""
    repeated_names = [name for name, count in Counter(names).items() if count > 1]
    if repeated_names:
        raise DataError(f"the label {repeated_names[0]!r} is listed more than once.", path)


def find_xml(path: Path) -> Path | None:
    """Return the label XML that belongs to an ARFF file: ``a-train-sparse.arff.gz`` → ``a.xml``."""
    stem = re.sub(r"\.gz$", "", path.name, flags=re.IGNORECASE)
    stem = re.sub(r"\.arff$", "", stem, flags=re.IGNORECASE)
    while stem:
        xml_path = path.with_name(f"{stem}.xml")
        if xml_path.exists():
            return xml_path
        shorter_stem = re.sub(r"[-_.][^-_.]*$", "", stem)
        if shorter_stem == stem:
            return None
        stem = shorter_stem
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
        xml_path = find_xml(path)
        label_count_match = re.search(r"-C\s+(-?)([0-9]+)", relation)
        if xml_path is not None:
            labels = xml_path
        elif label_count_match is not None:
            labels = to_whole(label_count_match[2]) * (-1 if label_count_match[1] else 1)
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
    return _find_label_positions(list(labels), attributes, path, source)


def _find_label_positions(
    labels: list[str], attributes: Sequence[str], path: Path, source: str | os.PathLike[str]
) -> list[int]:
    check_distinct(labels, source)
    positions_of_name: dict[str, list[int]] = {}
    for j, name in enumerate(attributes):
        positions_of_name.setdefault(name, []).append(j)
    label_positions = []
    for label in labels:
        name_positions = positions_of_name.get(label) or positions_of_name.get(re.sub(r"\\(.)", r"\1", label))
        if name_positions is None:
            raise DataError(f"the label {label!r} is not an attribute of {path.name}.", source)
        if len(name_positions) > 1:
            raise DataError(f"the label {label!r} names {len(name_positions)} attributes of the file.", path)
        label_positions.append(name_positions[0])
    return sorted(label_positions)
