"""A model file that answers requests: what `make_app` calls a project."""

import asyncio
import json
import re
import warnings
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel._files import locked, stamp_of
from hyperlabel.apps.serve.row_inputs import Document, check_served, example_document, make_inputs
from hyperlabel.persistence.plain import read_plain
from hyperlabel.tabular.model_file import (
    need_updatable,
    open_model,
    open_plain,
    read_columns,
    save_model,
    with_columns,
)
from hyperlabel.tabular.pipeline import plain_feature
from hyperlabel.tabular.review_queue import answered_entries, review_probabilities


class ServedModel:
    """A model file that answers, explains and learns; all of it is loaded where `plain` is not enough."""

    def __init__(self, path: str, *, learns: bool = False) -> None:
        self.path, self.learns, self.learning = path, learns, asyncio.Lock()
        self.project_id = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).stem).strip("-") or "model"
        columns = read_columns(path)
        self.plain = open_plain(path, columns)
        self.label_names = columns.label_names
        check_served(columns, path)
        self._columns = columns
        if learns:
            with locked(path, lambda: None):  # warns where there are no locks
                need_updatable(self.file)
        if self.plain is None and not hasattr(self.file.model, "predict_proba"):
            warnings.warn(
                f"{path} has no probabilities: it answers with scores moved between 0 and 1.", stacklevel=2
            )
        self.probabilities([example_document(columns)])

    @property
    def example_request(self) -> str:
        """Return what to give curl for a first answer."""
        if self._columns.text_only:
            return '-d text="a text"'
        row = json.dumps({"row": example_document(self._columns)}).replace("'", "\\u0027")
        return f"--json '{row}'"

    @cached_property
    def file(self) -> Any:
        """The whole model."""
        self.file_stamp = stamp_of(self.path)
        return open_model(self.path)

    def probabilities(self, documents: list[Document]) -> Any:
        """Return probabilities, one row for each document: a text, or a row by its columns."""
        rows = make_inputs(self._columns, documents)
        if self.plain is not None:
            return self.plain.probabilities(rows)
        if hasattr(self.file.model, "predict_proba"):
            return review_probabilities(self.file, rows)
        return np.exp(-np.logaddexp(0, -self.file.scores(rows)))

    def sources(self, documents: list[Document]) -> Any:
        """Return what each score comes from, as `ModelFile.answer`; None where all come from rows."""
        if self.plain is not None:
            return self.plain.sources(len(documents))
        from hyperlabel.meta.named_labels import has_sources

        if not has_sources(self.file.model[-1]):
            return None
        return self.file.answer(make_inputs(self._columns, documents), values=False).sources

    def ranked(self, documents: list[Document]) -> list[list[tuple[int, float]]]:
        """Return the labels of each document with their probabilities, best first, equal ones by score."""
        rows = make_inputs(self._columns, documents)
        if self.plain is not None:
            scores = self.plain.scores(rows)
            p = self.plain.calibrate(scores)
        elif hasattr(self.file.model, "predict_proba"):
            answers = self.file.answer(rows, probabilities=True)
            p, scores = answers.values, answers.scores
        else:
            scores = self.file.scores(rows)
            p = np.exp(-np.logaddexp(0, -scores))
        orders = (np.lexsort((-row_scores, -row_p)) for row_p, row_scores in zip(p, scores, strict=True))
        return [[(int(j), float(p[i, j])) for j in order] for i, order in enumerate(orders)]

    def explain(self, document: Document, labels: list[str], top: int) -> list[dict[str, Any]]:
        """Return the words behind the scores of labels; of the best three where none is named."""
        from hyperlabel.meta import explain

        model_file, rows = self.file, make_inputs(self._columns, [document])
        best_labels = model_file.scores(rows)[0].argsort(kind="stable")[::-1][:3]
        labels = labels or [self.label_names[j] for j in best_labels]
        explanations = [
            asdict(explanation)
            for explanation in explain(
                model_file.model,
                rows,
                labels=labels,
                top=max(top, 1),
                feature_names=None if self._columns.text_only else self._columns.names,
            )
        ]
        for explanation in explanations:  # JSON knows no infinite threshold
            explanation["threshold"] = (
                explanation["threshold"] if abs(explanation["threshold"] or 0) < 1e300 else None
            )
            for feature in explanation["features"]:
                feature["name"] = plain_feature(feature["name"], self._columns.text)
        return explanations

    def learn(self, documents: list[Document], labels: list[list[str] | dict[str, bool]]) -> None:
        """Learn documents; the file is on disk before the answers change.

        Labels are all that a document carries, or answers about some, and then the others stay unknown.
        """
        from hyperlabel.meta import update
        from hyperlabel.tabular.fit_rows import change_hashes

        rows = make_inputs(self._columns, documents)
        label_sets = [[name in row_labels for name in self.label_names] for row_labels in labels]
        answers = [row_labels if isinstance(row_labels, dict) else None for row_labels in labels]
        Y = answered_entries(label_sets, answers, self.label_names)
        with locked(self.path, lambda: None) as lock:
            file = self.file
            if self.file_stamp != lock.stamp:  # another process has changed it meanwhile
                file = open_model(self.path)
            if file.columns.label_names != self.label_names:
                raise RuntimeError("The labels of the model file have changed: start the server again.")
            row_hashes = change_hashes(file.columns, rows)
            file = with_columns(file, rows=file.columns.rows + len(documents), row_hashes=row_hashes)
            file = replace(file, model=update(file.model, (rows, Y)))
            save_model(file)
            self.file, self.plain, self.file_stamp = file, read_plain(self.path), lock.stamp
