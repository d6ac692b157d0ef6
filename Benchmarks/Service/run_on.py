#!/usr/bin/env python3
"""Measures how long the other threads of a process continue after the sweep of its crash.

Usage: run_on.py PROGRAM [--runs N]

PROGRAM is Benchmarks/Costs/RunOnCost/threads.c, which scripts/measure/run-on builds. Four threads write the time while
the main thread crashes, and two of them block all signals. Prints, in ms, median and maximum of a time for each kind of
thread. The time begins when a thread first detects the end of the sweep, and ends when the last thread of the kind
stops. It is 0 if no thread ran after the sweep. The shield lets a thread that is running during the sweep continue for
some ms, so that a crash of this thread is also recorded (halt.c).
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

PATIENCE_S = 60
THREADS = 4


def run(program: pathlib.Path, folder: pathlib.Path) -> tuple[float, float]:
    """Returns two times in ms: how long the threads that block all signals continued, and how long the others did."""
    file = folder / "times"
    file.unlink(missing_ok=True)
    places = {"CRASHSHIELD_SOCKET": str(folder / "none"), "CRASHSHIELD_SPOOL": str(folder / "spool")}
    status = subprocess.run([program, file], env=os.environ | places, timeout=PATIENCE_S).returncode
    if status != -signal.SIGSEGV:
        raise RuntimeError(f"{program} ended with {status}")
    words = struct.unpack(f"<{2 * THREADS}Q", file.read_bytes())
    swept, last = words[0::2], words[1::2]
    end_ns = min((word for word in swept if word != 0), default=max(last))
    return tuple(max(0, max(last[first::2]) - end_ns) / 1e6 for first in (1, 0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=51)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        taken = [run(arguments.program.resolve(), pathlib.Path(name)) for _ in range(arguments.runs)]
    for column, text in enumerate(["block all signals", "block none"]):
        values = [pair[column] for pair in taken]
        print(f"threads that {text:17} ran {statistics.median(values):6.2f} ms after the sweep, {max(values):6.2f} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
