#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ci/setup-softmr without a machine to set up: its options, what it finds out about a machine, which packages it needs.
# timeout: 120
# shellcheck disable=SC2317,SC2016 # functions are called through check; texts are for the shells that it starts
set -uo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
SETUP=$TOP/ci/setup-softmr/setup-softmr

# parts COMMAND-LINE: run it in a shell that has the script's functions
parts() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	bash -euo pipefail -c '. "$0/scripts/lib/common.sh"
		for part in machine install link guest results; do . "$0/ci/setup-softmr/$part.sh"; done
		KERNEL=$(uname -r) INSTALL_ONLY="" NAME=softmr
		eval "$1"' "$TOP" "$1"
}

# gives EXPECTED COMMAND-LINE
gives() { is "$(parts "$2")" "$1"; }

# -- options

check "--help" "$SETUP" --help
check_error "an unknown option" "unknown argument '--frob'" "$SETUP" --frob
check_error "an option without its value" "--netdev needs a value" "$SETUP" --netdev
check_error "no such mode" "--mode takes one of: auto module run; not 'kernel'" "$SETUP" --mode kernel
check_error "no links" "--links takes a number from 1 to 99, not '0'" "$SETUP" --links 0
check_error "a name that is too long for an interface" "--name takes a letter" "$SETUP" --name twelve_chars
check_error "more links than interfaces" "--links 3 does not fit --netdev a,b" "$SETUP" --netdev a,b --links 3
check_error "two links on one interface" "--links 2 needs as many interfaces" "$SETUP" --netdev a --links 2
check_error "a kernel that does not run" "a link can be made only there" "$SETUP" --kernel 6.1.0-none
check_error "a kernel that is not here, or no root" "cannot be given a module here" \
	"$SETUP" --mode module --install-only --kernel 6.1.0-none

# -- the machine

if unshare --user --map-root-user true 2>/dev/null; then
	unshared() { unshare --user --map-root-user bash -c "$(declare -f parts); TOP=$TOP; parts 'in_user_namespace'"; }
	check "root of a user namespace is not the machine's" unshared
else
	skip "root of a user namespace is not the machine's" "no user namespaces here"
fi
if [ "$(id -u)" = 0 ]; then
	without() { ! setpriv --bounding-set -sys_module bash -c "$(declare -f parts); TOP=$TOP; parts 'may_load_modules'"; }
	check "a container without CAP_SYS_MODULE loads no modules" without
else
	skip "a container without CAP_SYS_MODULE loads no modules" "only root can leave a capability"
fi
check "a module is found in the kernel's indexes, compressed or not, and no other" gives "yes yes no" '
	tree=$(mktemp -d)
	printf "%s\n" "kernel/drivers/infiniband/core/ib_core.ko.xz: kernel/a.ko.xz" "updates/softmr.ko:" >$tree/modules.dep
	eval "$(declare -f has_module | sed "s:/lib/modules/:$tree/../:")"
	for m in ib_core softmr siw; do has_module "${tree##*/}" $m && echo yes || echo no; done | paste -sd " "
	rm -r "$tree"'

# -- addresses

check "the GID of an IPv4 address" gives 0000:0000:0000:0000:0000:ffff:c612:0001 'ipv4_gid 198.18.0.1'
check "the GID of an IPv6 address" gives fd73:6f66:746d:7200:0000:0000:0000:0001 'ipv6_gid fd73:6f66:746d:7200::1'
check "of one with zeroes at its end" gives fd00:0000:0000:0000:0000:0000:0000:0000 'ipv6_gid fd00::'
check "of one without zeroes" gives 2001:0db8:0001:0002:0003:0004:0005:0006 'ipv6_gid 2001:DB8:1:2:3:4:5:6'

# -- packages

# Packages of two releases, one of them for two architectures
packages='PACKAGES=$(mktemp -d); dpkg() { echo amd64; }; release_mark() { echo "~deb13"; }
	touch $PACKAGES/libsoftmr1_1.0-1~deb{12,13}_{amd64,arm64}.deb $PACKAGES/softmr-dkms_1.0-1_all.deb'
