#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tool.sh SOFTMR LIBIBVERBS PLUGINS: what softmr prints on a machine without a device, about a made-up /sys, /proc and
# /etc (SOFTMR_ROOT), made-up programs (PATH), and firewalls in a network namespace.
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

# -- a made-up machine

# put FILE [LINE]...: write a file of that machine
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

# A machine without softmr, with a kernel and its headers
machine() {
	rm -rf "$ROOT" "$BIN"
	mkdir -p "$ROOT" "$BIN"
	put "/lib/modules/$RELEASE/build/Makefile"
	put /proc/net/udp "  sl  local_address rem_address   st"
	put /proc/net/udp6 "  sl  local_address rem_address   st"
	put /proc/self/status "Name: x" "CapEff:	0000000000000000"
	put /etc/libibverbs.d/softmr.driver "driver softmr"
	put /etc/os-release 'PRETTY_NAME="Debian"' "ID=debian"
	program modinfo 1
	program nft 0 '{"nftables": []}'
}

softmr() { SOFTMR_ROOT=$ROOT PATH=$BIN:$PATH "$SOFTMR" "$@"; }

# -- output
status_is() { is "$(json "$1" softmr status --json)" "$2"; }

echo "TAP version 13"

# -- the command line

check "--version says what VERSION does" is "$("$SOFTMR" --version)" "softmr $(<"$TOP/VERSION")" softmr
check "--help names the commands" grep -q "doctor" <("$SOFTMR" --help)
for command in status doctor link; do
	check "$command --help" grep -q "^Usage: softmr $command" <("$SOFTMR" "$command" --help)
	check_error "$command takes no other option" "unrecognized option" "$SOFTMR" "$command" --nonsense
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
cp "$SOFTMR" "$BIN/softmr"
program softmr-capture 0 "this is softmr-capture"
check "softmr capture is the softmr-capture beside it" is "$("$BIN/softmr" capture)" "this is softmr-capture"
# shellcheck disable=SC2016 # expanded by the program
printf '#!/bin/sh\necho "$@"\n' >"$BIN/softmr-run"
chmod +x "$BIN/softmr-run"
check "softmr run hands its arguments on" is "$("$BIN/softmr" run --nodes 2 -- true)" "--nodes 2 -- true"
rm "$BIN/softmr-run"
no_runner() { check_error "$1" "cannot run softmr-run.*$2" env SOFTMR_ROOT="$ROOT" PATH="$BIN" "$BIN/softmr" run true; }
# e_machine of an ELF file: EM_X86_64, which x32 has, too
if [ "$(od -An -tx1 -j 18 -N 2 "$SOFTMR" | tr -d ' ')" = 3e00 ]; then
	no_runner "a message names the package that has the program" "apt-get install softmr-uml"
	put /etc/os-release ID=fedora
	no_runner "there is no RPM of it" "scripts/build.sh run"
	put /etc/os-release ID=debian
else
	no_runner "a message says that there is no guest for this machine" "an x86-64 machine; there is no guest for this one"
fi

# -- module

check "nothing is installed" says module problem "not installed for this kernel.*install softmr-dkms" softmr
check "doctor's exit status is 1 then" not softmr doctor
mkdir -p "$ROOT/var/lib/dkms/softmr"
check "DKMS has it, but has not built it" says module problem "has not built it.*dkms autoinstall -k" softmr
put /usr/src/softmr-1.0.0/dkms.conf 'PACKAGE_NAME="softmr"' 'BUILD_EXCLUSIVE_CONFIG="CONFIG_INET CONFIG_CRC32"'
put "/lib/modules/$RELEASE/build/.config" "#" CONFIG_INET=y CONFIG_CRC32=m
check "... not for want of an option" says module problem "has not built it" softmr
put "/lib/modules/$RELEASE/build/.config" "#" CONFIG_INET=y "# CONFIG_CRC32 is not set"
check "DKMS leaves out a kernel without an option" says module problem "leaves softmr out.*without CONFIG_CRC32; boot another kernel; None" softmr
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

