#!/usr/bin/env python3
"""How long the other threads of a process run on after the sweep of its crash.

Usage: run_on.py PROGRAM [--runs N]

PROGRAM is Benchmarks/Costs/RunOnCost/threads.c, which scripts/measure/run-on builds: four threads write the time while the
main thread crashes; two of them block all signals. Prints, in ms, median and maximum of the time from the sweep's end to
the last time that a thread wrote: those that answered the sweep, and those that could not. Both are upper bounds: a ring
says how long the sweep took, not when it began, and the end is reckoned from the commit of the crash.
"""

import argparse
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import tempfile

from ring import PATIENCE_S, Ring

THREADS = 4


def run(program: pathlib.Path, folder: pathlib.Path) -> tuple[float, float]:
    """From the end of the sweep to the last word of a thread that blocks signals, and of one that does not, in ms."""
    file = folder / "times"
    file.unlink(missing_ok=True)
    places = {"CRASHSHIELD_SOCKET": str(folder / "none"), "CRASHSHIELD_SPOOL": str(folder / "spool")}
    process = subprocess.Popen(
        [program, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | places)
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError(f"{program} did not start")
    ring = Ring(process.pid)
    process.communicate(b"\n", PATIENCE_S)
    if process.returncode != -signal.SIGSEGV:
        raise RuntimeError(f"{program} ended with {process.returncode}")
    times = struct.unpack(f"<{THREADS}Q", file.read_bytes())
    end_ns = ring.sweep_end_ns()
    return (max(times[1::2]) - end_ns) / 1e6, (max(times[0::2]) - end_ns) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=51)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        taken = [run(arguments.program.resolve(), folder) for _ in range(arguments.runs)]
    for column, text in enumerate(["block all signals", "block none"]):
        values = [pair[column] for pair in taken]
        print(f"threads that {text:17} ran {statistics.median(values):6.2f} ms after the sweep, {max(values):6.2f} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
