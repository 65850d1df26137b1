"""Sphinx reads this: Markdown pages, and the docstrings of what is public."""

from importlib import metadata
from inspect import cleandoc

project = "hushrec"
author = "The hushrec authors"
release = metadata.version("hushrec")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"hushrec {release}"
html_show_sphinx = False
myst_heading_anchors = 3
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "exclude-members": "model_config, supports"}


def keep_properties_whole(app, what, name, obj, options, lines):
    """Napoleon takes what stands before a colon in a property's docstring for its type; here it is text."""
    if what == "property":
        lines[:] = [*cleandoc(obj.__doc__).splitlines(), ""]


def setup(app):
    app.connect("autodoc-process-docstring", keep_properties_whole, priority=600)  # after napoleon
