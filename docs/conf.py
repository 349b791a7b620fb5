"""Sphinx: the site is Markdown (MyST) pages plus the API from numpydoc docstrings."""

from docutils.nodes import SkipNode, math_block
from docutils.utils.math.latex2mathml import tex2mathml

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
    "sphinx_copybutton",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
copybutton_prompt_text = ">>> "
html_math_renderer = "mathml"
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


def mathml(tex, *, as_block=False):
    """Return a formula as MathML, which browsers show without a script from elsewhere."""
    plain = tex.replace("½", r"\frac{1}{2}").replace(r"\tfrac12", r"\frac{1}{2}").replace(r"\big", "")
    return tex2mathml(plain, as_block=as_block)


def _write_formula(writer, node):
    writer.body.append(mathml(node.astext(), as_block=isinstance(node, math_block)))
    raise SkipNode


def setup(app):
    """Sphinx calls this once."""
    app.add_html_math_renderer("mathml", (_write_formula, None), (_write_formula, None))
    app.connect("autodoc-skip-member", _ours_only)
