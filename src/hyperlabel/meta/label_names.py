"""The names of the labels that any fitted model predicts, through Pipelines and searches."""

from typing import Any

from sklearn.pipeline import Pipeline


def predict_labels(model: Any, X: Any) -> list[list[str]]:
    """Return the names of the predicted labels of each row, also from a Pipeline or a search.

    Parameters
    ----------
    model : fitted estimator
        A classifier of this library, alone, as the last step of a Pipeline, or found by a search
        (``best_estimator_``).
    X : array-like
        What the model takes.

    Returns
    -------
    label_sets : list of list of str

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from hyperlabel import BinaryRelevance, predict_labels
    >>> texts = ["a red bird", "a blue bird", "red and blue", "grey"]
    >>> tags = [["red"], ["blue"], ["blue", "red"], []]
    >>> pipe = make_pipeline(TfidfVectorizer(), BinaryRelevance(alpha=0.01)).fit(texts, tags)
    >>> predict_labels(pipe, texts)
    [['red'], ['blue'], ['blue', 'red'], []]
    """
    while not hasattr(model, "predict_labels"):
        if isinstance(model, Pipeline):
            X = model[:-1].transform(X) if len(model) > 1 else X
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            raise TypeError(
                f"{type(model).__name__} does not know the names of its labels: use a classifier of "
                "hyperlabel as the last step."
            )
    label_sets: list[list[str]] = model.predict_labels(X)
    return label_sets
