#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run one module of rdma-core's own test suite, unmodified, and say of each test how it ended.

pyverbs_tap.py DIR MODULE [ARGUMENT OF THE SUITE]...
Prints lines "ok|not ok|skip<TAB>test<TAB>why", and what a failed test said behind "# ".
"""
import os
import sys
import unittest
from importlib.machinery import SourceFileLoader


class Result(unittest.TestResult):
    """One line for each test, at once: a crash must not lose those before it."""

    @staticmethod
    def say(verdict, test, why=""):
        print(f"{verdict}\t{test.id().removeprefix('tests.')}\t{why}", flush=True)

    def addSuccess(self, test):
        self.say("ok", test)

    def addSkip(self, test, reason):
        self.say("skip", test, " ".join(str(reason).split()))

    def addFailure(self, test, err):
        self.say("not ok", test)
        print("\n".join("# " + line for line in self._exc_info_to_string(err, test).splitlines()))

    addError = addFailure


def main():
    directory, module = sys.argv[1:3]
    sys.argv[1:] = sys.argv[3:]
    sys.path.insert(0, directory)
    os.chdir(directory)
    from args_parser import parser
    SourceFileLoader("tests", os.path.join(directory, "__init__.py")).load_module()
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromName("tests." + module)
    suite.run(Result())


main()
