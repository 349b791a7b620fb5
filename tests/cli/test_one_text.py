"""One text is answered without scikit-learn, and as the whole model answers it."""

import json
import subprocess
import sys

import pytest

from hyperlabel import load

TEXTS = ["a red apple pie and a red car", "green apple green apple", "", "nothing known", "RED car, race car"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    rows = [("red apple pie", "food;red"), ("green apple", "food"), ("a red car", "vehicle;red"),
            ("fast green car", "vehicle"), ("apple cake", "food"), ("race car", "vehicle")] * 12  # fmt: skip
    table = folder / "t.csv"
    table.write_text("text,tags\n" + "\n".join(f"{text},{tags}" for text, tags in rows) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "hyperlabel", "fit", table, "--labels", "tags", "-o", folder / "m.hyper"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "m.hyper"


@pytest.mark.parametrize("text", TEXTS)
def test_one_text_is_answered_as_the_whole_model_answers_it(model, text):
    from click.testing import CliRunner

    from hyperlabel.apps.cli import main

    said = (
        CliRunner()
        .invoke(main, ["predict", str(model), "--text", text, "--top", "3", "--json", "--scores"])
        .stdout
    )
    whole = load(model)
    scores, sets = whole.decision_function([text])[0], whole.predict([text]).toarray().ravel()
    found = json.loads(said)["labels"]
    names = list(whole[-1].label_names_)
    for one in found:
        j = names.index(one["label"])
        assert one["score"] == pytest.approx(scores[j], abs=1e-6)
        knows_a_word = text not in ("", "nothing known")
        assert one["predicted"] == (knows_a_word and bool(sets[j]))
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)


def test_one_text_needs_no_scikit_learn(model):
    script = (
        "import sys; from click.testing import CliRunner; from hyperlabel.apps.cli import main; "
        f"r = CliRunner().invoke(main, ['predict', {str(model)!r}, '--text', 'red apple']); "
        "print(r.exit_code, [m for m in ('sklearn', 'scipy', 'numba', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 []"


def test_a_text_without_a_known_word_gets_no_labels_and_a_warning(model):
    from click.testing import CliRunner

    from hyperlabel.apps.cli import main

    for arguments in (["--text", "zzzz qqqq"], ["--text", ""]):
        answer = CliRunner().invoke(main, ["predict", str(model), *arguments])
        assert answer.stdout.splitlines()[1] == "1,,"
        assert "1 row has no word the model knows" in answer.stderr
    lines = CliRunner().invoke(main, ["predict", str(model), "-"], input="red apple\nzzzz\nred\n")
    assert [row.split(",")[1] != "" for row in lines.stdout.splitlines()[1:]] == [True, False, True]
    assert "row 2" in lines.stderr


def test_labels_of_one_probability_are_ordered_by_score():
    from types import SimpleNamespace

    import numpy as np

    from hyperlabel.apps.cli.predict import _iter_row_answers

    answers = SimpleNamespace(
        label_sets=np.array([[True, True, False, True]]),
        is_known=np.array([True]),
        values=np.array([[0.9, 0.9, 0.1, 0.9]]),
        scores=np.array([[0.2, 0.7, 0.9, 0.5]]),
        sources=None,
    )
    file = SimpleNamespace(
        columns=SimpleNamespace(label_names=["a", "b", "c", "d"]), answer=lambda rows, probabilities: answers
    )
    (top,) = _iter_row_answers(file, ["a text"], 1, "probability")
    assert [one["label"] for one in top] == ["b"]
    (predicted,) = _iter_row_answers(file, ["a text"], None, "probability")
    assert [one["label"] for one in predicted] == ["b", "d", "a"]