# -- what to install, on each distribution

# names_packages FAMILY: doctor names packages of softmr, all of which FAMILY (deb or rpm) has
names_packages() {
	local name names
	names=$(softmr doctor | sed -nE 's/.*do: (apt-get|dnf|zypper) (re)?install (--[a-z]+ )?//p' | tr ' ' '\n' | grep softmr)
	[ -n "$names" ] || return
	for name in $names; do
		if [ "$1" = deb ]; then
			grep -x "Package: $name" "$TOP/debian/control"
		else
			sed -nE 's/^%package (-n )?/\1/p' "$TOP/packaging/softmr.spec.in" | sed -E 's/^-n //; t; s/^/softmr-/' | grep -x "$name"
		fi || { echo "there is no package $name"; return 1; }
	done
}

for id in debian fedora opensuse-leap rocky; do
	machine
	rm "$ROOT/etc/libibverbs.d/softmr.driver"
	case $id in
	opensuse-leap) put /etc/os-release "ID=\"$id\"" 'ID_LIKE="suse opensuse"' ;;
	rocky) put /etc/os-release "ID=\"$id\"" 'ID_LIKE="rhel centos fedora"' ;;
	*) put /etc/os-release "ID=$id" ;;
	esac
	check "$id: there are the packages that doctor names" names_packages "$([ $id = debian ] && echo deb || echo rpm)"
done
check "Rocky has dnf" says module problem "dnf install softmr-dkms" softmr
put /etc/os-release "ID=opensuse-leap" 'ID_LIKE="suse opensuse"'
rm -r "$ROOT/lib/modules/$RELEASE/build"
check "openSUSE has zypper" says module problem "zypper install softmr-dkms" softmr
check "... and names the headers by the kernel's flavour" says headers problem "zypper install kernel-${RELEASE##*-}-devel" softmr
put /etc/os-release "ID=arch"
check "where there are no packages, softmr's source is named" says module problem "make install .in softmr's source" softmr
check "... and no other distribution's command" not grep -E "apt-get|dnf|zypper" <(softmr doctor)
put /etc/os-release 'ID=other' 'VARIANT="not like fedora or suse"'
check "only ID and ID_LIKE count" says module problem "make install" softmr

# -- findings that are ok

nothing_to_do() { ! softmr doctor | grep -A1 "^ok " | grep " do: "; }
machine
check "what is ok comes without a command to type" nothing_to_do

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
# the test may not be allowed this much
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
plugin fits libsoftmr.so.1.2.3.4
check "a provider that fits" says provider ok "provider interface $abi.* can use the provider" with_lib
check "status says so" provider_is fits true softmr
check "the version of the provider" provider_is version 2.3.4
plugin fits libsoftmr.so.1.2.3.4 $((abi + 1))
check "one for another interface" says provider problem "there is libsoftmr-rdmav$((abi + 1)).so, but this libibverbs loads" with_lib
plugin declines libsoftmr.so.1.2.3.4
check "one that declines" says provider problem "it declines: softmr: built for another libibverbs" with_lib
check "status says so" provider_is fits false softmr
plugin crashes libsoftmr.so.1.2.3.4
check "one that crashes" says provider problem "dies of signal 11" with_lib
: >"$WORK/lib/libsoftmr.so.1.2.3.4"
check "one that is no library" says provider problem "cannot be loaded" with_lib
plugin fits libsoftmr.so.1.2.3.4
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

# -- firewalls: rules of nftables, in a namespace of our own

# shellcheck disable=SC2016 # expanded by the inner shell
behind() { SOFTMR_ROOT=$ROOT PATH=$BIN:$PATH unshare -n bash -c 'nft -f - <<<"$1" && exec "${@:2}"' sh "$RULES" "$SOFTMR" "$@"; }

# rules DESCRIPTION LEVEL TEXT RULES
rules() {
	RULES=$4
	check "$1" says firewall "$2" "$3" behind
}

