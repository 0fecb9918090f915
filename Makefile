# SPDX-License-Identifier: GPL-2.0
# softmr: what a person types. The work is done by scripts/; "make help" says what there is.

SHELL := /bin/bash
.DEFAULT_GOAL := all
.PHONY: all uml demo test fuzz planted soak race coverage bench foreign contract lint docs arm64 ahead host install clean distclean help

all: ## check the host; build the guest image, and module, provider and tests in it
	@scripts/build.sh all

uml: ## build the User-Mode Linux kernel of most tests (checked), and the module for it
	@scripts/build.sh uml

demo: ## boot two guests and run ibv_rc_pingpong and ib_write_bw between them
	@scripts/demo.sh

test: ## a coffee break of tests; ALL=1 all on every bed, DAILY=1 what .ci/run does, T=name and BED=bed a part
	@scripts/run-tests.sh $(if $(ALL),-a) $(if $(DAILY),-d) $(if $(MINUTES),-m $(MINUTES)) $(if $(BED),$(patsubst %,-b %,$(BED))) $(if $(T),$(patsubst %,-t %,$(T)))

fuzz: ## fuzz the wire, the verbs and the rings on uml-checked; T=seconds, SEED=, F=fuzzer, REPLAY=log
	@scripts/fuzz.sh $(if $(T),-t $(T)) $(if $(SEED),-s $(SEED)) $(if $(F),$(patsubst %,-f %,$(F))) $(if $(REPLAY),-r $(REPLAY))

planted: ## plant bugs, which the tests that they name must find, on uml-checked; BUG=group or group/name
	@scripts/planted.sh $(BUG)

soak: ## all kinds of work at once on a bad network, on uml-checked; T=seconds, SEED=, F=test, N=times
	@scripts/soak.sh $(if $(T),-t $(T)) $(if $(SEED),-s $(SEED)) $(if $(F),-f $(F)) $(if $(N),-n $(N))

race: ## run the tests with KCSAN, which reports data races; T=name
	@scripts/run-tests.sh -b qemu-race $(if $(T),$(patsubst %,-t %,$(T)))

coverage: ## run the tests with a module that counts, and report what was not executed; T=name, DAILY=1
	@scripts/coverage.sh $(if $(DAILY),-d) $(if $(T),$(patsubst %,-t %,$(T)))

bench: ## measure softmr, rdma_rxe, siw and TCP side by side
	@scripts/bench.sh

foreign: ## run other people's suites on softmr, rdma_rxe, siw; FOREIGN=DIR, T=suite, DEVICE=device
	@FOREIGN='$(FOREIGN)' scripts/foreign.sh $(if $(T),$(patsubst %,-t %,$(T))) $(if $(DEVICE),$(patsubst %,-d %,$(DEVICE)))

contract: ## try each row of semantics.rst on softmr, rdma_rxe and siw, on User-Mode Linux
	@scripts/contract.sh

lint: ## everything that can be checked without running it
	@scripts/lint.sh

docs: ## make HTML of Documentation/ in build/docs; needs Sphinx
	@scripts/docs.sh

arm64: ## build module and provider for arm64, and boot them under QEMU
	@scripts/arm64.sh

ahead: ## compile the module against the kernels of sid and experimental: an early warning
	@scripts/ahead.sh

host: ## build softmr for this machine, as an ordinary user; KDIR=
	@scripts/install.sh --build

install: ## install that, as root, and build it first if it is not there; KDIR=, DESTDIR=
	@scripts/install.sh

uninstall: ## remove what "make install" has installed
	@scripts/install.sh --uninstall

dist: ## make a tarball of the source, in build/packages (OUT=: elsewhere)
	@scripts/package.sh dist

deb: ## make Debian packages for the release that this machine has
	@scripts/package.sh deb

rpm: ## make the same as RPMs
	@scripts/package.sh rpm

tar: ## make softmr-run-VERSION-x86_64.tar.xz: "softmr run" for any Linux, to be unpacked anywhere
	@scripts/package.sh tar

release: ## make the files of a release, each twice, and compare; as root; P=part: source dkms deb rpm tar
	@scripts/release.sh $(P)

clean: ## remove what was built here (the caches stay)
	rm -rf build

distclean: clean ## remove the caches too: the guest image and the UML kernels
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/softmr"

help: ## show this
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Beds for BED=: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-rt uml-checked uml qemu-race host"
	@echo "By hand: scripts/qemu-boot.sh --help, scripts/uml-boot.sh --help"
