#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the commands of a page and compare what they print: guide.py [--list] PAGE [SECTION]

Prints TAP: a result for each literal block of PAGE, or of one of its sections. A comment in front of a block, which readers
do not see, says what it is:

    .. run                  commands, run by a shell that goes on from block to block
    .. not run: REASON      it needs what a guest has not; the reasons are counted
    .. file: PATH           the contents of that file, which is written
    .. from: FILE           an excerpt of that file of the tree
    .. output: COMMAND      what that command prints, or a part of it
    .. before: COMMAND      is run first, and not shown; "after" likewise
    .. varies: REGEX        what matches is not compared
    .. needs: WHAT...       until the next section: a program, module:NAME, or a file; without it, blocks are skipped

A block without a mark is a failure. A block whose first line begins with "$ " or "# " is a transcript: what is behind a
command up to the next one is its output. Of any other block each line is a command, which has to succeed. README has no
marks: the transcripts of its SECTION are run.

Times, process ids, keys, addresses, numbers of queue pairs and numbers with a point differ from run to run and are not
compared, nor are the widths of columns. A line "[...]" stands for any lines, and "[...]" in a line for any part of it. A line
of output that ends with a backslash goes on in the next one.
"""
import difflib
import os
import re
import selectors
import subprocess
import sys
import time

# A command may take this long on a quiet machine; PATIENCE is that of tap.sh
LIMIT, PATIENCE = 60, 3

PROMPT = re.compile(r"[$#] (?=\S)")
MARK = re.compile(r"\.\. (run|not run|file|from|output|before|after|varies|needs)(?:: (.*))?$")
UNDERLINE = re.compile(r"([=\-~])\1{2,}$")
# What differs from run to run
MASKS = (
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"\[\d+\]"), "[PID]"),
    (re.compile(r"\bpid([= ])\d+"), r"pid\1N"),
    (re.compile(r"\b(QPN?|PSN) (0x)?[0-9a-f]+"), r"\1 N"),
    (re.compile(r"\b0x[0-9a-f]{5,16}\b"), "0xN"),
    (re.compile(r"(?<![\d.])\d+\.\d+(?![\d.])"), "N.N"),
    (re.compile(r"\b\d+ ms before\b"), "N ms before"),
    (re.compile(r"[ \t]+"), " "),
)


class Block:
    def __init__(self, number, marks):
        self.number, self.marks, self.lines = number, marks, []

    @property
    def kind(self):
        return next((k for k in ("run", "not run", "file", "from", "output") if k in self.marks), None)

    def mark(self, name):
        return (self.marks.get(name) or [""])[-1]

    def transcript(self):
        return bool(PROMPT.match(self.lines[0]))

    def commands(self):
        """Pairs of a command and its output; the output is None if the page does not show any."""
        if not self.transcript():
            text = ""
            for line in self.lines:
                text += line + "\n"
                if not text.endswith("\\\n") and complete(text):
                    if text.strip():
                        yield text.rstrip("\n"), None
                    text = ""
            if text:
                yield text, None
            return
        command, output = None, []
        for line in self.lines:
            if command is not None and not output and (command.endswith("\\") or not complete(command)):
                command += "\n" + line
            elif PROMPT.match(line):
                if command is not None:
                    yield command, output
                command, output = line[2:], []
            else:
                output.append(line)
        yield command, output

    def name(self):
        first = self.lines[0]
        first = PROMPT.sub("", first, count=1) if self.transcript() else first
        return re.sub(r"  +#.*| *\\$", "", first).replace("#", "").strip()[:70]


def complete(text):
    return subprocess.run(["bash", "-n", "-c", text], capture_output=True).returncode == 0


def indent(line):
    return len(line) - len(line.lstrip())


def in_section(lines, section):
    """The lines of one section, with their numbers."""
    inside = not section
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and UNDERLINE.match(lines[i + 1]) and line.strip() and not UNDERLINE.match(line):
            inside = not section or line == section
            if inside:
                yield i, None
        if inside:
            yield i, line


def parse(path, section):
    """The blocks of a page."""
    with open(path, encoding="utf-8") as page:
        lines = page.read().split("\n")
    rst = path.endswith(".rst")
    blocks, marks, needs, margin, block = [], {}, [], None, None
    before = ""
    for i, line in in_section(lines, section):
        if line is None:
            needs, block, margin = [], None, None
            continue
        if block is not None or margin is not None:
            if not line.strip():
                if block:
                    block.lines.append("")
                continue
            if indent(line) > margin:
                if not block:
                    block = Block(i + 1, marks)
                    block.needs = needs
                    blocks.append(block)
                    marks = {}
                    block.indent = indent(line)
                block.lines.append(line[block.indent:].rstrip())
                continue
            block = margin = None
        if not rst:
            # README: what is indented behind an empty line and begins with a prompt
            if not before.strip() and line.startswith("    $ "):
                block, margin = Block(i + 1, {"run": [""]}), 0
                block.needs, block.indent = [], 4
                block.lines.append(line[4:])
                blocks.append(block)
            before = line
            continue
        mark = MARK.match(line.strip())
        if mark and mark[1] == "needs":
            needs = mark[2].split()
        elif mark:
            marks.setdefault(mark[1], []).append(mark[2] or "")
        elif line.rstrip().endswith("::") and not line.lstrip().startswith(".. "):
            margin = indent(line)
    for block in blocks:
        while block.lines and not block.lines[-1]:
            block.lines.pop()
    return blocks


def masked(lines, varies):
    out = []
    for line in lines:
        for pattern in varies:
            line = re.sub(pattern, "VARIES", line)
        for pattern, name in MASKS:
            line = pattern.sub(name, line)
        out.append(line.rstrip())
    while out and not out[-1]:
        out.pop()
    return out


def unwrapped(lines):
    """Lines of the page, where one that ends with a backslash goes on in the next one."""
    return re.sub(r"\\\n\s*", "", "\n".join(lines)).split("\n")


def same(page, real):
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "[...]" else
                      ".*".join(map(re.escape, line.split("[...]"))) + "\n" for line in page)
    return re.fullmatch(pattern, "".join(line + "\n" for line in real))


def contains(lines, part):
    """The lines have these in them, one behind the other; blanks and tabs are alike."""
    lines, part = ([re.sub(r"\s+", " ", line.strip()) for line in text if line.strip()] for text in (lines, part))
    return any(lines[i:i + len(part)] == part for i in range(len(lines)))


class Shell:
    """A shell that commands are given to, one by one."""
    END = "@@end of a command"

    def __init__(self):
        self.start()

    def start(self):
        self.bash = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, start_new_session=True)
        os.set_blocking(self.bash.stdout.fileno(), False)
        self.wait = selectors.DefaultSelector()
        self.wait.register(self.bash.stdout, selectors.EVENT_READ)

    def run(self, command):
        """Its status and the lines of its output; the status is None if it does not end."""
        text = f"{{\n{command}\n}} </dev/null\nprintf '\\n{self.END} %d\\n' $?\n"
        self.bash.stdin.write(text.encode())
        self.bash.stdin.flush()
        data, end = b"", time.monotonic() + LIMIT * PATIENCE
        while True:
            found = re.search(rf"\n{self.END} (\d+)\n".encode(), data)
            if found:
                return int(found[1]), data[:found.start()].decode(errors="replace").split("\n")
            more = b""
            if self.wait.select(max(0, end - time.monotonic())):
                more = self.bash.stdout.read() or b""
            if not more:
                os.killpg(self.bash.pid, 9)
                self.bash.wait()
                self.start()
                return None, data.decode(errors="replace").split("\n")
            data += more


class Runner:
    def __init__(self, path):
        self.page, self.count, self.failed = os.path.basename(path), 0, 0
        self.shell, self.reasons = Shell(), {}
        self.ran = 0

    def result(self, good, name, why=(), skip=None):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} {self.page}: {name}" + (f" # SKIP {skip}" if skip else ""))
        for line in why:
            print(f"# {line}")
        sys.stdout.flush()

    def missing(self, block):
        """What the block needs, and this guest does not have."""
        for need in block.needs:
            if need.startswith("module:"):
                have = f"modprobe -q {need[7:]}"
            else:
                have = f"test -e {need}" if need.startswith("/") else f"command -v {need}"
            if self.shell.run(have)[0] != 0:
                return need.replace("module:", "module ")
        return None

    def compare(self, block, command, output, real):
        varies = block.marks.get("varies", [])
        page, real = masked(unwrapped(output), varies), masked(real, varies)
        if same(page, real):
            return []
        return [f"the output of \"{command}\" is not the page's:",
                *difflib.unified_diff(page, real, "the page", "this guest", lineterm="", n=1)]

    def hidden(self, block, mark):
        """Commands that the page does not show: what went wrong."""
        why = []
        for command in block.marks.get(mark, []):
            status, real = self.shell.run(command)
            if status != 0:
                why += [f"{mark} it \"{command}\" ended with {status}", *real]
        return why

    def run(self, block):
        why = self.hidden(block, "before")
        for command, output in block.commands():
            status, real = self.shell.run(command)
            if status != 0:
                why += [f"\"{command}\" " + (f"ended with {status}" if status else "does not end"), *real[-20:]]
            elif output is not None:
                why += self.compare(block, command, output, real)
        why += self.hidden(block, "after")
        self.ran += 1
        self.result(not why, block.name(), why)

    def write(self, block):
        os.makedirs(os.path.dirname(block.mark("file")), exist_ok=True)
        with open(block.mark("file"), "w", encoding="utf-8") as file:
            file.write("\n".join(block.lines) + "\n")
        self.result(True, block.mark("file"))

    def excerpt(self, block):
        with open(block.mark("from"), encoding="utf-8") as file:
            found = contains(file.read().split("\n"), block.lines)
        self.result(found, f"an excerpt of {block.mark('from')}: {block.name()}", [] if found else ["the file has other lines"])

    def output(self, block):
        varies, why = block.marks.get("varies", []), self.hidden(block, "before")
        status, real = self.shell.run(block.mark("output"))
        if status != 0 or not contains(masked(real, varies), masked(block.lines, varies)):
            why += [f"its status is {status}", *real[-20:]]
        why += self.hidden(block, "after")
        self.result(not why, f"{block.mark('output')}: {block.name()}", why)

    def one(self, block):
        lacks = block.kind in ("run", "file", "output") and self.missing(block)
        if block.kind is None:
            self.result(False, block.name(), [f"line {block.number}: nothing says whether it is run"])
        elif block.kind == "not run":
            self.reasons.setdefault(block.mark("not run"), []).append(block)
            if not block.mark("not run"):
                self.result(False, block.name(), ["there is no reason why it is not run"])
        elif lacks:
            self.result(True, block.name(), skip=f"there is no {lacks}")
        else:
            {"run": self.run, "file": self.write, "from": self.excerpt, "output": self.output}[block.kind](block)

    def all(self, blocks):
        for block in blocks:
            self.one(block)
        print(f"# {self.page}: {self.ran} blocks were run")
        for reason, those in sorted(self.reasons.items()):
            print(f"# {self.page}: {len(those)} not run: {reason}")
        if not blocks:
            self.result(False, "there is no block")
        print(f"1..{self.count}")
        return self.failed != 0


def main(arguments):
    listing = arguments[:1] == ["--list"]
    arguments = arguments[listing:]
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    blocks = parse(arguments[0], arguments[1] if arguments[1:] else None)
    if listing:
        for block in blocks:
            print(f"{arguments[0]}:{block.number}: {block.kind}: {block.name()}")
        return 0
    return Runner(arguments[0]).all(blocks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
