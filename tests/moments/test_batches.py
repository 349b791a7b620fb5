"""Moments from batches: Arrow in every form, pairs, label lists; one pass, or two where sizes come first."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.optional import optional

from hyperlabel import HOPLS, BinaryRelevance, HypergraphSpectral, Moments
from hyperlabel.moments import batches as batches_module
from hyperlabel.moments.batches import Batches
from hyperlabel.moments.blocks import open_fit

pd = optional("pandas")
pa = optional("pyarrow")
pyarrow = optional("pyarrow.dataset")
pyarrow = optional("pyarrow.parquet")

FEATURES = ["age", "size", "price"]
LABELS = ["red", "round"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 3)) + 10.0
    Y = (X[:, :2] + rng.normal(size=(300, 2)) > 10.0).astype(np.int64)
    return X, Y


@pytest.fixture(scope="module")
def table(rows):
    X, Y = rows
    return pa.table(dict(zip([*FEATURES, *LABELS], [*X.T, *Y.T], strict=True)))


def frame(X):
    return pd.DataFrame(X, columns=FEATURES)


def assert_same_moments(got, rows):
    expected = Moments.from_rows(*rows)
    assert got.n == expected.n
    one, other = got.centered(), expected.centered()
    for name in ("x_mean", "f_mean", "gram", "cross", "target_gram"):
        assert_allclose(getattr(one, name), getattr(other, name), atol=1e-8)


def arrow_forms(table, folder):
    folder.mkdir()
    pyarrow.parquet.write_table(table.slice(0, 90), folder / "a.parquet", row_group_size=40)
    pyarrow.parquet.write_table(table.slice(90), folder / "b.parquet")
    data = pyarrow.dataset.dataset(folder)
    return {
        "table": table,
        "reader": table.to_reader(max_chunksize=70),
        "list of record batches": table.to_batches(max_chunksize=70),
        "iterator of record batches": iter(table.to_batches(max_chunksize=70)),
        "iterator of tables": (table.slice(i, 100) for i in (0, 100, 200)),
        "one record batch": table.combine_chunks().to_batches()[0],
        "data set": data,
        "scanner": data.scanner(batch_size=50),
        "function": lambda: data.to_batches(batch_size=50),
        "pandas": table.to_pandas(),
    }


def test_every_form_of_arrow_gives_the_sums_of_the_rows(rows, table, tmp_path):
    for form, source in arrow_forms(table, tmp_path / "rows").items():
        got = Moments.from_batches(source, labels=LABELS)
        assert_same_moments(got, rows)
        assert list(got.feature_names) == FEATURES, form
        assert list(got.label_names) == LABELS, form


def test_frames_of_polars_are_read(rows, table):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    assert_same_moments(Moments.from_batches(polars.from_arrow(table), labels=LABELS), rows)


def test_results_of_duckdb_are_read(rows, table):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as connection:
        connection.register("rows", table)
        assert_same_moments(Moments.from_batches(connection.sql("SELECT * FROM rows"), labels=LABELS), rows)


def test_only_the_columns_named_are_read_and_models_know_them(rows, table):
    wide = table.append_column("text", pa.array(["x"] * 300)).append_column("w", pa.array(np.full(300, 2.0)))
    got = Moments.from_batches(wide, labels=["round"], features=["price", "age"], sample_weight="w")
    X, Y = rows
    model = BinaryRelevance.from_moments(got)
    twice = np.repeat(np.arange(300), 2)
    expected = BinaryRelevance().fit(X[twice][:, [2, 0]], Y[twice][:, [1]])
    assert_allclose(model.coef_, expected.coef_, atol=1e-10)
    assert list(model.feature_names_in_) == ["price", "age"]
    assert list(model.label_names_) == ["round"]


def test_long_batches_are_cut_and_short_ones_put_together(rows, table, monkeypatch):
    monkeypatch.setattr(batches_module, "BLOCK_BYTES", 8 * 5 * 64)  # 64 rows of 5 columns
    sizes = []
    sum_block = batches_module._stack_columns

    def watch(part, names, **options):
        sizes.append(part.num_rows)
        return sum_block(part, names, **options)

    monkeypatch.setattr(batches_module, "_stack_columns", watch)
    for source in (table, table.to_batches(max_chunksize=7)):
        sizes.clear()
        assert_same_moments(Moments.from_batches(source, labels=LABELS), rows)
        assert max(sizes) < 128
        assert len(sizes) <= 2 * 6


def test_float32_columns_stay_float32_and_order_may_change_between_batches(rows):
    X, Y = rows[0].astype(np.float32), rows[1].astype(bool)
    parts = dict(zip([*FEATURES, *LABELS], [*X.T, *Y.T], strict=True))
    first = pa.table(parts).slice(0, 100)
    second = pa.table(dict(reversed(parts.items()))).slice(100)
    got = Moments.from_batches([first, second], labels=LABELS)
    assert_same_moments(got, (X, Y))
    assert BinaryRelevance.from_moments(got).predict(frame(X)).dtype == bool


@pytest.mark.parametrize("large", [False, True])
def test_a_column_of_label_lists(rows, table, large):
    X, Y = rows
    lists = [[LABELS[j] for j in np.flatnonzero(row)] * 2 for row in Y]  # each label twice: it counts once
    kind = pa.large_list(pa.string()) if large else pa.list_(pa.string())
    tagged = table.select(FEATURES).append_column("tags", pa.array(lists, type=kind))
    got = Moments.from_batches(tagged.to_reader(max_chunksize=90), labels="tags", classes=LABELS)
    assert_same_moments(got, rows)
    model = BinaryRelevance.from_moments(got)
    assert list(model.label_names_) == LABELS
    assert_array_equal(model.predict(frame(X)).toarray(), BinaryRelevance().fit(X, Y).predict(X))
    with pytest.raises(ValueError, match="'red', which is not among classes"):
        Moments.from_batches(tagged, labels="tags", classes=["round"])
    with pytest.raises(ValueError, match="classes="):
        Moments.from_batches(tagged, labels="tags")


def test_a_column_of_classes(rows, table):
    X = rows[0]
    kinds = np.array(["a", "b", "c"])[np.arange(300) % 3]
    marked = table.select(FEATURES).append_column("kind", pa.array(kinds).dictionary_encode())
    model = BinaryRelevance.from_moments(
        Moments.from_batches(marked.to_batches(100), labels="kind", classes=["a", "b", "c"])
    )
    assert_array_equal(model.predict(frame(X)), BinaryRelevance().fit(X, kinds).predict(X))


def test_pairs_with_names_weights_and_empty_batches(rows):
    X, Y = rows
    weights = np.linspace(0.5, 2.0, 300)
    pairs = [(X[:0], Y[:0]), (X[:100], Y[:100], weights[:100]), (X[100:], Y[100:], weights[100:])]
    got = Moments.from_batches(iter(pairs), labels=LABELS, features=FEATURES)
    expected = Moments.from_rows(X, Y, sample_weight=weights)
    assert_allclose(got.centered().gram, expected.centered().gram, atol=1e-8)
    assert list(got.feature_names) == FEATURES
    assert_same_moments(Moments.from_batches([(sparse.csr_array(X), sparse.csr_array(Y))]), rows)


def test_factors_that_need_sizes_read_twice_or_say_so(rows, table):
    X, Y = rows
    for model in (
        HypergraphSpectral(expansion="star"),
        HOPLS(),
        HypergraphSpectral(edge_weights="compactness"),
    ):
        for source in (table, table.to_batches(90), lambda: table.to_reader(90)):
            got = Moments.from_batches(source, labels=LABELS, factor=model)
            fitted = type(model).from_moments(got, **model.get_params(deep=False))
            expected = type(model)(**model.get_params(deep=False)).fit(X, Y)
            assert_allclose(fitted.transform(frame(X)), expected.transform(X), atol=1e-8)
        for once in (table.to_reader(), iter(table.to_batches())):
            with pytest.raises(ValueError, match="read twice"):
                Moments.from_batches(once, labels=LABELS, factor=model)


def test_bad_batches_get_one_sentence(table):
    with_text = table.append_column("text", pa.array(["x"] * 300))
    with_null = table.set_column(0, "age", pa.array([None] + [1.0] * 299))
    for source, options, message in [
        (table, {}, "which columns are the labels"),
        (table, {"labels": ["blue"]}, "no column 'blue'; they have age, size, price, red, round"),
        (with_text, {"labels": LABELS}, "'text' holds string, not numbers: name the feature columns"),
        (with_text, {"labels": ["text"], "features": FEATURES}, "label columns are 0 or 1"),
        (with_null, {"labels": LABELS}, "'age' holds nulls"),
        (table.slice(0, 0), {"labels": LABELS}, "no rows in the batches"),
        ([], {"labels": LABELS}, "no rows in the batches"),
        (table, {"labels": ["age"], "features": ["size"]}, "only 0 and 1"),
        ([(np.ones((2, 3)), np.ones((2, 2)))], {"labels": ["one"]}, "1 labels are named, y has 2"),
        ([(np.ones((2, 3)), np.ones((2, 2)))], {"features": ["one"]}, "1 features are named, X has 3"),
        (table, {"labels": LABELS, "memory_limit": 10.0}, "GB allowed"),
    ]:
        with pytest.raises(ValueError, match=message):
            Moments.from_batches(source, **options)
    for source, options in [("rows.parquet", {}), (3, {}), ([1, 2], {"labels": LABELS}), ([(1,)], {})]:
        with pytest.raises(TypeError, match="atch"):
            Moments.from_batches(source, **options)
    with pytest.raises(TypeError, match="list column names"):
        Moments.from_batches(table, labels=LABELS, features="age")


def test_arrow_without_pyarrow_gets_one_sentence(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'hyperlabel\[tables\]'"):
        Moments.from_batches(table, labels=LABELS)


def test_a_model_that_was_fitted_before_forgets_how_many_features_it_had():
    model = BinaryRelevance()
    for X in (np.eye(4, 3), np.eye(4, 2)):
        open_fit(model, X, np.array([0, 1, 0, 1]), classes=[0, 1])
        assert model.n_features_in_ == X.shape[1]


def test_many_short_batches_are_summed_as_one_block(rows, table):
    short = Batches(
        table.to_batches(max_chunksize=7), labels=LABELS, features=None, sample_weight=None, classes=None
    )
    assert [len(X) for X, _, _ in short.read()] == [300]


def test_a_data_set_is_scanned_without_threads_that_read_a_gigabyte_ahead(tmp_path):
    """pyarrow's scan with threads holds up to a gigabyte of batches, whatever else it is told."""
    asked = []

    class Source:
        def scanner(self, **options):
            asked.append(options)
            return data.scanner(**options)

    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=50), "b": rng.normal(size=50), "y": rng.integers(0, 2, 50)}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    data = pyarrow.dataset.dataset(tmp_path)
    moments = Moments.from_batches(Source(), labels=["y"], features=["a"])
    assert moments.n == 50
    assert asked == [{"columns": ["a", "y"], **batches_module.READ_AHEAD}]
    assert batches_module.READ_AHEAD["use_threads"] is False
