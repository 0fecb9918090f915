#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run rdma-core's own test suite, unmodified, and say of each test how it ended.

pyverbs_tap.py DIR SECONDS MODULE... [-- ARGUMENT OF THE SUITE...]
Each module has a process of its own, and SECONDS. These are forked from one that has imported them all, which takes
longer than most of them run. Prints lines "ok|not ok|skip<TAB>test<TAB>why", one of them for each module's end, and
what a failed test said behind "# ".
"""
import errno
import functools
import multiprocessing
import os
import signal
import sys
import time
import unittest
from importlib.machinery import SourceFileLoader


def say(verdict, what, why=""):
    print(f"{verdict}\t{what}\t{why}", flush=True)


class Result(unittest.TestResult):
    """One line for each test, at once: a crash must not lose those before it."""

    @staticmethod
    def name(test):
        return test.id().removeprefix("tests.")

    def addSuccess(self, test):
        say("ok", self.name(test))

    def addSkip(self, test, reason):
        say("skip", self.name(test), " ".join(str(reason).split()))

    def addFailure(self, test, err):
        say("not ok", self.name(test))
        for line in self._exc_info_to_string(err, test).splitlines():
            print("#", line)

    def addError(self, test, err):
        # most of the suite asks first, or skips then; where it does not ask, this error still means that the device
        # lacks the feature
        if getattr(err[1], "error_code", None) in (errno.EOPNOTSUPP, errno.EPROTONOSUPPORT):
            self.addSkip(test, f"it did not expect: {err[1]}")
        else:
            self.addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(subtest, err)


def run_module(module, seconds):
    signal.alarm(seconds)
    result = Result()
    unittest.defaultTestLoader.loadTestsFromName("tests." + module).run(result)
    sys.exit(0 if result.testsRun else "there are no tests in " + module)


def run_apart(module, seconds):
    start = time.monotonic()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        run_module(module, seconds)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"# {module}: {time.monotonic() - start:.1f} s, exit status {status}")
    say("not ok" if status else "ok", f"{module} came to its end")


def prepare():
    """What each test would do anew, and slowly, though it gives the same each time."""
    from pyverbs.device import get_device_list
    from tests.base import RDMATestCase
    # libibverbs loads its plug-ins
    get_device_list()
    # one process each, to get the netdev and its address
    for name in "get_net_name", "get_ip_mac_address":
        setattr(RDMATestCase, name, staticmethod(functools.cache(getattr(RDMATestCase, name))))


def main():
    options = sys.argv.index("--")
    directory, seconds, *modules = sys.argv[1:options]
    sys.argv[1:] = sys.argv[options + 1:]
    sys.path.insert(0, directory)
    os.chdir(directory)
    from args_parser import parser
    SourceFileLoader("tests", os.path.join(directory, "__init__.py")).load_module()
    parser.parse_args()
    # the suite counts on it; Python 3.14 has another default, which cannot take the suite's local functions
    multiprocessing.set_start_method("fork")
    prepare()
    for module in modules:
        run_apart(module, int(seconds))


main()
