from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_cache(monkeypatch, tmp_path):
    """What an earlier --fetch may have left in the home folder is not seen here."""
    from reproduction import data

    monkeypatch.setattr(data, "CACHE", tmp_path / "cache")
