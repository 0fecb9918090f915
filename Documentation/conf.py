# SPDX-License-Identifier: GPL-2.0
# For Sphinx ("make docs"). The pages use plain reStructuredText only, so no extension is needed.
from pathlib import Path

project = "softmr"
author = "the softmr developers"
copyright = author
version = release = (Path(__file__).parent.parent / "VERSION").read_text(encoding="utf-8").strip()

root_doc = "index"
exclude_patterns = ["_build"]
# softmr.rst and cover-letter.rst of upstream/ are pages; the rest there is input of scripts/export.
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "70em", "body_max_width": "60em"}
html_show_copyright = False
html_copy_source = False
smartquotes = False