# firewall DESCRIPTION LEVEL TEXT RULE...: in a chain of input
firewall() {
	rules "$1" "$2" "$3" "table inet filter {
		set ports { type inet_service; elements = { 22, 4791 }; }
		set others { type inet_service; elements = { 14791 }; }
		chain sub { tcp dport @others accept; }
		chain input { type filter hook input priority 0; policy ${POLICY-drop}; $4${4:+;} }
	}"
}

machine
rm "$BIN/nft"
if unshare -n nft list ruleset >"$WORK/out" 2>&1; then
	POLICY=accept firewall "a chain that accepts" ok "no nftables rule" ""
	rules "a chain that drops what is left" warning "inet f i drops what no rule accepts.*nft insert rule inet f i udp dport 4791 accept" \
		"table inet f { chain i { type filter hook input priority 0; policy drop; tcp dport 22 accept; }; }"
	rules "one that ends in such a rule" warning "ip f i drops what no rule accepts" \
		"table ip f { chain i { type filter hook input priority 0; tcp dport 22 accept; counter reject; }; }"
	rules "one of output" warning "drops what no rule accepts" "table ip6 f { chain o { type filter hook output priority 0; policy drop; }; }"
	rules "one that forwards does not matter" ok "" "table ip f { chain f { type filter hook forward priority 0; policy drop; }; }"
	rules "what a number is a part of is another port" warning "no rule names UDP port 4791" \
		"table inet f { chain i { type filter hook input priority 0; policy drop; udp dport { 14791, 47910 } accept; }; }"
	firewall "a rule that accepts the port" ok "" "udp dport 4791 accept"
	firewall "a set of ports" ok "" "meta l4proto { tcp, udp } th dport { 22, 4791 } accept"
	firewall "a named set" ok "" "udp dport @ports accept"
	POLICY=accept firewall "a rule that drops the port" problem "filter input drops UDP port 4791.*nft insert rule" "udp dport 4791 drop"
	POLICY=accept firewall "a rule that rejects it" problem "drops" "udp dport 4791 reject"
	POLICY=accept firewall "it is accepted before it is dropped" ok "" "udp dport 4791 accept; udp dport 4791 drop"
	POLICY=accept firewall "another port" ok "" "udp dport 4792 drop"
	POLICY=accept firewall "a rule that counts, logs and drops it" problem "drops UDP port 4791" \
		"meta l4proto { tcp, udp } th dport { 22, 4791 } counter log drop"
	POLICY=accept firewall "a rule for TCP" ok "" "tcp dport 4791 drop"
	POLICY=accept firewall "a rule for one peer" ok "" "ip saddr 192.0.2.1 udp dport 4791 drop"
	POLICY=accept firewall "a rule for other netdevs" ok "" 'iifname != "eth0" udp dport 4791 drop'
	POLICY=accept firewall "a rule for all other ports" ok "" "udp dport != 4791 drop"
	POLICY=accept firewall "a rule for what is too much" ok "" "udp dport 4791 limit rate over 1000/second drop"
	rules "a rule for what is forwarded" ok "" \
		"table ip f { chain f { type filter hook forward priority 0; udp dport 4791 drop; }; }"
	# as Docker 28 adds for each container
	rules "a rule for an address of a container" ok "" "table ip raw { chain PREROUTING { type filter hook prerouting priority raw;
		ip daddr 172.17.0.2 iifname != docker0 drop; }; }"
	# fail2ban's, and that of kube-proxy
	rules "rules for some peers, for marked packets" ok "" "table inet f2b { set a { type ipv4_addr; elements = { 192.0.2.1 }; }
		chain i { type filter hook input priority -1; ip saddr @a reject; meta mark 0x8000 drop; }; }"
else
	skip "firewalls" "no nftables here: $(head -n 1 "$WORK/out")"
