"""A model file that answers requests: what `make_app` calls a project."""

import asyncio
import re
import warnings
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel._files import locked, stamp_of
from hyperlabel.persistence.plain import read_plain
from hyperlabel.tabular.model_file import (
    need_updatable,
    open_model,
    open_plain,
    read_columns,
    save_model,
    with_columns,
)
from hyperlabel.tabular.review_queue import review_probabilities


class ServedModel:
    """A model file that answers, explains and learns; all of it is loaded where `plain` is not enough."""

    def __init__(self, path: str, *, learns: bool = False) -> None:
        self.path, self.learns, self.learning = path, learns, asyncio.Lock()
        self.project_id = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).stem).strip("-") or "model"
        columns = read_columns(path)
        self.plain = open_plain(path, columns)
        self.label_names = columns.label_names
        if not columns.text_only:
            raise ValueError(f"{path} was not fitted on text alone: only such models are served.")
        if learns:
            with locked(path, lambda: None):  # warns where there are no locks
                need_updatable(self.file)
        if self.plain is None and not hasattr(self.file.model, "predict_proba"):
            warnings.warn(
                f"{path} has no probabilities: it answers with scores moved between 0 and 1.", stacklevel=2
            )
        self.probabilities(["a first text"])

    @cached_property
    def file(self) -> Any:
        """The whole model."""
        self.file_stamp = stamp_of(self.path)
        return open_model(self.path)

    def probabilities(self, texts: list[str]) -> Any:
        """Return probabilities, one row for each text."""
        if self.plain is not None:
            return self.plain.probabilities(texts)
        if hasattr(self.file.model, "predict_proba"):
            return review_probabilities(self.file, texts)
        return np.exp(-np.logaddexp(0, -self.file.scores(texts)))

    def explain(self, text: str, labels: list[str], top: int) -> list[dict[str, Any]]:
        """Return the words behind the scores of labels; of the best three where none is named."""
        from hyperlabel.meta import explain

        model_file = self.file
        best_labels = model_file.scores([text])[0].argsort(kind="stable")[::-1][:3]
        labels = labels or [self.label_names[j] for j in best_labels]
        explanations = [
            asdict(explanation)
            for explanation in explain(model_file.model, [text], labels=labels, top=max(top, 1))
        ]
        for explanation in explanations:  # JSON knows no infinite threshold
            explanation["threshold"] = (
                explanation["threshold"] if abs(explanation["threshold"] or 0) < 1e300 else None
            )
        return explanations

    def learn(self, texts: list[str], labels: list[list[str]]) -> None:
        """Learn texts; the file is on disk before the answers change."""
        from hyperlabel.meta import update
        from hyperlabel.tabular.fit_rows import change_hashes

        Y = [[int(label_name in text_labels) for label_name in self.label_names] for text_labels in labels]
        with locked(self.path, lambda: None) as lock:
            file = self.file
            if self.file_stamp != lock.stamp:  # another process has changed it meanwhile
                file = open_model(self.path)
            if file.columns.label_names != self.label_names:
                raise RuntimeError("The labels of the model file have changed: start the server again.")
            row_hashes = change_hashes(file.columns, texts)
            file = with_columns(file, rows=file.columns.rows + len(texts), row_hashes=row_hashes)
            file = replace(file, model=update(file.model, (texts, Y)))
            save_model(file)
            self.file, self.plain, self.file_stamp = file, read_plain(self.path), lock.stamp
