"""The tools with which the symbol cache is compared. Each tool runs in a separate process."""

import base64
import json
import os
import struct
import subprocess
import tempfile
import time
from typing import Callable, NamedTuple

import chains


class Run(NamedTuple):
    output: str
    cpu_s: float
    wall_s: float
    peak_mb: float


def run(command, text="", statuses=(0,)):
    """Runs a command to its end. GNU time measures the peak memory, because for a direct child the kernel reports
    at least the memory of this process."""
    with tempfile.NamedTemporaryFile("w+") as given, tempfile.NamedTemporaryFile("w+") as taken, \
            tempfile.NamedTemporaryFile("r") as peak:
        given.write(text)
        given.seek(0)
        start = time.monotonic()
        child = subprocess.Popen(
            ["time", "-q", "-f", "%M", "-o", peak.name, *command], stdin=given, stdout=taken, stderr=subprocess.DEVNULL,
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        if child.returncode not in statuses:
            raise SystemExit(f"{command[0]} ended with status {child.returncode}")
        taken.seek(0)
        return Run(taken.read(), usage.ru_utime + usage.ru_stime, wall, int(peak.read()) / 1024)


def lines(addresses):
    return "".join(f"{a:#x}\n" for a in addresses)


class Tool(NamedTuple):
    name: str
    run: Callable  # addresses -> Run
    parse: Callable  # text -> chains
    limit: int  # number of addresses, because some tools would take an hour for all


def runtime_json(image, build_id, addresses):
    """Returns a backtrace for Swift's Runtime module, with the image at 4 GiB and each address as an exact pc."""
    base = 1 << 32
    size = os.path.getsize(image)
    words = [struct.pack(">Bq", 0x1F, base + a) for a in addresses]
    backtrace = b"\x02" + b"".join(words) + b"\x00"
    path = b""
    text = image.encode()
    for start in range(0, len(text), 63):
        path += bytes([len(text[start:start + 63])]) + text[start:start + 63]
    platform = b"Linux"
    image_map = (
        b"\x02" + bytes([len(platform)]) + platform + b"\x01" + bytes([7 << 3 | 7])
        + struct.pack(">qq", base, size) + bytes([len(build_id)]) + build_id + path + b"\x00")
    encoded = {name: base64.b64encode(data).decode() for name, data in
               (("backtrace", backtrace), ("imageMap", image_map))}
    return json.dumps({"architecture": "x86_64", **encoded})


SYMCACHE = """
import sys
from symbolic.symcache import SymCache
cache = SymCache.open(sys.argv[1])
for line in sys.stdin:
    print(line.strip())
    for place in cache.lookup(int(line, 16)):
        print(f"{place.symbol}\\t{place.full_path or '??'}:{place.line}:0")
"""

SYMCACHE_BUILD = """
import sys
from symbolic.debuginfo import Archive
cache = Archive.open(sys.argv[1]).get_object(arch="x86_64").make_symcache()
with open(sys.argv[2], "wb") as file:
    cache.dump_into(file)
"""


def build_id(image):
    notes = subprocess.run(["readelf", "-n", image], capture_output=True, text=True, check=True).stdout
    return bytes.fromhex(notes.split("Build ID:")[1].split()[0])


def others(image, symbolizer, runtime, python, symcache):
    """Returns the tools for the comparison. For slow tools, `limit` is the maximum number of addresses."""
    def addr2line(program, statuses=(0,)):
        return lambda addresses: run([program, "-a", "-f", "-i", "-e", image], lines(addresses), statuses)

    identity = build_id(image)
    return [
        Tool("llvm-symbolizer", lambda addresses: run(
            [symbolizer, f"--obj={image}", "--no-demangle", "--output-style=JSON"], lines(addresses)),
            chains.from_json_lines, 5000),
        Tool("addr2line", addr2line("addr2line"), chains.from_address_lines, 5000),
        # Status 1 is accepted, because eu-addr2line exits with 1 if an address is unknown.
        Tool("eu-addr2line", addr2line("eu-addr2line", (0, 1)), chains.from_address_lines, 500),
        Tool("Swift Runtime", lambda addresses: run([runtime], runtime_json(image, identity, addresses)),
             chains.from_tab_lines, 100),
        Tool("symbolic", lambda addresses: run([python, "-c", SYMCACHE, symcache], lines(addresses)),
             chains.from_tab_lines, 5000),
    ]
