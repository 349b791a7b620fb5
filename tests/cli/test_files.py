"""What is in a file reaches the model: text beside numbers, tags cut at one mark, cells without labels."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy import sparse
from tests.commands import done, run

import hyperlabel
from hyperlabel.datasets import DataError, Dataset, iter_data, load_npz, read_table

WORDS = {"fruit": "apple pear banana", "vehicle": "car lorry tram", "colour": "red green blue"}
CITIES = ["New York, NY;travel", "travel", "New York, NY", "Boston, MA;food", "food;travel", "food"]
DRINKS = ["Drinks, hot", "Drinks, cold", "Food, hot", "Food", "Drinks", "Drinks, hot, sweet"]


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def notes(n, seed):
    """Rows whose labels only the two texts tell; the number says nothing."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        chosen = list(rng.choice(list(WORDS), size=rng.integers(1, 3), replace=False))
        words = [rng.choice(WORDS[c].split()) for c in chosen]
        yield [
            i,
            f"a title with {words[0]} in it",
            f"some words on {' '.join(words[1:])} here",
            rng.integers(9),
            ";".join(chosen),
        ]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A table split by the command, and a model of its training part."""
    place = tmp_path_factory.mktemp("notes")
    table = write(place / "notes.csv", ["id", "title", "body", "minutes", "tags"], notes(160, 0))
    done("data", "split", table, "--labels", "tags", "--text", "title,body", "--to", "npz", "--out", place)
    found = done("fit", place / "notes-train.npz", "-o", place / "m.hyper")
    assert "text: 'title', 'body'; 1 column of numbers: 'minutes'" in found.stderr
    return place


def test_text_beside_a_number_column_survives_split_and_fit(parts):
    found = json.loads(done("evaluate", parts / "m.hyper", parts / "notes-test.npz", "--json").stdout)
    assert found["f1_macro"] > 0.95


def test_text_beside_a_number_column_survives_convert_and_fit(parts, tmp_path):
    done("data", "convert", parts / "notes.csv", tmp_path / "n.npz", "--labels", "tags")  # text is found
    assert "a title with" in load_npz(tmp_path / "n.npz").text[0]
    assert "some words on" in load_npz(tmp_path / "n.npz").text[0]  # both columns of text
    done("fit", tmp_path / "n.npz", "-o", tmp_path / "npz.hyper")
    done("fit", parts / "notes.csv", "--labels", "tags", "-o", tmp_path / "csv.hyper")
    one, two = (
        done("predict", tmp_path / f"{m}.hyper", tmp_path / "n.npz", "--top", 3) for m in ("npz", "csv")
    )
    assert one.stdout == two.stdout


def test_text_survives_in_shards(parts, tmp_path):
    done("data", "convert", parts / "notes.csv", tmp_path / "s", "--labels", "tags", "--shard-rows", 50)
    assert (
        "text: 'title', 'body'; 1 column of numbers"
        in done("fit", tmp_path / "s", "-o", tmp_path / "m.hyper").stderr
    )


def test_predict_update_drift_and_compare_use_the_text_of_an_npz_file(parts, tmp_path):
    test = parts / "notes-test.npz"
    rows = done("predict", parts / "m.hyper", test, "--json").stdout.splitlines()
    truth = load_npz(test).label_sets()
    same = [
        {one["label"] for one in json.loads(r)["labels"]} == set(t) for r, t in zip(rows, truth, strict=True)
    ]
    assert np.mean(same) > 0.9
    done("update", parts / "m.hyper", test, "-o", tmp_path / "u.hyper")
    done("update", tmp_path / "u.hyper", "--forget", test)
    assert "words" in json.loads(done("data", "drift", parts / "notes-train.npz", test, "--json").stdout)
    found = json.loads(done("data", "drift", test, test, "--model", parts / "m.hyper", "--json").stdout)
    assert "scores" in {one["kind"] for one in found["moved"]}
    assert not found["drift"]
    places = ["--store", tmp_path / "s.sqlite", "--out", tmp_path / "r.html", "--no-curves", "--no-tune"]
    options = ["--methods", "ridge,prior", "--folds", 2, "--repeats", 1, "--json"]
    found = json.loads(done("compare", parts / "notes-train.npz", *options, *places).stdout)
    assert found["best"]["notes-train"]["best"] == "ridge"


def test_features_of_another_file_are_matched_by_name(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[a, b, int(a > 0), int(b > 0)] for a, b in rng.normal(size=(60, 2))]
    one = write(tmp_path / "one.csv", ["a", "b", "up", "right"], rows)
    two = write(tmp_path / "two.csv", ["b", "a", "up", "right"], [[b, a, *y] for a, b, *y in rows])
    done("fit", one, "--labels", "up,right", "-o", tmp_path / "m.hyper")
    done("data", "convert", two, tmp_path / "two.npz", "--labels", "up,right")
    assert (
        done("predict", tmp_path / "m.hyper", one).stdout
        == done("predict", tmp_path / "m.hyper", tmp_path / "two.npz").stdout
    )


def listed(tmp_path, cells, **options):
    path = write(tmp_path / "t.csv", ["x", "tags"], [[i, cell] for i, cell in enumerate(cells)])
    return read_table(path, label_column="tags", **options)


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (CITIES, ["Boston, MA", "New York, NY", "food", "travel"]),
        (DRINKS, sorted(DRINKS)),
        (["a, b", "b, c", "a", "c", "a, c"], ["a", "b", "c"]),
        (["a|b", "b|c", "a", ""], ["a", "b", "c"]),
        (["topic|x, topic|y", "topic|y, news|z", "news|z, topic|x"], ["news|z", "topic|x", "topic|y"]),
        (["Korea, Republic of", "Congo, Republic of", "Congo"], None),
        (["Paris, France", "France", "Lyon, France", "Paris, Texas, USA", "Texas, USA"], None),
        (["Smith, John", "Doe, John", "Smith, Jane"], None),
        (["['a', 'b']", '["c, d"]', "['a' 'e']", "[b, e]"], ["a", "b", "c, d", "e"]),
    ],
)
def test_one_mark_separates_the_tags_of_a_column(tmp_path, cells, names):
    assert listed(tmp_path, cells).label_names == (sorted(set(cells)) if names is None else names)


def test_a_stream_finds_the_same_mark(tmp_path):
    whole = listed(tmp_path, CITIES)
    parts = list(iter_data(tmp_path / "t.csv", label_column="tags", chunk_rows=2))
    assert [part.label_names for part in parts] == [whole.label_names] * 3
    given = list(
        iter_data(tmp_path / "t.csv", label_column="tags", label_names=whole.label_names, chunk_rows=2)
    )
    assert [row for part in given for row in part.label_sets()] == whole.label_sets()


def cities(tmp_path):
    rows = [[f"a note on {cell}", cell] for cell in CITIES * 6]
    return write(tmp_path / "cities.csv", ["note", "tags"], rows)


def test_fit_and_info_say_what_separates_tags(tmp_path):
    path = cities(tmp_path)
    assert (
        "4 labels; labels listed in 'tags', separated by ';'"
        in done("fit", path, "--labels", "tags", "-o", tmp_path / "m.hyper").stderr
    )
    would = "fit would take 36 rows, 4 labels; labels listed in 'tags', separated by ';'"
    assert would in done("data", "info", path, "--labels", "tags").stderr
    found = done("data", "info", path, "--labels", "tags", "--json")
    assert json.loads(found.stdout)["fit"].startswith(would)
    assert found.stderr == ""
    done_shards = done("data", "convert", path, tmp_path / "s", "--labels", "tags", "--shard-rows", 9)
    assert "'tags', separated by ';'" in done_shards.stderr


def test_commas_kept_in_names_are_said_and_can_be_cut(tmp_path):
    rows = [[f"about {cell}", cell] for cell in DRINKS * 6]
    path = write(tmp_path / "d.csv", ["note", "kind"], rows)
    whole = done("fit", path, "--labels", "kind", "-o", tmp_path / "m.hyper")
    assert "6 labels" in whole.stderr
    assert "each cell one label" in whole.stderr
    again = done("fit", path, "--labels", "kind", "--label-separator", ",", "-o", tmp_path / "m.hyper")
    assert "5 labels" in again.stderr


def test_the_model_reads_new_files_with_the_mark_of_its_training_file(tmp_path):
    done("fit", cities(tmp_path), "--labels", "tags", "-o", tmp_path / "m.hyper")
    new = write(
        tmp_path / "new.csv", ["note", "tags"], [["to New York", "New York, NY"], ["a trip", "travel"]]
    )
    found = json.loads(done("evaluate", tmp_path / "m.hyper", new, "--json").stdout)
    assert found["unknown_labels"] == 0
    done("update", tmp_path / "m.hyper", new)
    rows = [[f"about {cell}", cell] for cell in DRINKS * 6]
    path = write(tmp_path / "d.csv", ["note", "kind"], rows)
    done("fit", path, "--labels", "kind", "-o", tmp_path / "d.hyper")
    # alone, this file would be cut at commas into two labels
    threshold = write(
        tmp_path / "c.csv", ["note", "kind"], [["x", "hot, sweet"], ["x", "sweet, hot"], ["x", "hot"]]
    )
    assert "3 labels the model does not know" in " ".join(
        run("update", tmp_path / "d.hyper", threshold).output.split()
    )


def test_labels_that_occur_once_bring_a_warning_about_the_separator(tmp_path):
    rng = np.random.default_rng(0)
    tags = [" ".join(rng.choice([f"t{j}" for j in range(30)], 3, replace=False)) for _ in range(60)]
    path = write(tmp_path / "s.csv", ["note", "tags"], [[f"a note on {t}", t] for t in tags])
    options = ["--labels", "tags", "-o", tmp_path / "m.hyper"]
    warned = done("fit", path, *options).stderr
    assert "labels occur once" in warned
    assert "--label-separator ' '" in warned
    assert "labels occur once" in done("data", "info", path, "--labels", "tags").stderr
    assert "labels occur once" in done("fit", path, *options, "--label-separator", "/").stderr
    assert "labels occur once" not in done("fit", path, *options, "--label-separator", " ").stderr


def test_labels_that_are_lists_of_others_bring_a_warning(tmp_path):
    cells = ["a;b", "b;c", "a", "c", "a|b", "b"]
    path = write(tmp_path / "m.csv", ["note", "tags"], [[f"a note on {c}", c] for c in cells * 5])
    warned = done("fit", path, "--labels", "tags", "-o", tmp_path / "m.hyper").stderr
    assert "1 label looks like a list of others, such as 'a|b'" in warned


def test_cells_that_say_nan_or_none_are_no_labels_and_are_counted(tmp_path):
    with pytest.warns(
        UserWarning, match=r"t.csv: 4 cells say 'nan', 'N/A', 'None' in 'tags': read as no label"
    ):
        data = listed(tmp_path, ["a;b", "nan", "N/A", "None", "", "nan", "Na;Cl"])
    assert data.label_sets() == [["a", "b"], [], [], [], [], [], ["Cl", "Na"]]
    assert listed(tmp_path, ["a", "none"], label_names=["a", "none"]).label_sets() == [["a"], ["none"]]
    with pytest.raises(DataError, match="'b' is not among"):
        listed(tmp_path, ["a", "b"], label_names=["a"])


def test_fit_counts_rows_without_labels_and_empty_texts(tmp_path):
    rows = [[f"a note on {w}", c] for c, words in WORDS.items() for w in words.split()] * 4
    path = write(tmp_path / "g.csv", ["note", "tags"], [*rows, ["", "fruit"], ["a note", "NaN"], ["  ", ""]])
    said = done("fit", path, "--labels", "tags", "-o", tmp_path / "m.hyper").stderr
    assert "3 labels" in said
    assert "2 rows without labels; 2 empty texts" in said
    assert "Warning: g.csv: 1 cell says 'NaN' in 'tags': read as no label." in said
    assert "nan" not in [str(n).lower() for n in hyperlabel.load(tmp_path / "m.hyper")[-1].label_names_]


def test_an_npz_file_with_sparse_numbers_and_texts_is_fitted_on_the_one_that_is_named(tmp_path):
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 2)) < 0.5).astype(int)
    names = ["red", "blue"]
    texts = [" ".join(word if on else "other" for word, on in zip(names, row, strict=True)) for row in Y]
    X = sparse.csr_array(np.hstack([Y[:, :1], rng.random((60, 3))]))
    Dataset(X, Y, None, names, text=texts).save(tmp_path / "both.npz")
    refused = run("fit", tmp_path / "both.npz", "-o", tmp_path / "m.hyper")
    assert refused.exit_code == 2
    assert "texts beside sparse numbers" in refused.output
    for option, features in (("--features", 3), ("--text", 4)):
        target = tmp_path / f"m{option}.hyper"
        told = run("fit", tmp_path / "both.npz", option, "", "-o", target, "--json")
        assert told.exit_code == 0, told.output
        found = json.loads(told.stdout)
        assert found["features"] == features or option == "--features"
        answers = run("evaluate", target, tmp_path / "both.npz", "--json")
        assert json.loads(answers.stdout)["f1_micro"] > 0.6


def test_convert_joins_spellings_in_tables_too(tmp_path):
    (tmp_path / "t.csv").write_text("id,tags\n1,Red;blue\n2,red ;Blue\n3,red\n4,blue\n")
    options = ("--labels", "tags", "--normalise-labels")
    done = run("data", "convert", tmp_path / "t.csv", tmp_path / "u.csv", *options)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "u.csv").read_text() == "id,tags\n1,blue;red\n2,blue;red\n3,red\n4,blue\n"
    (tmp_path / "w.csv").write_text("id,Red,red,blue\n1,1,0,1\n2,0,1,0\n3,0,1,0\n")
    options = ("--labels", "Red,red,blue", "--normalise-labels")
    done = run("data", "convert", tmp_path / "w.csv", tmp_path / "v.csv", *options)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "v.csv").read_text() == "id,blue,red\n1,1,1\n2,0,1\n3,0,1\n"


def test_texts_without_blanks_are_read_by_characters(tmp_path):
    parts = {"printing": "打印机卡纸", "network": "网络断开", "billing": "发票金额错误"}
    rng = np.random.default_rng(0)
    lines = ["正文,标签"]
    for _ in range(120):
        on = [name for name in parts if rng.random() < 0.4]
        filler = "".join(rng.choice(list("的是在我有他这中大来上国")) for _ in range(rng.integers(2, 6)))
        lines.append("".join(parts[name] + filler for name in on) + filler + "，" + ";".join(on))
    text = "\n".join(line.replace("，", ",") for line in lines)
    (tmp_path / "t.csv").write_text(text + "\n", encoding="utf-8")
    options = ("--labels", "标签", "--text", "正文", "--json")
    done = run("fit", tmp_path / "t.csv", *options, "-o", tmp_path / "m.hyper")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["score"] > 0.95


def test_a_plan_says_what_a_fit_takes(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    lines = [f"{' '.join(rng.choice(words, 12))},{rng.choice(['a', 'b', 'c'])}" for _ in range(600)]
    (tmp_path / "t.csv").write_text("text,tags\n" + "\n".join(lines) + "\n")
    call = ("fit", tmp_path / "t.csv", "--labels", "tags", "-o", tmp_path / "m.hyper")
    planned = json.loads(run(*call, "--dry-run", "--json").stdout)
    assert not (tmp_path / "m.hyper").exists()
    fitted = json.loads(run(*call, "--json").stdout)
    assert planned["rows"] == fitted["rows"]
    assert planned["labels"] == fitted["labels"]
    assert fitted["features"] / 2 < planned["features"] < 2 * fitted["features"]
    assert planned["can_be_updated"] == fitted["can_be_updated"]
    assert planned["advice"] is None
    said = run(*call, "--dry-run").stdout
    assert "route: gram" in said
    assert "GiB of memory" in said


def test_answers_beside_kept_columns_are_separated_as_the_file_is(tmp_path):
    rows = tmp_path / "notes.csv"
    rows.write_text("text;tags\n" + "red apple;fruit\nred car;vehicle\n" * 10)
    assert run("fit", rows, "--labels", "tags", "-o", tmp_path / "m.hyper").exit_code == 0
    for name, mark in (("out.csv", ";"), ("out.tsv", "\t"), ("-", ";")):
        out = name if name == "-" else tmp_path / name
        done = run("predict", tmp_path / "m.hyper", rows, "--keep", "-o", out)
        head = (done.stdout if name == "-" else (tmp_path / name).read_text()).split("\n")[0]
        assert head == mark.join(["text", "tags", "labels", "probabilities"])
