"""Sphinx reads this: Markdown pages, notebooks, and the docstrings of what is public."""

import os
import re
import sys
from importlib import metadata
from inspect import cleandoc
from pathlib import Path

project = "hushrec"
author = "The hushrec authors"
release = metadata.version("hushrec")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"hushrec {release}"
html_show_sphinx = False
html_static_path = ["custom.css"]
html_css_files = ["custom.css"]
nb_execution_mode = "force"  # a notebook is run at every build: its outputs are those of this version
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
os.environ |= {"TTY_COMPATIBLE": "0", "COLUMNS": "84"}  # commands print as to a file: no spinners, no colours
suppress_warnings = ["misc.highlighting_failure"]  # of a command that goes on in the next line
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # for !hushrec
myst_heading_anchors = 3
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "exclude-members": "model_config, supports"}


def keep_properties_whole(app, what, name, obj, options, lines):
    """Napoleon takes what stands before a colon in a property's docstring for its type; here it is text."""
    if what == "property" and obj.__doc__:
        lines[:] = [*cleandoc(obj.__doc__).splitlines(), ""]


NOT_BUILT = r"\[([^\]]*)\]\((?:\.\./)+((?:lab|examples)/[^)#\s]*)[^)\s]*\)"
"""A link to a page of the laboratory or of an example."""


def name_what_is_not_built(app, docname, source):
    """Show links to pages that are not built as text and path."""
    source[0] = re.sub(NOT_BUILT, r"\1 (`\2`)", source[0])


def setup(app):
    app.connect("source-read", name_what_is_not_built)
    app.connect("autodoc-process-docstring", keep_properties_whole, priority=600)  # after napoleon
