"""Sphinx settings. `make docs` builds the pages and runs the examples; it needs no network."""

import sys
from pathlib import Path

import gapfit

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "gapfit"
author = "The gapfit developers"
copyright = "the gapfit developers"
version = release = gapfit.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "plain_docstrings",
    "record_fields",
    "house_picture",
    "choices_table",
    "mathml",
]
exclude_patterns = ["_build", "auto_choices/*", "auto_examples/*.ipynb", "auto_examples/GALLERY_HEADER.rst"]
templates_path = []
nitpicky = True
# properties that numpydoc links to nothing
_COMPUTED = ("start_", "end_", "n_samples_kept_", "n_samples_seen_")
_COMPUTED += ("support_", "dual_coef_", "support_vectors_")
nitpick_ignore = [("py:obj", name) for name in _COMPUTED]
highlight_language = "text"  # formulas are no Python
default_role = "literal"  # docstrings put names in single backticks

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
suppress_warnings = ["config.cache"]

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # autodoc shows them

html_theme = "furo"
html_title = "gapfit"
html_static_path = ["_static"]
html_css_files = ["gapfit.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#56B4E9"},
}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "gallery_style.apply"),
    "within_subsection_order": "gallery_style.Order",
    "thumbnail_size": (480, 320),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_images": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "compress_images": (),
}
