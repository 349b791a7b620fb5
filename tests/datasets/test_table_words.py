"""Words that stand for nothing mean the same in columns of numbers, times and labels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from hyperlabel.datasets import read_table
from hyperlabel.datasets.label_cells import NO_LABEL


@pytest.mark.parametrize("word", NO_LABEL)
def test_a_word_for_nothing_is_missing_in_every_column(tmp_path, word):
    """'-' and '#N/A' were no label, but stopped the reading of numbers."""
    path = tmp_path / "t.csv"
    path.write_text(f"size,when,tags\n3,2024-01-01,a\n{word.upper()},{word},{word}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # which counts such cells of the label column
        data = read_table(path, label_column="tags", time="when")
    assert np.isnan(data.X[1, 0])
    assert np.isnat(data.time[1])
    assert data.label_sets()[1] == []
