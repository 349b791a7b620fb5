"""Sphinx: the site is Markdown (MyST) pages plus the API from numpydoc docstrings."""

import importlib
import inspect
import sys
import zlib
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

import hyperlabel

# `reproduction` and `tools` are no part of the installed package.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from site_page import write_model_page

from reproduction.inventory import add_source_lines

project = "hyperlabel"
author = "The hyperlabel developers"
copyright = "2026, The hyperlabel developers"
version = release = hyperlabel.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx-mathjax-offline",  # MathJax comes with the site: formulas need no network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),  # what a script prints is enough
    "min_reported_time": 1e9,  # times of a shared machine tell nothing
}
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
DEFAULT_LINKS.clear()  # into Python's and NumPy's glossaries, whose inventories would need a network
numpydoc_xref_ignore = {"of", "or", "shape", "default", "n_samples", "n_features", "n_labels"}
numpydoc_xref_aliases = {name: f"hyperlabel.{name}" for name in hyperlabel.__all__ if name[0].isupper()}
copybutton_prompt_text = ">>> "
html_theme = "furo"
html_title = "hyperlabel"
html_static_path = ["_static"]
html_extra_path = ["_build/extra"]  # model-page.html, which setup() writes
html_css_files = ["site.css"]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.codeobj.json"]
templates_path = ["_templates"]


def _scikit_learn_names() -> Path:
    """Write the names of the installed scikit-learn as an inventory, so that links need no network."""
    lines = []
    packages = [
        "base",
        "ensemble",
        "feature_extraction.text",
        "kernel_approximation",
        "linear_model",
        "metrics",
    ]
    packages += [
        "model_selection",
        "multiclass",
        "multioutput",
        "neighbors",
        "pipeline",
        "preprocessing",
        "svm",
    ]
    for package in packages:
        module = importlib.import_module(f"sklearn.{package}")
        for name in getattr(module, "__all__", ()):
            kind = "class" if inspect.isclass(vars(module).get(name)) else "function"
            page = f"modules/generated/sklearn.{package}.{name}.html"
            lines.append(f"sklearn.{package}.{name} py:{kind} 1 {page} -\n")
    head = b"# Sphinx inventory version 2\n# Project: scikit-learn\n# Version: stable\n"
    head += b"# The remainder of this file is compressed using zlib.\n"
    path = Path(__file__).parent / "_build" / "scikit-learn.inv"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(head + zlib.compress("".join(lines).encode()))
    return path


intersphinx_mapping = {"sklearn": ("https://scikit-learn.org/stable/", str(_scikit_learn_names()))}


def _ours_only(app, what, name, obj, skip, options):
    """Leave out what scikit-learn generates or passes on: its docstrings link into its own site."""
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", "")
    generated = name.startswith("set_") and name.endswith("_request")
    return (
        skip or generated or (what == "class" and callable(obj) and not str(module).startswith("hyperlabel"))
    )


def _lines_of_equations(app, docname, source):
    """Say beside each equation of a method page at which line its code begins."""
    if docname.startswith("methods/"):
        source[0] = add_source_lines(source[0])


def setup(app):
    """Sphinx calls this once."""
    write_model_page(Path(__file__).parent / "_build" / "extra" / "model-page.html")
    app.connect("source-read", _lines_of_equations)
    app.connect("autodoc-skip-member", _ours_only)
