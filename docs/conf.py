"""Sphinx: the site is Markdown (MyST) pages plus the API from numpydoc docstrings."""

import hyperlabel

project = "hyperlabel"
author = "The hyperlabel developers"
copyright = "2026, The hyperlabel developers"
version = release = hyperlabel.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
copybutton_prompt_text = ">>> "
html_theme = "furo"
html_title = "hyperlabel"
exclude_patterns = ["_build"]
templates_path = ["_templates"]


def _ours_only(app, what, name, obj, skip, options):
    """Leave out what scikit-learn generates or passes on: its docstrings link into its own site."""
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", "")
    generated = name.startswith("set_") and name.endswith("_request")
    return (
        skip or generated or (what == "class" and callable(obj) and not str(module).startswith("hyperlabel"))
    )


def setup(app):
    """Sphinx calls this once."""
    app.connect("autodoc-skip-member", _ours_only)
