"""Names of labels in ``hyperlabel fit``: a prior by default, words or characters, sources of answers."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from tests.commands import done

from hyperlabel import BinaryRelevance, explain, update
from hyperlabel.tabular import fit_table, open_model
from hyperlabel.tabular.label_text import move_label_rows, name_in_words, read_label_text
from hyperlabel.tabular.pipeline import WEIGHTS

TAGS = ("trumpet", "kettle", "willow", "harbour", "saffron", "lantern")
FILLER = ("today", "maybe", "often", "never", "green", "seven", "under", "quite", "round", "still")
ENDINGS = ("ssa", "lle", "sta", "n", "ksi", "tta", "ni", "mme", "kin", "han")


def write(path, n, *, inflect=False, tags=TAGS, seed=0):
    """Rows whose texts use the names of their tags, each time with another ending if they are inflected."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        row_tags = rng.sample(range(len(TAGS)), rng.choice((1, 1, 2)))
        words = [TAGS[j] + (rng.choice(ENDINGS) + rng.choice(ENDINGS) if inflect else "") for j in row_tags]
        words += rng.choices(FILLER, k=6)
        rng.shuffle(words)
        rows.append({"text": " ".join(words), "tags": [tags[j] for j in row_tags]})
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return str(path)


def ridge_of(file):
    return getattr(file.model[-1], "estimator_", file.model[-1])


def test_names_count_by_default_and_can_be_left_out(tmp_path):
    table = write(tmp_path / "a.jsonl", 40)
    named, plain = (fit_table(table, labels="tags", group="", label_names=on) for on in (True, False))
    assert ridge_of(named).label_scale_ > 0.1
    assert not hasattr(ridge_of(plain), "label_scale_")
    # the prior is the one that BinaryRelevance fits with the same rows
    names = named.model[0].transform(list(named.columns.label_names))
    np.testing.assert_allclose(ridge_of(named).label_features_.toarray(), names.toarray())


def test_addresses_are_no_names(tmp_path):
    tags = [f"http://example.org/{name}" for name in TAGS]
    file = fit_table(write(tmp_path / "a.jsonl", 40, tags=tags), labels="tags", group="")
    assert not hasattr(ridge_of(file), "label_scale_")
    assert name_in_words("magic (card game)") == "magic"
    assert name_in_words("(unknown)") == "(unknown)"


@pytest.mark.parametrize(("inflect", "analyzer"), [(False, "word"), (True, "char_wb")])
def test_held_out_rows_choose_words_or_characters(tmp_path, inflect, analyzer):
    table = write(tmp_path / "a.jsonl", 150, inflect=inflect)
    assert fit_table(table, labels="tags", group="").model[0].analyzer == analyzer
    assert fit_table(table, labels="tags", group="", ngrams=2).model[0].analyzer == "word"


def test_the_command_says_what_it_compared(tmp_path):
    table = write(tmp_path / "a.jsonl", 150, inflect=True)
    model = str(tmp_path / "m.hyper")
    result = done("fit", table, "--labels", "tags", "--group", "", "-o", model)
    assert "features: characters (nDCG@10 on 50 held-out rows" in result.stderr
    assert open_model(model).model[0].analyzer == "char_wb"


def test_weights_lie_over_rows_where_features_are_too_many(tmp_path, monkeypatch):
    table = write(tmp_path / "a.jsonl", 120, inflect=True)
    whole = fit_table(table, labels="tags", group="")
    monkeypatch.setattr("hyperlabel.linear.label_features.WIDE_BYTES", 100)
    monkeypatch.setattr("hyperlabel.tabular.pipeline.SUMS", 10)  # no moments either
    path = str(tmp_path / "m.hyper")
    wide = fit_table(table, path, labels="tags", group="")
    assert ridge_of(wide).dual_coef_.shape == (120, len(TAGS))
    texts = ["trumpetlleni kettlen", "nothing of all this"]
    np.testing.assert_allclose(open_model(path).scores(texts), whole.scores(texts), atol=1e-8)
    # also without names: zeros in their place
    unnamed = fit_table(table, labels="tags", group="", label_names=False)
    assert ridge_of(unnamed).label_scale_ == 0.0


