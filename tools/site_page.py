"""Write the page that the documentation's front page links to: ``python tools/site_page.py FILE``.

The model is that of the README: tags of Debian packages. Its page works from disk and without a network, so
the site carries it as one file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "examples" / "packages.csv"


def write_model_page(page: Path) -> None:
    """Fit the README's model and report it, by the commands a user would type."""
    page.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "packages.hyper"
        for command in (
            ["fit", TABLE, "--text", "description", "--labels", "tags", "-o", model],
            ["report", model, TABLE, "-o", page],
        ):
            words = [str(word) for word in command]
            done = subprocess.run(
                [sys.executable, "-m", "hyperlabel", *words], capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(done.stderr)


if __name__ == "__main__":
    write_model_page(Path(sys.argv[1]).resolve())
