"""Parses chains of functions that tools print, and compares two chains."""

import json
import os
import re
import subprocess
from typing import NamedTuple


class Frame(NamedTuple):
    name: str
    file: str  # "" when unknown
    line: int  # 0 when unknown


def normal_path(path):
    return "" if path in ("", "??", "?") else os.path.normpath(path.replace("//", "/"))


def place(text):
    """Parses file:line[:column], without the additions of the binutils, such as (discriminator N)."""
    text = re.sub(r" \(discriminator.*\)| \(inlined by\)", "", text.strip())
    path, numbers = text, []
    while ":" in path and (path.rsplit(":", 1)[1].isdigit() or path.endswith(":?")):
        path, number = path.rsplit(":", 1)
        numbers.insert(0, int(number) if number.isdigit() else 0)
    return normal_path(path), numbers[0] if numbers else 0


def from_json_lines(text):
    """Parses the output of llvm-symbolizer --output-style=JSON."""
    chains = []
    for line in text.splitlines():
        frames = [Frame(s["FunctionName"], normal_path(s["FileName"]), s["Line"]) for s in json.loads(line)["Symbol"]]
        # Ignores a file name without a directory: llvm-symbolizer takes it from the FILE symbol before the function's
        # symbol, and not from debug information.
        frames = [f if "/" in f.file else f._replace(file="") for f in frames]
        chains.append([f for f in frames if f.name or f.file])
    return chains


def from_address_lines(text):
    """Parses the output of addr2line -a -f -i: an address, then two lines for each function."""
    chains, name = [], None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chains.append([])
            name = None
        elif name is None:
            name = line.split(" inlined at")[0].replace(" (inlined by) ", "").removeprefix("(inlined by) ")
        else:
            frame = Frame("" if name == "??" else name, *place(line))
            if frame.name or frame.file:
                chains[-1].append(frame)
            name = None
    return chains


def from_tab_lines(text):
    """Parses an address, followed by lines of name TAB file:line:column."""
    chains = []
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chains.append([])
        elif "\t" in line:
            name, where = line.rsplit("\t", 1)
            chains[-1].append(Frame(name, *place(where)))
    return chains


class Equality:
    """Compares functions and locations. Names of one address denote the same function, because the linker folds equal
    functions, and constructors have several names."""

    def __init__(self, image):
        listing = subprocess.run(["nm", image], capture_output=True, text=True, errors="replace", check=True).stdout
        self.addresses = {}
        for line in listing.splitlines():
            parts = line.split(" ", 2)
            if len(parts) == 3 and parts[0]:
                self.addresses.setdefault(parts[2], parts[0])

    def same_function(self, a, b):
        if a.name == b.name:
            return True
        address = self.addresses.get(a.name)
        return address is not None and address == self.addresses.get(b.name)

    @staticmethod
    def same_place(a, b):
        if a.line == 0 and b.line == 0:
            return True
        ends = a.file.endswith("/" + b.file) or b.file.endswith("/" + a.file)
        return a.line == b.line and (a.file == b.file or ends)

    def figures(self, truth, chains):
        """Returns the shares of addresses with an equal result, in per cent: the outermost function, all functions, the
        location of the innermost function, and the whole chain."""
        outermost = functions = leaf = whole = 0
        for expected, found in zip(truth, chains):
            if not expected or not found:
                equal = not expected and not found
                outermost, functions, leaf, whole = (
                    n + equal for n in (outermost, functions, leaf, whole))
                continue
            names = len(expected) == len(found) and all(map(self.same_function, expected, found))
            outermost += self.same_function(expected[-1], found[-1])
            functions += names
            leaf += self.same_place(expected[0], found[0])
            whole += names and all(map(self.same_place, expected, found))
        return [100 * n / len(chains) if chains else 0.0 for n in (outermost, functions, leaf, whole)]