fi
machine
program nft 1 "Operation not permitted (you must be root)"
check "rules that may not be seen" says firewall warning "Operation not permitted" softmr
program nft 1 ""
echo 'echo "src/mnl.c:64: Unable to initialize Netlink socket: Protocol not supported" >&2; exit 1' >"$BIN/nft"
sed -i '1i #!/bin/sh' "$BIN/nft"
check "a kernel without nftables" says firewall ok "the kernel has no nftables" softmr
program nft 0 'no JSON'
check "output of nft that is not JSON" says firewall warning "prints no JSON" softmr

# -- iptables, where nft is not installed

# iptables_says DESCRIPTION LEVEL TEXT RULE...: in the chains of a machine that accepts
iptables_says() {
	program iptables-save 0 "*filter" ":INPUT ${POLICY-ACCEPT} [0:0]" "${@:4}" COMMIT
	check "iptables: $1" says firewall "$2" "$3" softmr
}
machine
program nft 127
program ip6tables-save 0
put /sys/module/nf_tables/refcnt 1
POLICY=DROP iptables_says "a policy that drops" warning "dropped by default.*iptables -I INPUT" \
	"-A INPUT -p tcp -m tcp --dport 4791 -j ACCEPT"
POLICY=DROP iptables_says "and a rule that accepts the port" ok "" "-A INPUT -p udp -m udp --dport 4791 -j ACCEPT"
iptables_says "a rule that drops it" problem "a rule that drops UDP port 4791" "-A INPUT -p udp -m udp --dport 4791 -j DROP"
iptables_says "rules for one peer, for what is forwarded, for TCP" ok "" \
	"-A INPUT -s 192.0.2.1/32 -p udp -m udp --dport 4791 -j DROP" \
	"-A FORWARD -p udp -m udp --dport 4791 -j DROP" "-A INPUT -p tcp -m tcp --dport 4791 -j DROP"

# -- front ends, which are asked first: the answer from nft's rules would differ

# firewalld QUERY LIST...: a running firewalld, which answers a query with the status QUERY, and lists LIST
firewalld() {
	{
		printf '#!/bin/sh\ncase "$*" in\n--state) echo running ;;\n--get-zone*) exit 2 ;;\n'
		printf '*--query-port=4791/udp*) exit %s ;;\n--list-all) printf "%%s\\n" %s ;;\n*) exit 99 ;;\nesac\n' "$1" "$(printf '%q ' "${@:2}")"
	} >"$BIN/firewall-cmd"
	chmod +x "$BIN/firewall-cmd"
}
machine
program nft 1 "nobody asks nft"
firewalld 0
check "firewalld lets it in" says firewall ok "firewalld lets UDP port 4791 in" softmr
firewalld 1 "public (active)" "  target: default" "  ports: 22/tcp"
check "firewalld does not" says firewall problem "firewalld drops UDP port 4791.*firewall-cmd --permanent --add-port=4791/udp" softmr
firewalld 1 "trusted (active)" "  target: ACCEPT"
check "firewalld's zone accepts everything" says firewall ok "firewalld lets" softmr
firewalld 1 "public (active)" "  target: default" "  rich rules:" '	rule family="ipv4" port port="4791" protocol="udp" accept'
check "a rich rule of firewalld lets it in" says firewall ok "firewalld lets" softmr
firewalld 1 "public (active)" "  target: default" "  rich rules:" '	rule family="ipv4" port port="4791" protocol="udp" drop'
check "a rich rule that drops it does not" says firewall problem "firewalld drops" softmr
firewalld 1 "public (active)" "  target: default" "  ports: 4791/tcp"
check "TCP's port of that number is another one" says firewall problem "firewalld drops" softmr
program firewall-cmd 252 "not running"
check "without firewalld the rules are read" says firewall warning "nobody asks nft" softmr
put /etc/ufw/ufw.conf "ENABLED=yes"
program ufw 0 "Status: active" "Default: deny (incoming), allow (outgoing), disabled (routed)" "" "22/tcp    ALLOW IN    Anywhere"
check "ufw drops what it does not name" says firewall warning "ufw drops.*ufw allow 4791/udp" softmr
program ufw 0 "Status: active" "Default: deny (incoming), allow (outgoing), disabled (routed)" "" "4791/udp    ALLOW IN    Anywhere"
check "ufw lets it in" says firewall ok "ufw lets" softmr
program ufw 0 "Status: active" "Default: deny (incoming), allow (outgoing), disabled (routed)" "" "4791/tcp    ALLOW IN    Anywhere"
check "ufw lets TCP in" says firewall warning "ufw drops" softmr
program ufw 0 "Status: active" "Default: allow (incoming), allow (outgoing), disabled (routed)"
check "ufw lets everything in" says firewall ok "ufw lets" softmr
program ufw 1 "ERROR: You need to be root to run this script"
check "ufw says nothing to others than root" says firewall warning "need to be root" softmr
program ufw 0 "Status: inactive"
check "without ufw the rules are read" says firewall warning "nobody asks nft" softmr