def test_slim_files_hold_no_rows(tmp_path, monkeypatch):
    """Weights of each feature, and of no more features than memory bears."""
    monkeypatch.setattr("hyperlabel.linear.label_features.WIDE_BYTES", 100)
    monkeypatch.setattr("hyperlabel.tabular.pipeline.SUMS", 10)
    table = write(tmp_path / "a.jsonl", 120, inflect=True)
    whole, slim = (fit_table(table, labels="tags", group="", slim=slim) for slim in (False, True))
    assert whole.model[0].max_features is None
    assert slim.model[0].max_features == WEIGHTS // len(TAGS)
    assert not {"samples_", "dual_coef_", "moments_"} & set(vars(ridge_of(slim)))
    texts = ["trumpetlleni kettlen", "nothing of all this"]
    np.testing.assert_allclose(slim.scores(texts), whole.scores(texts), atol=0.01)  # solved by iterations


def test_drift_and_update_keep_the_names(tmp_path):
    old, new = write(tmp_path / "a.jsonl", 60), write(tmp_path / "b.jsonl", 60, seed=1)
    model = str(tmp_path / "m.hyper")
    fit_table(old, model, labels="tags", group="")
    assert done("data", "drift", old, new, "--model", model, "--json").stdout
    done("update", model, new, "--drop-label", "saffron", "--ignore-unknown")
    ridge = ridge_of(open_model(model))
    assert ridge.label_features_.shape[0] == 5
    assert ridge.label_scale_ > 0.1
    assert done("evaluate", model, old, "--json").stdout


def test_label_rows_move_to_other_features_by_name(tmp_path):
    old, new = (fit_table(write(tmp_path / "a.jsonl", n), labels="tags", group="") for n in (40, 25))
    moved = move_label_rows(ridge_of(old).label_features_, old.model[0], new.model[0])
    words = list(new.model[0].get_feature_names_out())
    row = moved[[list(old.columns.label_names).index("willow")]].toarray().ravel()
    assert [words[j] for j in np.flatnonzero(row)] == ["willow"]


