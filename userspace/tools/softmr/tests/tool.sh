#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tool.sh SOFTMR LIBIBVERBS PLUGINS: what softmr says where there is no device: of a /sys, /proc and /etc of our own
# (SOFTMR_ROOT), of programs of our own (PATH), and of firewalls in a network namespace.
# shellcheck disable=SC2317 # what "check" calls looks unreachable
TOP=$(cd "$(dirname "$0")/../../../.." && pwd)
# shellcheck source=selftests/lib/tap.sh
. "$TOP/selftests/lib/tap.sh"
# shellcheck source=selftests/lib/tool.sh
. "$TOP/selftests/lib/tool.sh"

SOFTMR=$1 LIBIBVERBS=$(realpath "$2") PLUGINS=$3
RELEASE=$(uname -r)
ROOT=$WORK/root BIN=$WORK/bin
mkdir -p "$ROOT" "$BIN"

# -- a machine of our own

# put FILE [LINE]...: in it
put() {
	mkdir -p "$ROOT${1%/*}"
	printf '%s\n' "${@:2}" >"$ROOT$1"
}

# program NAME STATUS [LINE]...: a program that prints them and exits
program() {
	{
		echo "#!/bin/sh"
		[ $# = 2 ] || printf "echo '%s'\n" "${@:3}"
		echo "exit $2"
	} >"$BIN/$1"
	chmod +x "$BIN/$1"
}

# A machine with nothing on it, on which a kernel has its headers
machine() {
	rm -rf "$ROOT" "$BIN"
	mkdir -p "$ROOT" "$BIN"
	put "/lib/modules/$RELEASE/build/Makefile"
	put /proc/net/udp "  sl  local_address rem_address   st"
	put /proc/net/udp6 "  sl  local_address rem_address   st"
	put /proc/self/status "Name: x" "CapEff:	0000000000000000"
	put /etc/libibverbs.d/softmr.driver "driver softmr"
	program modinfo 1
	program nft 0 '{"nftables": []}'
}

softmr() { SOFTMR_ROOT=$ROOT PATH=$BIN:$PATH "$SOFTMR" "$@"; }

# -- what it says
status_is() { is "$(json "$1" softmr status --json)" "$2"; }

echo "TAP version 13"

# -- the command line

check "--version says what VERSION does" is "$("$SOFTMR" --version)" "softmr $(<"$TOP/VERSION")" softmr
check "--help names the commands" grep -q "doctor" <("$SOFTMR" --help)
for command in status doctor link; do
	check "$command --help" grep -q "^Usage: softmr $command" <("$SOFTMR" "$command" --help)
	check_error "$command takes no other option" "no such option|has no option" "$SOFTMR" "$command" --nonsense
done
check_error "no other command" "there is no command 'nonsense'" "$SOFTMR" nonsense
status=0
"$SOFTMR" nonsense 2>/dev/null || status=$?
check "a wrong command line: exit status 2" is "$status" 2
machine
check_error "add without a netdev" "add needs: NAME netdev NETDEV" softmr link add x
check_error "add of another type" "only links of type softmr" softmr link add x type rxe netdev lo
check_error "a name with a pattern" "must not have" softmr link add x%d netdev lo
check_error "a name that is too long" "longer than 63" softmr link add "$(printf 'x%.0s' {1..64})" netdev lo
check_error "a netdev with a slash" "cannot be the name of a netdev" softmr link add x netdev a/b
check_error "del without a name" "del needs: NAME" softmr link del
check_error "up-configured without a netdev" "needs: NETDEV, or --all" softmr link up-configured
cp "$SOFTMR" "$BIN/softmr"
program softmr-mr 0 "this is softmr-mr"
check "softmr mr is the softmr-mr beside it" is "$("$BIN/softmr" mr)" "this is softmr-mr"
# shellcheck disable=SC2016 # expanded by the program
printf '#!/bin/sh\necho "$@"\n' >"$BIN/softmr-run"
chmod +x "$BIN/softmr-run"
check "softmr run hands its arguments on" is "$("$BIN/softmr" run --nodes 2 -- true)" "--nodes 2 -- true"
rm "$BIN/softmr-run"
check_error "a message names the package that has the program" "cannot run softmr-run.*softmr-uml" env PATH="$BIN" "$BIN/softmr" run true

# -- module

check "nothing is installed" says module problem "not installed for this kernel.*install softmr-dkms" softmr
check "doctor's exit status is 1 then" not softmr doctor
put /etc/os-release "ID=fedora"
check "on Fedora that is another command" says module problem "dnf install softmr-dkms" softmr
mkdir -p "$ROOT/var/lib/dkms/softmr"
check "DKMS has it, but has not built it" says module problem "has not built it.*dkms autoinstall -k" softmr
rm -r "$ROOT/lib/modules"
check "a container without /lib/modules" says module problem "is this a container" softmr
check "a container needs no headers" says headers ok "no headers are needed" softmr

machine
program modinfo 0 "filename:       /lib/modules/softmr.ko" "version:        1.0.0" "srcversion:     AAAA"
check "the module is installed" says module ok "softmr 1.0.0 is installed" softmr
check "status says so" status_is module/file_version 1.0.0 softmr
check "status says that the module is not loaded" status_is module/loaded false
put /sys/module/softmr/version 1.0.0
put /sys/module/softmr/srcversion AAAA
check "the module is loaded" says module ok "softmr 1.0.0 is loaded" softmr
put /sys/module/softmr/srcversion BBBB
check "another build is loaded" says module warning "another build" softmr
check "status says so, too" status_is module/differs true softmr
put /sys/module/softmr/version 0.9.0
check "an older version is loaded" says module warning "version 0.9.0 is loaded, but 1.0.0 is installed.*modprobe -r softmr" softmr

rm -r "$ROOT/lib/modules/$RELEASE/build"
check "the headers are missing" says headers warning "linux-headers-$RELEASE" softmr

# -- Secure Boot

efivar=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
machine
program modinfo 0 "filename:       /lib/modules/softmr.ko" "version:        1.0.0"
check "without EFI there is no Secure Boot" says secure-boot ok "not signed" softmr
mkdir -p "$ROOT${efivar%/*}"
printf '\006\000\000\000\000' >"$ROOT$efivar"
check "Secure Boot is off" says secure-boot ok "not signed" softmr
printf '\006\000\000\000\001' >"$ROOT$efivar"
check "Secure Boot is on, and the module is not signed" says secure-boot problem "Secure Boot is on.*mokutil --import" softmr
program modinfo 0 "filename:       /lib/modules/softmr.ko" "version:        1.0.0" "signer:         DKMS key"
check "the module is signed" says secure-boot warning "signed by .*DKMS key.*mokutil --test-key" softmr
put /sys/module/softmr/version 1.0.0
check "the module is loaded" says secure-boot ok "softmr is loaded" softmr
machine
program modinfo 0 "filename:       /lib/modules/softmr.ko" "version:        1.0.0"
put /sys/kernel/security/lockdown "none [integrity] confidentiality"
check "a kernel that is locked down" says secure-boot problem "locked down" softmr

# -- the port

machine
check "nobody has the port" says port ok "is free" softmr
put /proc/net/udp "  sl  local_address rem_address   st" \
	" 99: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4242 2 00000000 0"
check "a driver has it" says port problem "a driver has UDP port 4791" softmr
mkdir -p "$ROOT/sys/module/rdma_rxe"
check "rdma_rxe has it" says port problem "rdma_rxe has UDP port 4791.*modprobe -r rdma_rxe" softmr
mkdir -p "$ROOT/proc/77/fd"
put /proc/77/comm "some daemon"
ln -s "socket:[4242]" "$ROOT/proc/77/fd/3"
check "a process has it" says port problem "process 77 .some daemon. has UDP port 4791" softmr
put /proc/net/udp "  sl  local_address rem_address   st" \
	" 99: 00000000:12B8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4242 2 00000000 0"
check "the next port does not matter" says port ok "is free" softmr

# -- memory

with_memlock() { prlimit --memlock="$1:$1" env SOFTMR_ROOT="$ROOT" PATH="$BIN:$PATH" "$SOFTMR" "${@:2}"; }
machine
check "64 KiB to lock are too few" says memlock problem "64 KiB.*memlock unlimited" with_memlock 65536
check "8 MiB are few" says memlock warning "8192 KiB" with_memlock 8388608
# more than the test may have, perhaps
if prlimit --memlock=1073741824:1073741824 true 2>/dev/null; then
	check "1 GiB will do" says memlock ok "1048576 KiB" with_memlock 1073741824
else
	skip "1 GiB will do" "the limit of this shell is lower"
fi
put /proc/self/status "Name: x" "CapEff:	0000000000004000"
check "CAP_IPC_LOCK knows no limit" says memlock ok "any amount" with_memlock 65536

# -- provider and libibverbs

PLUGIN_DIR=$WORK/lib/libibverbs
mkdir -p "$PLUGIN_DIR"
cp "$LIBIBVERBS" "$WORK/lib/"
ln -s "${LIBIBVERBS##*/}" "$WORK/lib/libibverbs.so.1"
with_lib() { LD_LIBRARY_PATH=$WORK/lib softmr "$@"; }
lib_version=$(sed -E 's/.*\.([0-9]+\.[0-9]+)$/\1/' <<<"$LIBIBVERBS")
abi=$(python3 -c 'import re, sys; print(re.search(rb"verbs_register_driver_(\d+)", open(sys.argv[1], "rb").read())[1].decode())' \
	"$LIBIBVERBS")

# plugin KIND FILE: a provider whose file has that name
plugin() {
	rm -f "$WORK"/lib/libsoftmr* "$PLUGIN_DIR"/*
	cp "$PLUGINS/$1.so" "$WORK/lib/$2"
	ln -s "../$2" "$PLUGIN_DIR/libsoftmr-rdmav${3-$abi}.so"
}
provider_is() { is "$(json "provider/$1" with_lib status --json)" "$2"; }

machine
check "the version of libibverbs" is "$(json libibverbs/version with_lib status --json)" "$lib_version"
check "there is no provider" says provider problem "there is no .*libsoftmr-rdmav$abi.so.*libsoftmr1" with_lib
plugin fits "libsoftmr.so.1.2.3.4.$lib_version"
check "a provider that fits" says provider ok "can use the provider" with_lib
check "status says so" provider_is fits true softmr
check "the version of the provider" provider_is version 2.3.4
check "the rdma-core that the provider was built for" provider_is built_for "$lib_version"
plugin fits "libsoftmr.so.1.2.3.4.$lib_version" $((abi + 1))
check "one for another interface" says provider problem "there is libsoftmr-rdmav$((abi + 1)).so, but this libibverbs loads" with_lib
plugin declines "libsoftmr.so.1.2.3.4.12.3"
check "one that declines" says provider problem "it declines: softmr: built for another libibverbs" with_lib
check "status says so" provider_is fits false softmr
plugin crashes "libsoftmr.so.1.2.3.4.12.3"
check "one that crashes" says provider problem "dies of signal 11" with_lib
: >"$WORK/lib/libsoftmr.so.1.2.3.4.12.3"
check "one that is no library" says provider problem "cannot be loaded" with_lib
plugin fits "libsoftmr.so.1.2.3.4.$lib_version"
put /etc/libibverbs.d/softmr.driver "driver $WORK/elsewhere/libsoftmr"
check "one that is named by a path, and not there" says provider problem "there is no $WORK/elsewhere/libsoftmr-rdmav$abi.so" with_lib
mkdir "$WORK/elsewhere"
cp "$PLUGINS/fits.so" "$WORK/elsewhere/libsoftmr-rdmav$abi.so"
check "one that is" provider_is file "$WORK/elsewhere/libsoftmr-rdmav$abi.so"
rm "$ROOT/etc/libibverbs.d/softmr.driver"
check "one that libibverbs is not told of" says provider problem "driver softmr" with_lib
rm "$WORK/lib/libibverbs.so.1"
: >"$WORK/lib/libibverbs.so.1"
check "a libibverbs that cannot be loaded" says provider problem "libibverbs cannot be loaded" with_lib
check "status says so" test "$(json libibverbs/file with_lib status --json)" = null

# -- firewalls, in a namespace of our own

# shellcheck disable=SC2016 # expanded by the inner shell
behind() { SOFTMR_ROOT=$ROOT unshare -n bash -c 'nft -f - <<<"$1" && exec "${@:2}"' sh "$RULES" "$SOFTMR" "$@"; }

# firewall DESCRIPTION LEVEL TEXT RULE...: in a chain of input
firewall() {
	RULES="table inet filter {
		set ports { type inet_service; flags interval; elements = { 22, 4000-5000 }; }
		chain sub { ip6 nexthdr udp accept; ip protocol udp accept; }
		chain input { type filter hook input priority 0; policy ${POLICY-drop}; $4${4:+;} }
	}"
	check "$1" says firewall "$2" "$3" behind
}

machine
rm "$BIN/nft"
if unshare -n nft list ruleset >"$WORK/out" 2>&1; then
	POLICY=accept firewall "a chain that accepts" ok "no nftables rule drops" ""
	firewall "a chain that drops" problem "inet filter input drops.*nft insert rule inet filter input udp dport 4791 accept" ""
	firewall "a rule that accepts the port" ok "" "udp dport 4791 accept"
	firewall "a set of ports" ok "" "meta l4proto { tcp, udp } th dport { 22, 4000-4999 } accept"
	firewall "a named set" ok "" "udp dport @ports accept"
	firewall "another port" problem "drops" "udp dport 4792 accept"
	firewall "all but the port" problem "drops" "udp dport != 4791 accept"
	firewall "TCP is something else" problem "drops" "tcp dport 4791 accept"
	firewall "a chain that is jumped to" ok "" "udp dport 4791 jump sub"
	firewall "a verdict map" ok "" "udp dport vmap { 53 : drop, 4791 : goto sub }"
	firewall "what is established is not new" problem "drops" "ct state established,related accept; iif lo accept"
	firewall "what is new" ok "" "ct state vmap { established : accept, new : accept }"
	firewall "some peers only" warning "may drop" "ip saddr 10.0.0.0/8 udp dport 4791 accept"
	firewall "another netdev" warning "may drop" "iifname eth5 accept"
	firewall "a rate" warning "may drop" "udp dport 4791 limit rate 5/second accept"
	firewall "IPv4 only" warning "drops UDP port 4791 over IPv6" "meta nfproto ipv4 accept"
	POLICY=accept firewall "a rule that rejects" problem "drops" "udp dport 4791 reject"
	POLICY=accept firewall "it is accepted before it is dropped" ok "" "udp dport > 4000 accept; meta l4proto udp drop"
else
	skip "firewalls" "no nftables here: $(head -n 1 "$WORK/out")"
fi
program nft 1 "Operation not permitted (you must be root)"
check "rules that may not be seen" says firewall warning "Operation not permitted" softmr
program nft 0 '{"nftables": [{"chain": {"family": "inet", "table": "firewalld", "name": "filter_INPUT", "hook": "input", "policy": "drop"}}]}'
check "firewalld has a command of its own" says firewall problem "firewall-cmd --permanent --add-port=4791/udp" softmr
program nft 1 ""
echo 'echo "src/mnl.c:64: Unable to initialize Netlink socket: Protocol not supported" >&2; exit 1' >"$BIN/nft"
sed -i '1i #!/bin/sh' "$BIN/nft"
check "a kernel without nftables" says firewall ok "the kernel has no nftables" softmr
program nft 0 'no JSON'
check "output of nft that is not JSON" says firewall warning "prints no JSON" softmr

# -- persistent links

machine
check "without RDMA there is no link" is "$(softmr link list --json | tr -d '\n')" "[]"
check "a link for later" softmr link add softmr9 netdev nosuch-1 --persistent
check "the file of the persistent link" grep -q "^name = softmr9$" "$ROOT/etc/softmr/links.d/nosuch-1"
check "the persistent link is listed" is "$(json softmr9/netdev softmr link list --json)" nosuch-1
check "the persistent link is not present" is "$(json softmr9/present softmr link list --json)" false
check "the persistent link is listed as persistent" is "$(json softmr9/persistent softmr link list --json)" true
check "an absent netdev is no error" softmr link up-configured --all
check "a netdev without a link is no error" softmr link up-configured lo
check "a path of sysfs will do" softmr link up-configured /sys/devices/virtual/net/lo
check "to remove what is not there is no error" softmr link down-configured /sys/devices/virtual/net/lo
put /etc/softmr/links.d/lo "# no name"
check_error "a file without a name" "has no line .name = LINK" softmr link up-configured lo
check "doctor sees that" says persistent problem "links.d/lo has no line" softmr
rm "$ROOT/etc/softmr/links.d/lo"
# shellcheck disable=SC2016 # that is the name
odd='a-b\x"$c;ü'
check "a netdev of an odd name" softmr link add softmr8 netdev "$odd" -p
check "the file of a netdev with an odd name" test -f "$ROOT/etc/softmr/links.d/$odd"
check "the link of a netdev with an odd name is listed" is "$(json softmr8/netdev softmr link list --json)" "$odd"
check "delete that persistent link" softmr link del softmr8 --persistent
put "/etc/softmr/links.d/$(printf 'n\377')" "name = softmr7"
check "a name that is not UTF-8 is valid JSON" is "$(json softmr7/netdev softmr link list --json)" "nÿ"
check "delete a persistent link by its name" softmr link del softmr7 --persistent
check "other persistent links stay" test -f "$ROOT/etc/softmr/links.d/nosuch-1"
check "delete the last persistent link" softmr link del softmr9 --persistent
check "no directory is left" not test -e "$ROOT/etc/softmr"
check_error "to remove it again" "there is no link softmr9" softmr link del softmr9 --persistent
finish