# -- links

machine
check "without RDMA there is no link" is "$(softmr link list --json | tr -d '\n')" "[]"
check "--json before the command" is "$(softmr -j link list | tr -d '\n')" "[]"
check_error "show of a link that is not there" "there is no link softmr9" softmr link show softmr9
check_error "to remove it" "there is no link softmr9" softmr link del softmr9
put /sys/module/softmr/version "$(printf 'n\377')"
check "text that is not UTF-8 is valid JSON" is "$(json module/version softmr status --json)" "nÿ"

# -- completion

machine
cp "$SOFTMR" "$BIN/softmr"
# the format of softmr-run and softmr-capture
cat >"$BIN/softmr-run" <<-'EOF'
	#!/bin/sh
	echo "  -n, --nodes N           so many"
	echo "                          --not an option"
	echo "      --each              on each"
	echo "      --rw DIR            writable"
EOF
printf '#!/bin/sh\necho "  -w, --write FILE  where to"; echo "  -h, --help        show this"\n' >"$BIN/softmr-capture"
chmod +x "$BIN"/softmr-*
mkdir -p "$WORK/there/directory"
: >"$WORK/there/program"

# completes EXPECTED WORD...: the last word is completed to EXPECTED; "files": bash completes file names
# shellcheck disable=SC2016 # expanded by the inner shell
completes() {
	is "$(cd "$WORK/there" && SOFTMR_ROOT=$ROOT PATH=$BIN:$PATH bash -c '. "$1" && shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_softmr 2>&1
		[ ${#COMPREPLY[@]} = 0 ] && complete -p "$1" | grep -q -- "-o default" && echo files || echo "${COMPREPLY[*]}"' \
		bash "$TOP/userspace/system/softmr.bash" "${@:2}")" "$1"
}

check "completion of commands" completes status softmr st
check "... of options that stand before a command" completes "--json" softmr --j
check "... of the options of softmr run, which its --help names" completes "--each --nodes --rw -n" softmr run -
check "... behind others, and their values" completes --each softmr run --nodes 2 -n 3 --rw / --e
check "... with =" completes --each softmr run --nodes = 2 --e
check "... of a directory" completes directory softmr run --rw d
check "... of a command" completes softmr-capture softmr run --nodes 2 softmr-c
check "... of a program by its path" completes files softmr run ./prog
check "... of a program's arguments" completes files softmr run --each -- ls --e
check "... of softmr-run itself" completes --nodes softmr-run --no
check "... of softmr capture's" completes "--write" softmr capture --w
check "... of the program of softmr trace" completes softmr-capture softmr trace -t softmr-c
check "... of link" completes delete softmr link dele
check "... of link add" completes netdev softmr link add softmr0 n
check "... with a type" completes softmr softmr link add softmr0 type s
check "... of doctor's options" completes --json softmr doctor --j
program softmr 0 "LINK            NETDEV" "softmr5         eth0"
check "... of links" completes softmr5 softmr capture ""
check "... of softmr link's" completes softmr5 softmr link del ""
finish