check "of two releases' packages this one's is taken" gives libsoftmr1_1.0-1~deb13_amd64.deb \
	"$packages; f=\$(package_file libsoftmr1); echo \${f##*/}; rm -r \$PACKAGES"
check "one for all releases and architectures is taken" gives softmr-dkms_1.0-1_all.deb \
	"$packages; f=\$(package_file softmr-dkms); echo \${f##*/}; rm -r \$PACKAGES"
check "a package that is not there is not named" gives '' "$packages; package_file softmr-tools; rm -r \$PACKAGES"
check "of two other releases' packages the older one's is taken" gives libsoftmr1_1.0-1~deb12_amd64.deb \
	"$packages; release_mark() { echo '~ubu24.04'; }; f=\$(package_file libsoftmr1); echo \${f##*/}; rm -r \$PACKAGES"
check "module and provider are there: packages are not made" gives yes \
	"$packages; has_packages && echo yes || echo no; rm -r \$PACKAGES"
check "the provider is another architecture's: they are made" gives no \
	"$packages; rm \$PACKAGES/libsoftmr1_*_amd64.deb; has_packages && echo yes || echo no; rm -r \$PACKAGES"

# -- links that --down removes

# removed COMMANDS: what --down removes of softmr0 on eth0, softmr1 on v-softmr1, softmr2 of another driver, after COMMANDS
removed() {
	rm -rf "$WORK/sys" "$WORK/made"
	mkdir -p "$WORK"/sys/class/infiniband/softmr{0,1}/ports/1/hw_counters "$WORK"/sys/class/infiniband/softmr2/ports/1
	touch "$WORK"/sys/class/infiniband/softmr{0,1}/ports/1/hw_counters/mr_dereg_refused
	SETUP_SOFTMR_STATE=$WORK/made SYSFS=$WORK/sys parts 'as_root() { "$@"; }
		rdma() {
			case "$*" in
			"link show softmr0/1") echo "link softmr0/1 state ACTIVE netdev eth0" ;;
			"link show softmr1/1") echo "link softmr1/1 state ACTIVE netdev v-softmr1" ;;
			"link show softmr2/1") echo "link softmr2/1 state ACTIVE netdev v-softmr2" ;;
			"link del "*) echo "${*: -1}" ;;
			esac
		}
		veth_name() { echo no-such-interface; }
		'"$1"'
		remove_links' 2>"$WORK/said" | paste -sd ' '
}
check "--down leaves links that a person has added" is "$(removed '')" softmr1
check "... and says so" grep -q "softmr0 was not made by setup-softmr and stays" "$WORK/said"
check "... and those that were added again elsewhere" is "$(removed 'note_link softmr0 eth1')" softmr1
check "--down removes links that were made on an interface of the machine" is "$(removed 'note_link softmr0 eth0')" "softmr0 softmr1"
check "... once" is "$(removed 'note_link softmr0 eth0; remove_links >/dev/null')" softmr1

# -- results

# What is printed for two links, the second of which has no address, in a guest whose command has characters of JSON's
printed() {
	parts 'MODE=run OUTPUT="" ENVIRONMENT="" JSON='"$1"'
		results "/a b/\"x\"\\y --" "softmr0 softmr1" "v0 v1" "10.0.0.1 -" "1 3"'
}
json_is_right() {
	printed 1 | python3 -c '
import json, sys
want = {"mode": "run", "run": "/a b/\"x\"\\y --", "links": [
    {"device": "softmr0", "netdev": "v0", "address": "10.0.0.1", "gid_index": 1},
    {"device": "softmr1", "netdev": "v1", "address": None, "gid_index": 3}]}
sys.exit(json.load(sys.stdin) != want)'
}
check "--json: all results are one object" json_is_right
from_shell() { (eval "$(printed '')" && is "$SOFTMR_RUN|$SOFTMR_DEVICES|$SOFTMR_GID_INDEX" '/a b/"x"\y --|softmr0 softmr1|1'); }
check "the same as commands for a shell" from_shell

# -- the description of links for Kubernetes' device plugin

