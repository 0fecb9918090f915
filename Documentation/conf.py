# SPDX-License-Identifier: GPL-2.0
# For Sphinx ("make docs"). The pages use plain reStructuredText only, so no extension is needed.
import subprocess
from pathlib import Path

project = "softmr"
author = "the softmr developers"
copyright = author
version = release = (Path(__file__).parent.parent / "VERSION").read_text(encoding="utf-8").strip()

root_doc = "index"
exclude_patterns = ["_build"]
# softmr.rst and cover-letter.rst of upstream/ are pages; the rest there is input of scripts/export.
# why.rst, the page of all reasons, is made of their table.
why = Path(__file__).with_name("why.rst")
page = subprocess.run([why.parent.parent / "scripts/why", "--page", why.parent.parent], check=True, stdout=subprocess.PIPE).stdout
if not why.exists() or why.read_bytes() != page:
    why.write_bytes(page)
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"page_width": "70em", "body_max_width": "60em"}
html_show_copyright = False
html_copy_source = False
smartquotes = False
