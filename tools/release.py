"""Make a release, or refuse to: ``python tools/release.py [--skip-tests | --build-only] VERSION``.

Refused are a dirty tree, a version other than the package's, a changelog or CITATION.cff without it, red
tests. Then the wheel and the sdist are built and checked (`twine check`). Each is installed into a clean
environment and used there: the sdist without optional packages, the wheel with all of them. Nothing is
uploaded. ``--build-only`` builds and uses the two whatever the tree looks like; CI runs it (`make wheel`).
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


def build() -> tuple[Path, Path]:
    """Build the sdist and the wheel, and check both."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "build", "twine")
        run(python, "-m", "build", ROOT)
        (sdist,), (wheel,) = (list((ROOT / "dist").glob(ending)) for ending in ("*.tar.gz", "*.whl"))
        run(python, "-m", "twine", "check", "--strict", sdist, wheel)
    return sdist, wheel


def try_out(sdist: Path, wheel: Path) -> str:
    """Install both files into a clean environment, one after the other, and use them away from the source.

    Returns
    -------
    str
        What ``hyperlabel --version`` says there.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = (Path(folder) / "bin" / "python", "-m", "pip", "--disable-pip-version-check")
        run(*pip, "install", "-q", sdist)
        _tag_a_text(Path(folder))
        # pip takes a wheel of the version that is installed for installed already.
        run(*pip, "uninstall", "-q", "-y", "hyperlabel")
        run(*pip, "install", "-q", f"{wheel}[all]")
        _tag_a_text(Path(folder))
        run(Path(folder) / "bin" / "hyperlabel", "demo", cwd=Path(folder))
        return run(Path(folder) / "bin" / "hyperlabel", "--version", cwd=Path(folder)).strip()


def _tag_a_text(folder: Path) -> None:
    """Train the installed command on a table of the examples, and ask it for the tags of a new text."""
    command, table = folder / "bin" / "hyperlabel", ROOT / "examples" / "packages.csv"
    run(command, "fit", table, "--text", "description", "--labels", "tags", "-o", "m.hyper", cwd=folder)
    tags = run(command, "predict", "m.hyper", "--text", "plays music files in a terminal", cwd=folder)
    if "use::playing" not in tags:
        sys.exit(f"The installed command does not know a music player:\n{tags}")


def main() -> None:
    parser = argparse.ArgumentParser(description="make a release, or refuse to")
    parser.add_argument("version", nargs="?")
    parser.add_argument("--skip-tests", action="store_true", help="for a rehearsal: never for a real release")
    parser.add_argument("--build-only", action="store_true", help="build both files and use them")
    given = parser.parse_args()
    if given.build_only == (given.version is not None):
        parser.error("name the version to release, or give --build-only")
    if not given.build_only:
        against = refusals(given.version)
        if against:
            sys.exit("Not released: " + "; ".join(against) + ".")
        if not given.skip_tests:
            run("bash", ".ci/run")
    sdist, wheel = build()
    print(f"{try_out(sdist, wheel)} works from its sdist and its wheel: {sdist.name}, {wheel.name}")


if __name__ == "__main__":
    main()