# described DEVICE...: those that describe-links describes, where there are links of softmr and of rdma_rxe, and a card
described() {
	local sys=$WORK/node
	mkdir -p "$sys"/class/infiniband_verbs/uverbs{0,1,2} "$sys"/class/infiniband/{softmr0,rxe0,mlx5_0}/ports/1/hw_counters \
		"$sys/class/infiniband/mlx5_0/device"
	touch "$sys/class/infiniband/softmr0/ports/1/hw_counters/mr_dereg_refused"
	echo softmr0 >"$sys/class/infiniband_verbs/uverbs0/ibdev"
	echo rxe0 >"$sys/class/infiniband_verbs/uverbs1/ibdev"
	echo mlx5_0 >"$sys/class/infiniband_verbs/uverbs2/ibdev"
	SYSFS=$sys "$TOP/ci/kubernetes/describe-links" "$WORK/described" >/dev/null
	(cd "$WORK/described/devices" && ls -d ./*/infiniband/*)
}
check "links of other drivers are no softmr links" is "$(described)" ./0000:00:00.0/infiniband/softmr0

# -- packages that are unpacked, where nothing can be installed

# unpacked_twice: what is there after two versions of the package, one after the other; and RUN's lines
unpacked_twice() {
	local version tree=$WORK/tree
	for version in 1 2; do
		rm -rf "$tree" "$WORK/packages"
		mkdir -p "$WORK/packages" "$tree"/{DEBIAN,usr/lib/softmr/uml/provider}
		printf '%s\n' "Package: softmr-uml" "Version: $version" "Architecture: all" "Maintainer: x <x@y.invalid>" \
			"Description: x" >"$tree/DEBIAN/control"
		touch "$tree/usr/lib/softmr/uml/provider/$version" "$tree/usr/lib/softmr/uml/softmr-run"
		chmod +x "$tree/usr/lib/softmr/uml/softmr-run"
		dpkg-deb --root-owner-group -b "$tree" "$WORK/packages/softmr-uml_1_all.deb" >/dev/null || return
		XDG_CACHE_HOME=$WORK/cache parts 'is_debian() { true; }; PACKAGES='"$WORK"'/packages; unpack_packages
			cd "$CACHE/setup/usr/lib/softmr/uml/provider"; echo *; wc -l <<<"$RUN"; ls -d "$CACHE"/setup*' || return
	done
}
if command -v dpkg-deb >/dev/null; then
	check "a package replaces the one that was unpacked" is \
		"$(unpacked_twice | tail -n 3 | sed 's:.*/::' | paste -sd ' ')" "2 1 setup"
else
	skip "a package replaces the one that was unpacked" "no dpkg-deb here"
fi

# archived: RUN, where there are two archives of softmr run, a package, and archives of another machine
archived() {
	local version tree=$WORK/archive
	rm -rf "$WORK/packages"
	mkdir -p "$WORK/packages" "$tree"
	for version in 1.9.0 1.10.0; do
		mkdir -p "$tree/softmr-run-$version"
		printf '#!/bin/sh\necho %s\n' "$version" >"$tree/softmr-run-$version/softmr-run"
		chmod +x "$tree/softmr-run-$version/softmr-run"
		tar -C "$tree" -cJf "$WORK/packages/softmr-run-$version-$(uname -m).tar.xz" "softmr-run-$version"
	done
	touch "$WORK/packages/softmr-run-2.0.0-other.tar.xz"
	XDG_CACHE_HOME=$WORK/cache parts 'is_debian() { false; }; PACKAGES='"$WORK"'/packages; unpack_packages; in_guest'
}
check "of a release's files the newest archive of softmr run serves" is "$(archived)" 1.10.0
XDG_CACHE_HOME="$WORK/a b" check_error "a cache whose name has a blank does not do" \
	"a b/.*softmr-run.* has a blank.*XDG_CACHE_HOME=DIR" \
	parts 'is_debian() { false; }; PACKAGES='"$WORK"'/packages; unpack_packages'
check "a directory without one does not" gives no 'is_debian() { false; }; PACKAGES=$(mktemp -d); CACHE=$PACKAGES
	unpack_packages && echo yes || echo no; rm -r "$PACKAGES"'

check "the cache's key is the same as long as the source is" is "$("$SETUP" --cache-key)" "$("$SETUP" --cache-key)"
finish