def test_names_count_beside_other_columns(tmp_path):
    lines = Path(write(tmp_path / "a.jsonl", 80)).read_text().splitlines()
    rows = [
        row | {"title": row["text"].split()[0], "size": i % 7} for i, row in enumerate(map(json.loads, lines))
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    file = fit_table(str(tmp_path / "b.jsonl"), labels="tags", text=["text", "title"], group="")
    ridge = ridge_of(file)
    assert ridge.label_scale_ > 0.05
    assert ridge.label_features_.shape == (len(TAGS), ridge.n_features_in_)


def test_explanations_tell_what_came_from_the_name(tmp_path):
    file = fit_table(write(tmp_path / "a.jsonl", 40), labels="tags", group="")
    text = ["a trumpet under the willow"]
    why = explain(file.model, text, labels=["trumpet"])[0]
    ridge = ridge_of(file)
    j = list(file.columns.label_names).index("trumpet")
    row, name = file.model[0].transform(text), ridge.label_features_[[j]]
    assert why.from_name == pytest.approx(2 * ridge.label_scale_ * float((row @ name.T).sum()))
    of_word = {share.name: share for share in why.features}["trumpet"]
    assert 0 < of_word.from_name <= why.from_name + 1e-12
    total = why.base + sum(share.share for share in why.features) + why.rest
    assert total == pytest.approx(why.score)
    assert explain(BinaryRelevance().fit(np.eye(4), [[1, 0], [0, 1]] * 2), np.eye(4))[0].from_name is None


def test_explain_of_the_command_tells_it(tmp_path):
    model = str(tmp_path / "m.hyper")
    fit_table(write(tmp_path / "a.jsonl", 40), model, labels="tags", group="")
    shown = done("explain", model, "--text", "a trumpet", "--label", "trumpet").stdout
    assert "comes from the label's name" in shown
    found = json.loads(done("explain", model, "--text", "a trumpet", "--label", "trumpet", "--json").stdout)
    assert found[0]["from_name"] > 0


def test_answers_say_where_labels_without_rows_come_from(tmp_path):
    (tmp_path / "names.csv").write_text("label,synonyms\nseven,\ntrumpet,horn\n")
    model = str(tmp_path / "m.hyper")
    file = fit_table(
        write(tmp_path / "a.jsonl", 60),
        model,
        labels="tags",
        group="",
        label_text=str(tmp_path / "names.csv"),
    )
    for source in (["--text", "seven trumpet"], [write(tmp_path / "b.jsonl", 3)]):
        lines = done("predict", model, *source, "--top", "7", "--json").stdout.splitlines()
        answers = json.loads(lines[0])["labels"]
        assert {a["label"]: a["source"] for a in answers} == {"seven": "name", **dict.fromkeys(TAGS, "rows")}
    # learned from rows, it is a label like any other
    learned = update(file.model, (["seven things", "seven"], [["seven"], ["seven"]]))
    assert not ridge_of(type(file)(learned, file.columns, ""))._by_name_alone.any()


def test_models_without_such_labels_say_nothing_of_sources(tmp_path):
    model = str(tmp_path / "m.hyper")
    fit_table(write(tmp_path / "a.jsonl", 40), model, labels="tags", group="")
    answer = json.loads(done("predict", model, "--text", "a trumpet", "--top", "1", "--json").stdout)
    assert set(answer["labels"][0]) == {"label", "probability", "predicted"}


TREE = """label\tparent\tsynonyms
trumpet\tmusic\thorn
willow\tplants;garden\t
saffron\tplants
viola\tmusic\tfiddle
"""


def test_a_vocabulary_file_has_words_and_parents(tmp_path):
    (tmp_path / "v.tsv").write_text(TREE)
    read = read_label_text(str(tmp_path / "v.tsv"))
    assert read.words == {"trumpet": "horn", "willow": "", "saffron": "", "viola": "fiddle"}
    assert read.parents["willow"] == ["plants", "garden"]
    assert read.names == ["trumpet", "willow", "saffron", "viola", "music", "plants", "garden"]
    # without a header every further column is words
    (tmp_path / "w.csv").write_text("trumpet,music,horn\n")
    plain = read_label_text(str(tmp_path / "w.csv"))
    assert (plain.words, plain.parents) == ({"trumpet": "music horn"}, {})


@pytest.mark.parametrize("method", ["ridge", "mlknn"])
def test_parents_are_implied_and_predictions_consistent(tmp_path, method):
    (tmp_path / "v.tsv").write_text(TREE)
    model, table = str(tmp_path / "m.hyper"), write(tmp_path / "a.jsonl", 60)
    done(
        "fit", table, "--labels", "tags", "--method", method, "--label-text", tmp_path / "v.tsv", "-o", model
    )
    file = open_model(model)
    names = list(file.columns.label_names)
    assert ("viola" in names) == (method == "ridge")  # without names nothing could score it
    lines = Path(write(tmp_path / "b.jsonl", 30, seed=3)).read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    scores, answer = file.scores(texts), file.answer(texts)
    for child, parent in (
        ("trumpet", "music"),
        ("willow", "plants"),
        ("willow", "garden"),
        ("saffron", "plants"),
    ):
        i, j = names.index(child), names.index(parent)
        assert (scores[:, j] >= scores[:, i]).all()
        assert (answer.label_sets[:, j] >= answer.label_sets[:, i]).all()
    assert answer.label_sets[:, names.index("plants")].any()
    raised = answer.sources[:, names.index("plants")] == "child"
    below = scores[:, [names.index("willow"), names.index("saffron")]].max(axis=1)
    assert (scores[raised, names.index("plants")] == below[raised]).all()


def test_parents_need_thresholds(tmp_path):
    (tmp_path / "v.tsv").write_text(TREE)
    table = write(tmp_path / "a.jsonl", 40)
    with pytest.raises(ValueError, match="leave out --thresholds none"):
        fit_table(table, labels="tags", thresholds="none", label_text=str(tmp_path / "v.tsv"))
