"""Annif's backends on the texts of `benchmarks.label_names`, trained and judged on the same rows.

Annif is installed in an environment of its own (``pip install annif omikuji``). Its tokeniser loads data of
nltk (punkt_tab), which is a download: a regular expression for words and one for sentences take its place.
All labels of the file are its vocabulary. F1@5 and NDCG@10 are those of ``annif eval``.

Run: HYPERLABEL_DATA=… python -m benchmarks.annif_peers ENVIRONMENT/bin/annif [backend …]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import tempfile
from pathlib import Path

from benchmarks._timing import data_folder

BACKENDS = {
    "tfidf": "",
    "omikuji": "cluster_balanced=False\ncluster_k=100\nmax_depth=3\nmin_df=1\nngram=1",  # Bonsai
    "mllm": "",
}
PROJECT = "[{0}]\nname={0}\nlanguage=fi\nbackend={0}\nvocab=v\nanalyzer=snowball(finnish)\nlimit=100\n{1}\n"
# read by Python when it starts: words and sentences without the data of nltk
WITHOUT_PUNKT = r"""
import re
try:
    import nltk.data, nltk.tokenize
    find_data = nltk.data.find
    nltk.data.find = lambda name, *rest: name if "punkt" in name else find_data(name, *rest)
    nltk.tokenize.word_tokenize = lambda text: re.findall(r"\w+(?:-\w+)*|[^\w\s]+", text)
    nltk.tokenize.sent_tokenize = lambda text: [s for s in re.split(r"(?<=[.!?])\s+", text) if s.strip()]
except ImportError:
    pass
"""


def write_files(folder: Path) -> None:
    """Write vocabulary, projects and both parts of the rows as Annif reads them."""
    with gzip.open(data_folder() / "texts" / "kirjastonhoitaja.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    names = {uri: label for row in rows for uri, label in zip(row["uris"], row["labels"], strict=True)}
    concepts = (
        f"<{uri}> a skos:Concept ; skos:prefLabel {json.dumps(label, ensure_ascii=False)}@fi .\n"
        for uri, label in names.items()
    )
    prefix = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    (folder / "v.ttl").write_text(prefix + "".join(concepts), encoding="utf-8")
    for part in ("train", "test"):
        part_rows = [row for row in rows if (row["split"] == "test") == (part == "test")]
        documents = (
            re.sub(r"\s+", " ", row["text"]) + "\t" + " ".join(f"<{uri}>" for uri in row["uris"])
            for row in part_rows
        )
        (folder / f"{part}.tsv").write_text("\n".join(documents) + "\n", encoding="utf-8")
    projects = (PROJECT.format(backend, options) for backend, options in BACKENDS.items())
    (folder / "projects.cfg").write_text("\n".join(projects))
    (folder / "sitecustomize.py").write_text(WITHOUT_PUNKT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("annif")
    parser.add_argument("backends", nargs="*", default=list(BACKENDS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}

        def call(*arguments: str) -> str:
            command = [str(Path(options.annif).absolute()), *arguments]
            done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            return done.stdout.decode()

        call("load-vocab", "v", "v.ttl")
        for backend in options.backends:
            start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            call("train", "-j", "1", backend, "train.tsv")
            seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start
            measures = dict(
                line.split(":")
                for line in call("eval", "-j", "1", backend, "test.tsv").splitlines()
                if ":" in line
            )
            shown = "  ".join(f"{name} {measures[name].strip()}" for name in ("F1@5", "NDCG@10"))
            print(f"{backend:8} {shown}  {seconds:.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
