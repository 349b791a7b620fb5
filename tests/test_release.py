"""The release script refuses what must not be released."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import release
from tests.optional import optional

import hyperlabel

ROOT = Path(__file__).parents[1]
hatchling = optional("hatchling.build")


def test_the_wheel_holds_the_library_only(tmp_path, monkeypatch):
    """No printed numbers of papers, and no extra under the GPL."""
    monkeypatch.chdir(ROOT)
    wheel = zipfile.ZipFile(tmp_path / hatchling.build.build_wheel(str(tmp_path)))
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"hyperlabel"}
    assert [name for name in wheel.namelist() if name.endswith(".toml") or "reproduc" in name] == []
    (metadata,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    assert b"Provides-Extra: report" in wheel.read(metadata)
    assert b"cubist" not in wheel.read(metadata)


@pytest.fixture
def project(tmp_path):
    for name in ("CHANGELOG.md", "CITATION.cff", "src/hyperlabel/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)
    return tmp_path


def test_the_version_of_the_package_can_be_released(project):
    assert release.refusals(hyperlabel.__version__, project) == []


def test_a_version_that_nothing_names_is_refused_with_every_reason(project):
    said = " ".join(release.refusals("9.9.9", project))
    for place in ("__init__.py", "CHANGELOG.md", "CITATION.cff"):
        assert place in said


def test_a_dirty_tree_is_refused(project):
    (project / "left-over.txt").write_text("work in progress")
    assert release.refusals(hyperlabel.__version__, project) == [
        "the working tree has changes: commit or remove them"
    ]
