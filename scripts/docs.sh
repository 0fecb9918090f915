#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make docs: the pages of Documentation/ as HTML, in build/docs. A warning of Sphinx is an error.
#
# docs.sh [BUILDER]: another builder of Sphinx, such as man or linkcheck, in build/docs-BUILDER
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/lib/common.sh"

builder=${1:-html}
case $builder in
-* | '') die 2 "usage: docs.sh [BUILDER] (a builder of Sphinx; html is the default)" ;;
html) out=$BUILD/docs ;;
*) out=$BUILD/docs-$builder ;;
esac
# Debian's sphinx-build, or one from a virtual environment
if have sphinx-build; then
	sphinx=(sphinx-build)
elif python3 -c 'import sphinx' 2>/dev/null; then
	sphinx=(python3 -m sphinx)
else
	warn "Sphinx is not installed, so the pages cannot be built. They are plain text: read Documentation/index.rst"
	die 1 "to install it as root: apt-get install python3-sphinx"
fi

mkdir -p "$out"
"${sphinx[@]}" -q -W --keep-going -b "$builder" -d "$BUILD/docs-doctrees" "$TOP/Documentation" "$out" ||
	die 1 "Sphinx has warnings, see above"
if [ "$builder" = html ]; then say "Open $out/index.html"; else say "The pages are in $out"; fi
