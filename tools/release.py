"""Make a release, or refuse to: ``python tools/release.py [--skip-tests] VERSION``.

Refused are a dirty tree, a version other than the package's, a changelog or CITATION.cff without it, red
tests. Then the wheel and the sdist are built, checked (`twine check`) and installed into a clean environment,
where the command trains on a table, tags a text and runs the demo. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command; its output, or the end of the release with what it said."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        said = done.stdout[-2000:] + done.stderr[-2000:]
        sys.exit(f"{' '.join(str(part) for part in command)} failed:\n{said}")
    return done.stdout


def refusals(version: str, root: Path = ROOT) -> list[str]:
    """Say what stands against this release, apart from the tests."""
    found = []
    if subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True).stdout:
        found.append("the working tree has changes: commit or remove them")
    stated = re.search(r'__version__ = "(.*)"', (root / "src/hyperlabel/__init__.py").read_text())
    if stated is None or stated[1] != version:
        found.append(f"src/hyperlabel/__init__.py says {stated and stated[1]}, not {version}")
    if not re.search(rf"^## {re.escape(version)}\b", (root / "CHANGELOG.md").read_text(), re.M):
        found.append(f"CHANGELOG.md has no section {version}")
    if f"version: {version}\n" not in (root / "CITATION.cff").read_text():
        found.append(f"CITATION.cff does not say version {version}")
    return found


def build() -> list[Path]:
    """Build and check the wheel and the sdist."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "build", "twine")
        run(python, "-m", "build", ROOT)
        files = sorted((ROOT / "dist").iterdir())
        run(python, "-m", "twine", "check", "--strict", *files)
    return files


def try_out(wheel: Path) -> str:
    """Install the wheel into a clean environment and use it away from the source."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        command, away = Path(folder) / "bin" / "hyperlabel", Path(folder)
        run(Path(folder) / "bin" / "python", "-m", "pip", "install", "-q", f"{wheel}[all]")
        table = ROOT / "examples" / "packages.csv"
        run(command, "fit", table, "--text", "description", "--labels", "tags", "-o", "m.hyper", cwd=away)
        run(command, "predict", "m.hyper", "--text", "plays music files in a terminal", cwd=away)
        run(command, "demo", cwd=away)
        return run(command, "--version").strip()


def main() -> None:
    parser = argparse.ArgumentParser(description="make a release, or refuse to")
    parser.add_argument("version")
    parser.add_argument("--skip-tests", action="store_true", help="for a rehearsal: never for a real release")
    given = parser.parse_args()
    against = refusals(given.version)
    if against:
        sys.exit("Not released: " + "; ".join(against) + ".")
    if not given.skip_tests:
        run("bash", ".ci/run")
    files = build()
    wheel = next(path for path in files if path.suffix == ".whl")
    print(f"{try_out(wheel)} works from its wheel. Ready: {', '.join(path.name for path in files)}")


if __name__ == "__main__":
    main()
