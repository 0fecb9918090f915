#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# what: blktests: the groups nvme (with rdma) and srp
# bed: qemu
# packages: fio nvme-cli multipath-tools udev util-linux-extra jq bc e2fsprogs xfsprogs
# foreign: blktests/check
# get: github.com/linux-blktests/blktests, made in DIR/blktests (make)
# timeout: 1800
# shellcheck disable=SC2016,SC2317 # what "check" calls looks unreachable; $() is to be in the file
# shellcheck source=selftests/lib/foreign.sh
. "$(dirname "$0")/../lib/foreign.sh"

# It makes its own links, of type rxe if told so. It looks for modules below kernel/ only, where not all of the guest's are
driver_for() {
	cp -r "$FOREIGN/blktests" "$WORK/blktests" &&
		sed -i 's,^\(\tlibpath="/lib/modules/$(uname -r)\)/kernel"$,\1",' "$WORK/blktests/common/rc" &&
		grep -rlE 'rdma_rxe|\brxe\b' "$WORK/blktests/common" "$WORK/blktests/tests" | xargs sed -i -E \
			"s/\\<rdma_rxe\\>/$LINK_MODULE/g; s/type=rxe/type=$LINK_TYPE/; s/type rxe/type $LINK_TYPE/g"
}

# results: "nvme/003 (tr=rdma) (what it is about)   [passed]"; of what was not run the reasons follow, of what failed the
# difference. A group that cannot run is "srp/***"
results() {
	awk '
		function end() { if (word == "not run") print "skip\t" name "\t" why; word = why = "" }
		/^[a-z]+\// && match($0, /\[(passed|failed|not run)\]/) {
			end()
			word = substr($0, RSTART + 1, RLENGTH - 2)
			name = substr($0, 1, RSTART - 1)
			sub(/ +$/, "", name)
			if (word != "not run") print (word == "passed" ? "ok" : "not ok") "\t" name "\t"
			next
		}
		word == "not run" && /^ / { sub(/^ +/, ""); why = why (why == "" ? "" : "; ") $0 }
		word == "failed" && /^ / { print }
		END { end() }'
}

# The tests of srp wait for links of /dev/disk, which udev makes. Names of network devices stay as they are
start_udev() {
	local name
	mkdir -p /etc/udev/rules.d
	for name in 75-net-description 80-net-setup-link; do
		ln -sf /dev/null "/etc/udev/rules.d/$name.rules" || return
	done
	/usr/lib/systemd/systemd-udevd --daemon && udevadm trigger && udevadm settle --timeout=60
}

need_link_type "$LINK_TYPE"
[ -z "$LOSS" ] || skip_all "it makes its own links, which lose nothing"
setup_ok "blktests with links of type $LINK_TYPE" driver_for || finish
setup_ok "udev starts" start_udev || finish
# What it finds loaded it leaves loaded. A loop device that is made when it is asked for may not have its node yet; and the
# SCSI core, when it is loaded again, calls its first host 0 again, whose names may still be taken
modprobe -q loop max_loop=8
modprobe -aq sd_mod sg
cd "$WORK/blktests" || exit
export NVMET_TRTYPES=rdma USE_RXE=1 NVME_IMG_SIZE=64M nvme_num_iter=10 TIMEOUT=60
limited 580 ./check -q nvme srp >"$WORK/blktests.out" 2>&1
status=$?
verdicts < <(results <"$WORK/blktests.out")
case $status in 0 | 1) ;; *) tail -n 20 "$WORK/blktests.out" >"$WORK/out"; not_ok "check came to its end (status $status)" "$WORK/out" ;; esac
finish
