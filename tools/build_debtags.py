"""Build the embedded data set of `hyperlabel.datasets.load_debtags` from Debian's package lists.

Run on a Debian system whose apt sources name the release (``python tools/build_debtags.py``). The
script lets apt fetch the lists into a folder of its own, joins the ``Tag`` fields of Packages with the
English descriptions of Translation-en by their checksum, and writes counts of words, tags and source
packages. The choice of rows is fixed by rules, not by chance:

* programs (``role::program``) with at least three tags of the facets below;
* tags of these facets on at least 30 such packages; ``::TODO`` placeholders are left out;
* words of the description (summary and body) in at least 5 packages and at most 40 % of them, without
  English stop words. The package's name is not used.

``--csv FILE`` writes the table of the README instead: every eighth source, summaries and first paragraphs,
and the tags of what a program is for and works with on at least 15 of its rows.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from hyperlabel.datasets._debtags import DATA_FILE, TOKEN_PATTERN

FACETS = (
    "admin",
    "field",
    "game",
    "interface",
    "mail",
    "network",
    "security",
    "sound",
    "use",
    "web",
    "works-with",
)
MIN_TAGS, MIN_PACKAGES, MIN_WORD, MAX_WORD = 3, 30, 5, 0.4


def fetch_lists(release: str = "bookworm") -> tuple[str, str]:
    """Let apt fetch the lists into a folder of their own; return the text of Packages and Translation-en."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-o", "Acquire::Languages=en", "-o", f"Dir::State::Lists={folder}/"]
        options += ["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="]
        Path(folder, "partial").mkdir()
        subprocess.run(["apt-get", "update", "-qq", *options], check=True)

        def text(*conditions: str) -> str:
            query = ["apt-get", "indextargets", *options, "--format", "$(FILENAME)"]
            query += [f"Codename: {release}", "Component: main", *conditions]
            names = subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()
            if len(names) != 1:
                found = f"{len(names)} lists for {release} main {conditions}"
                raise SystemExit(f"apt knows {found}, expected one")
            helper = ["/usr/lib/apt/apt-helper", "cat-file", names[0]]
            return subprocess.run(helper, check=True, capture_output=True).stdout.decode()

        return text("Created-By: Packages"), text("Created-By: Translations", "Language: en")


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """Paragraphs of a Debian control file as dictionaries."""
    for paragraph in text.split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in paragraph.split("\n"):
            if line[:1] in (" ", "\t"):
                fields[key] += "\n" + line[1:]
            elif ":" in line:
                key, _, value = line.partition(":")
                fields[key] = value.strip()
        if fields:
            yield fields


def described(packages: str, translations: str) -> Iterator[tuple[dict[str, str], set[str], str]]:
    """Packages by name that have an English description: their fields, tags (no placeholders) and text."""
    texts = {
        entry["Description-md5"]: entry["Description-en"]
        for entry in stanzas(translations)
        if "Description-en" in entry
    }
    for entry in sorted(stanzas(packages), key=lambda entry: entry["Package"]):
        tags = {tag for tag in re.split(r",\s*", entry.get("Tag", "")) if tag and not tag.endswith("TODO")}
        text = texts.get(entry.get("Description-md5", ""))
        if text:
            yield entry, tags, text


def choose(packages: str, translations: str) -> tuple[list[str], list[set[str]], list[str]]:
    """Texts, tag sets and source packages of the rows the rules select."""
    texts, tags, sources = [], [], []
    for entry, every, text in described(packages, translations):
        kept = {tag for tag in every if tag.split("::")[0] in FACETS}
        if "role::program" in every and len(kept) >= MIN_TAGS:
            texts.append(text)
            tags.append(kept)
            sources.append(entry.get("Source", entry["Package"]).split()[0])
    return texts, tags, sources


def words(texts: list[str]) -> tuple[sparse.csr_array, list[str]]:
    """Counts of the words of the texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        token_pattern=TOKEN_PATTERN, min_df=MIN_WORD, max_df=MAX_WORD, stop_words="english"
    )
    counts = sparse.csr_array(vectorizer.fit_transform(texts))
    counts.sort_indices()
    return counts, list(vectorizer.get_feature_names_out())


def write_csv(path: Path, texts: list[str], tags: list[set[str]], sources: list[str]) -> None:
    """Write the small table that README and the gallery read."""
    chosen = set(sorted(set(sources))[::8])
    wanted = [
        (source, text, {tag for tag in row if tag.startswith(("use::", "works-with::"))})
        for text, row, source in zip(texts, tags, sources, strict=True)
        if source in chosen
    ]
    frequent = Counter(tag for _, _, row in wanted for tag in row)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["source", "description", "tags"])
        for source, text, row in wanted:
            kept = sorted(tag for tag in row if frequent[tag] >= 15)
            first = re.split(r"\n\.?\n", text.replace("\n.\n", "\n\n"))[0]
            if kept:
                table.writerow([source, re.sub(r"\s+", " ", first).strip(), "|".join(kept)])


def joined(names: list[str]) -> np.ndarray:
    """Names as bytes, one per line: far smaller than a fixed-width array."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description="build the embedded Debian tags data set")
    parser.add_argument("--release", default="bookworm")
    parser.add_argument("--output", type=Path, default=DATA_FILE)
    parser.add_argument("--csv", type=Path, help="write the small table with texts instead")
    given = parser.parse_args()
    texts, tags, sources = choose(*fetch_lists(given.release))
    if given.csv:
        write_csv(given.csv, texts, tags, sources)
        return
    frequent = Counter(tag for row in tags for tag in row)
    names = sorted(tag for tag, count in frequent.items() if count >= MIN_PACKAGES)
    place = {tag: j for j, tag in enumerate(names)}
    counts, vocabulary = words(texts)
    labels = [sorted(place[tag] for tag in row if tag in place) for row in tags]
    distinct = sorted(set(sources))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        given.output,
        release=joined([given.release]),
        X_data=np.minimum(counts.data, 255).astype(np.uint8),
        X_indices=counts.indices.astype(np.uint16),
        X_lengths=np.diff(counts.indptr).astype(np.uint16),
        Y_indices=np.array([j for row in labels for j in row], dtype=np.uint8),
        Y_lengths=np.array([len(row) for row in labels], dtype=np.uint8),
        vocabulary=joined(vocabulary),
        label_names=joined(names),
        groups=np.searchsorted(distinct, sources).astype(np.uint16),
        group_names=joined(distinct),
    )
    size = given.output.stat().st_size / 1e6
    print(
        f"{len(texts)} packages of {len(distinct)} sources, {len(vocabulary)} words, "
        f"{len(names)} tags, {sum(map(len, labels)) / len(labels):.2f} tags each; {size:.2f} MB"
    )


if __name__ == "__main__":
    main()
