"""From a file of labelled rows to a model file: read, arrange folds, fit the steps, save."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hyperlabel.tabular.fit_plan import (
    check_plan,
    count_characters,
    plan_fit,
    shape_of_rows,
)
from hyperlabel.tabular.fit_rows import hash_rows, pack_hashes
from hyperlabel.tabular.fit_time import warn_of_long_fit
from hyperlabel.tabular.label_text import add_labels, read_label_text, use_label_names, use_label_tree
from hyperlabel.tabular.model_file import ModelFile, aligned_labels, save_model
from hyperlabel.tabular.near_copies import keep_together
from hyperlabel.tabular.pipeline import (
    AUTO_WORDS,
    WORDS,
    Choices,
    classifier_step,
    features_step,
    fit_index,
    learned_rows,
    time_blocks,
)
from hyperlabel.tabular.text_features import choose_text_features
from hyperlabel.tabular.training_table import read_training
from hyperlabel.tabular.wording import plural


def fit_table(
    path: str,
    output: str | None = None,
    *,
    labels: Sequence[str] | str,
    method: str = "ridge",
    min_rows: int = 1,
    alpha: Sequence[float] = (),
    scoring: str = "f1_macro",
    thresholds: str = "per_label",
    precision: float | None = None,
    confidence: float = 0.9,
    words: int | None = None,
    ngrams: int | None = None,
    label_names: bool = True,
    label_text: str | None = None,
    time_budget: float = 60.0,
    slim: bool = False,
    random_state: int = 0,
    **reading: Any,
) -> ModelFile:
    r"""Fit a pipeline on a file of labelled rows, as ``hyperlabel fit`` does, and save it.

    Parameters
    ----------
    path : str
        A table, or data in any other format of `hyperlabel.datasets.read_data`.
    output : str, optional
        The model file to write; by default none is written.
    labels : str or list of str
        The column that lists the labels of a row, or the 0/1 columns.
    method : str, default="ridge"
        Name of a method, as ``hyperlabel fit --list-methods`` shows them, or "auto".
    min_rows : int, default=1
        Labels with fewer rows are left out.
    alpha : list of float, default=()
        Ridge penalties λ to compare; the method's own by default.
    scoring : str, default="f1_macro"
        What the thresholds maximise.
    thresholds : str, default="per_label"
        Strategy of `ThresholdTuner`, or "none".
    precision : float, optional
        Guarantee this precision for every predicted label, in place of `thresholds`.
    confidence : float, default=0.9
        Of `precision`.
    words, ngrams : int, optional
        Most features of the texts, and most words in a row that make one. Where neither is given, the ridge
        reads words, or characters in a row where these rank the labels of held-out rows better.
    label_names : bool, default=True
        Whether the words of the labels' names count for the labels from the start, as much as the evidence
        asks for (ridge on texts with every label known). Addresses are no words.
    label_text : str, optional
        A CSV or TSV file of labels with synonyms or a description each. Their words count for the labels from
        the start, and labels that no row carries can be predicted, too. With a header line, a column
        ``parent`` names the label above: rows with a label have those above it, and so have predictions.
    time_budget : float, default=60.0
        Seconds for the method "auto".
    slim : bool, default=False
        Leave out the moments by which the model could be updated.
    random_state : int, default=0
        Seed of the method.
    **reading : Any
        Further options of `read_training`: text, features, group, time and so on.

    Returns
    -------
    ModelFile

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.tabular import fit_table, open_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "a.csv")
    ...     rows = ["a red bird sings;red", "the blue bird sleeps;blue"] * 9
    ...     _ = table.write_text("text;tags\n" + "\n".join(rows) + "\n")
    ...     model_path = str(pathlib.Path(folder, "a.hyper"))
    ...     _ = fit_table(str(table), model_path, labels="tags", group="")
    ...     open_model(model_path).predict_labels(["the blue bird sleeps"])
    [['blue']]
    """
    choices = choose_pipeline(
        method,
        alpha=tuple(alpha),
        time_budget=time_budget,
        scoring=scoring,
        thresholds=thresholds,
        precision=precision,
        confidence=confidence,
        words=words,
        ngrams=ngrams,
        label_names=label_names,
        label_text=label_text,
        slim=slim,
        seed=random_state,
    )
    dataset, columns = read_training(path, labels=labels, **reading)
    dataset, left_out = drop_rare_labels(dataset, min_rows)
    dataset = add_labels(dataset, columns, choices)
    columns = replace(columns, label_names=list(dataset.label_names), left_out=left_out)
    dataset, choices, _ = arrange_folds(dataset, columns, choices)
    choices, _ = choose_text_features(dataset, columns, choices)
    model_file = fit_model_file(dataset, columns, choices, output or "")
    if output is not None:
        save_model(model_file)
    return model_file


def fit_model_file(dataset: Any, columns: Any, choices: Choices, output: str) -> ModelFile:
    """Fit the steps on a data set and note in the columns which rows these were."""
    model = fit_pipeline(dataset, columns, choices)
    row_hashes = pack_hashes(hash_rows(columns, columns.inputs(dataset)))
    columns = replace(columns, method=choices.method, rows=dataset.Y.shape[0], row_hashes=row_hashes)
    return ModelFile(model, columns, output)


def choose_pipeline(method: str, **options: Any) -> Choices:
    """Return the choices for a method; a guaranteed precision takes the place of thresholds."""
    default_words = {"auto": AUTO_WORDS, "ridge": None}.get(method, WORDS)
    return Choices(
        method=method,
        alpha=options["alpha"],
        budget=options["time_budget"],
        scoring=options["scoring"],
        thresholds=options["thresholds"] if options["precision"] is None else "none",
        precision=options["precision"],
        confidence=options["confidence"],
        words=options["words"] or default_words,
        analyzer="word" if options["words"] or options["ngrams"] or method != "ridge" else "auto",
        label_names=options["label_names"],
        ngrams=options["ngrams"] or (2 if method == "ridge" else 1),
        slim=options["slim"],
        label_text=read_label_text(options["label_text"]) if options.get("label_text") else None,
        seed=options["seed"],
    )


def drop_rare_labels(dataset: Any, min_rows: int) -> tuple[Any, list[str]]:
    """Return the data without labels of too few rows, and the names of those labels."""
    label_counts = np.asarray(dataset.Y.sum(axis=0)).ravel()
    frequent_labels = np.flatnonzero(label_counts >= min_rows)
    if not len(frequent_labels):
        raise ValueError(
            f"No label has {plural(min_rows, 'row')}: is the label column right, and its separator?"
        )
    if len(frequent_labels) == len(label_counts):
        return dataset, []
    label_names = list(dataset.label_names)
    missing_labels = None if dataset.missing is None else dataset.missing[:, frequent_labels]
    frequent_names = [label_names[j] for j in frequent_labels]
    frequent_dataset = replace(
        dataset, Y=dataset.Y[:, frequent_labels], label_names=frequent_names, missing=missing_labels
    )
    return frequent_dataset, [label_names[j] for j in np.flatnonzero(label_counts < min_rows)]


def arrange_folds(dataset: Any, columns: Any, choices: Choices) -> tuple[Any, Choices, str | None]:
    """Return the data with times or near copies as groups, the choices, and what to say about the folds."""
    if dataset.time is None:
        dataset, near_copies = keep_together(dataset, columns)
        return dataset, choices, near_copies
    if dataset.groups is not None:
        raise ValueError("--group and --time both say which rows score which: name one of them.")
    if choices.precision is not None:
        raise ValueError("A precision is proven on rows held out at random: leave out --precision or --time.")
    time_index = np.unique(dataset.time, return_inverse=True)[1]
    n_blocks = time_blocks(time_index)
    fold_note = (
        f"scored forward in time: {plural(n_blocks, 'block')} of rows, each by a model of earlier rows"
    )
    return replace(dataset, time=time_index), replace(choices, time_blocks=n_blocks), fold_note


def fit_pipeline(dataset: Any, columns: Any, choices: Choices) -> Any:
    """Return the fitted steps from the rows of a table to their labels."""
    from sklearn.pipeline import Pipeline

    from hyperlabel._validation import checked_indicator, target_check_options
    from hyperlabel.meta.updating import name_labels, store_rows_if_smaller, without_training_rows
    from hyperlabel.model_selection.groups import groups_for_fit

    feature_step = features_step(columns, dataset, choices)
    row_groups = dataset.groups if dataset.time is None else dataset.time  # each moment is a group of its own
    row_features = learned_rows(feature_step, columns.inputs(dataset), row_groups, choices.precision)
    has_missing_labels = dataset.missing is not None and dataset.missing.nnz > 0
    n_units = row_features.shape[0] if dataset.groups is None else len(set(dataset.groups))
    classifier = classifier_step(choices.method, choices, row_features, n_units)
    if has_missing_labels and not target_check_options(classifier)["missing"]:
        raise ValueError(
            f"{choices.method} needs every label known: choose a method such as ridge or logistic."
        )
    plan = plan_fit(
        shape_of_rows(row_features, dataset.n_labels, count_characters(dataset, columns)),
        choices,
        np.asarray(dataset.Y.sum(axis=0)).ravel(),
    )
    check_plan(plan)
    if has_missing_labels and choices.precision is not None:
        raise ValueError("No precision can be guaranteed where labels are unknown: leave out --precision.")
    if not has_missing_labels:
        use_label_names(classifier, columns, feature_step, row_features, choices)
    classifier = _add_guarantee(classifier, choices.precision, choices.confidence)
    Y = aligned_labels(dataset, columns.label_names)[0] if has_missing_labels else dataset.Y
    has_tree = use_label_tree(classifier, choices.label_text)  # which goes by names
    group_arguments = groups_for_fit(classifier, row_groups)
    warn_of_long_fit(classifier, row_features, Y, choices, has_text=bool(columns.text))
    targets = checked_indicator(Y, columns.label_names) if has_tree else Y
    classifier.fit(row_features, targets, **group_arguments)
    if choices.precision is not None:
        _need_guarantee(classifier, row_features, dataset.Y, row_groups, choices)
    without_training_rows(name_labels(classifier, columns.label_names), sums=not choices.slim)
    if not choices.slim:
        fit_rows = fit_index(row_features.shape[0], row_groups, choices.precision)
        store_rows_if_smaller(classifier, row_features[fit_rows], Y[fit_rows])
    return Pipeline([("features", feature_step), ("classifier", classifier)])


def _need_guarantee(classifier: Any, row_features: Any, Y: Any, groups: Any, choices: Choices) -> None:
    """Refuse a precision that no label can be guaranteed, and name the highest that some can."""
    if any(label_guarantee["guaranteed"] for label_guarantee in classifier.guarantees_):
        return
    from hyperlabel._base import score_rows
    from hyperlabel.decision.risk_control import guarantee_precision
    from hyperlabel.meta.wrapper_base import held_out_rows

    _, held_out = held_out_rows(Y.shape[0], groups)
    scores = score_rows(classifier.estimator_, row_features[held_out])
    held_out_groups = None if groups is None else np.asarray(groups)[held_out]
    sentence = (
        f"No label of {Y.shape[1]} reaches a precision of {choices.precision:g} that could be guaranteed "
        f"with confidence {choices.confidence:g} on the {plural(len(held_out), 'row')} held out for it"
    )
    for hundredths in range(int(100 * (choices.precision or 1)) - 1, 4, -5):
        guarantees = guarantee_precision(
            scores, Y[held_out], hundredths / 100, confidence=choices.confidence, groups=held_out_groups
        )
        n_guaranteed = sum(label_guarantee["guaranteed"] for label_guarantee in guarantees)
        if n_guaranteed:
            raise ValueError(
                f"{sentence}: --precision {hundredths / 100:g} could be, for {plural(n_guaranteed, 'label')}."
            )
    raise ValueError(f"{sentence}, nor could any lower one: give more rows, or leave --precision out.")


def _add_guarantee(classifier: Any, precision: float | None, confidence: float) -> Any:
    """Return the classifier with thresholds that keep a guaranteed precision, if there is one."""
    if precision is None:
        return classifier
    from hyperlabel.decision.risk_control import check_guarantee
    from hyperlabel.meta import ThresholdTuner

    check_guarantee(precision, confidence)
    return ThresholdTuner(
        classifier, strategy="precision_at_least", precision=precision, confidence=confidence, cv="split"
    )
