#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build what the test beds boot: scripts/build.sh [all|uml|uml-FLAVOUR|qemu|qemu-ROLE|run]...
# run is the runtime of "softmr run" (scripts/lib/run.sh), which DESTDIR=DIR installs below DIR; it needs no guest image, and
# can be built on any distribution. run-package is the same
# for debian/rules, with the provider that is installed below PROVIDER=DIR.
# uml-source and uml-kernel-FLAVOUR are the parts that take long and do not depend on this tree
set -euo pipefail
# shellcheck source=scripts/lib/all.sh
. "$(dirname "$0")/lib/all.sh"

build_qemu() {
	local role
	host_require qemu || return
	for role in "$@"; do
		is_role "$role" || die 2 "there is no kernel '$role'; there are: ${ROLES[*]}"
		build_layer_with_tests "$role" || return
	done
	say_roles
}

build_uml() {
	local flavour
	host_require uml || return
	build_layer_with_tests uml || return
	for flavour in "$@"; do build_uml_layer "$flavour" || return; done
}

# uml_kernel FLAVOUR
uml_kernel() { host_require uml && with_lock "uml-$1" uml_make "$1"; }

build_target() {
	case $1 in
	all | qemu) build_qemu "${ROLES[@]}" ;;
	qemu-race) host_require qemu uml && build_layer_with_tests race ;;
	uml-source) host_require uml && with_lock linux-source uml_source_make ;;
	uml-kernel-*) uml_kernel "${1#uml-kernel-}" ;;
	# plain is for benches, contract, foreign and the package, which build it themselves
	uml) build_uml checked ;;
	qemu-*) build_qemu "${1#qemu-}" ;;
	uml-*) build_uml "${1#uml-}" ;;
	run)
		build_run || return
		say "The runtime of softmr run: $RUN_RUNTIME"
		[ -z "${DESTDIR:-}" ] || run_install "$DESTDIR"
		;;
	run-package) run_package "$PROVIDER" "$DESTDIR" ;;
	*) die 2 "cannot build '$1'; try all, uml, uml-plain, qemu-newest, run" ;;
	esac
}

at_exit end_jobs
for target in "${@:-all}"; do build_target "$target" || exit 1; done
say "Built: $BUILD (guest image and kernels: $CACHE)"
