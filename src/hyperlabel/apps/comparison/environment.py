"""What a result was computed with: versions, machine, and a fingerprint of the code."""

import hashlib
import os
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from hyperlabel import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib")
# Folders whose source results depend on; a program that brings its own experiments adds its folder.
CODE_FOLDERS = [Path(__file__).resolve().parents[1]]


@lru_cache(maxsize=1)
def describe_environment() -> dict[str, str]:
    """Return the environment as a flat dict; the same process always gives the same answer."""
    return {
        "python": platform.python_version(),
        **package_versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": f"{_read_cpu_name()}, {os.cpu_count()} cores",
        "threads": "one BLAS thread per fit",
        "code": code_fingerprint(),
    }


@lru_cache(maxsize=1)
def package_versions() -> dict[str, str]:
    """Return the versions that results may depend on; they are part of a cell's identity."""
    version_of_package = {"hyperlabel": __version__}
    for name in PACKAGES:
        version_of_package[name] = metadata.version(name)
    return version_of_package


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Hash the source in `CODE_FOLDERS`, so that a resumed run can tell when the code has changed."""
    digest = hashlib.sha256()
    for folder in CODE_FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _read_cpu_name() -> str:
    try:
        cpu_lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    cpu_names = (text.split(":", 1)[1].strip() for text in cpu_lines if text.startswith("model name"))
    return next(cpu_names, "unknown")
