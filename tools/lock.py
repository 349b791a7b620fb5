"""Write the SHA-256 of every file a pinned version may come as into constraints.txt.

`python tools/lock.py` asks the package index that pip is set up for, keeps the versions and writes the file
anew: wheels of the Pythons and machines below, and the source where there is no wheel for all.
Add a line ``name==version`` to pin one more package.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

PATH = Path(__file__).resolve().parents[1] / "constraints.txt"
PYTHONS = ("cp311", "cp312", "cp313", "cp314")
MACHINES = re.compile(r"any|manylinux.*_(x86_64|aarch64)|macosx.*_(arm64|x86_64|universal2)|win_amd64")


class Links(HTMLParser):
    """The files of a project's page: name → SHA-256."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link, _, digest = (dict(attrs).get("href") or "").partition("#sha256=")
        if tag == "a" and digest:
            self.files[urllib.request.unquote(link.rsplit("/", 1)[1])] = digest


def pinned(text: str) -> dict[str, str]:
    """Return name → version of every line that pins one."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", text, re.MULTILINE))


def fits(file: str) -> bool:
    """Say whether a wheel is for a Python and a machine this project is worked on with."""
    if not file.endswith(".whl"):
        return False
    python, abi, machine = file.removesuffix(".whl").split("-")[-3:]
    if abi.endswith("t") and abi.startswith("cp"):  # without the global lock: numba has no such wheels
        return False
    known = abi in ("abi3", "none") or any(one in python.split(".") for one in PYTHONS)
    return known and MACHINES.fullmatch(machine.split(".")[0]) is not None


def digests(index: str, name: str, version: str) -> list[str]:
    """Return the hashes of a version; the source's too where wheels do not cover every machine."""
    page = Links()
    with urllib.request.urlopen(f"{index}/{re.sub(r'[-_.]+', '-', name).lower()}/", timeout=60) as answer:
        page.feed(answer.read().decode())
    own = re.compile(rf"{re.sub(r'[-_.]+', '[-_.]+', name)}-{re.escape(version)}(-|\.tar\.gz$|\.zip$)", re.I)
    files = {file: digest for file, digest in page.files.items() if own.match(file)}
    wheels = {file: digest for file, digest in files.items() if fits(file)}
    if not any(file.endswith("-any.whl") for file in wheels):
        wheels |= {file: digest for file, digest in files.items() if file.endswith(".tar.gz")}
    if not wheels:
        raise SystemExit(f"The index has no file of {name} {version}.")
    return sorted(wheels.values())


def index_url() -> str:
    """Return the index pip uses."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    if told.returncode == 0:
        return told.stdout.strip().rstrip("/")
    from pip._internal.models.index import PyPI

    return PyPI.simple_url.rstrip("/")


def main() -> None:
    index, wanted = index_url(), pinned(PATH.read_text())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: digests(index, *one), wanted.items()))
    lines = [
        " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in hashes)])
        for (name, version), hashes in zip(wanted.items(), found, strict=True)
    ]
    PATH.write_text("\n".join(sorted(lines, key=str.lower)) + "\n")


if __name__ == "__main__":
    main()
