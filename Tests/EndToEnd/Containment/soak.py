#!/usr/bin/env python3
"""soak.py HOST [--long]: tests many contained traps, and traps at difficult times, with containment-host.

1. Runs with many requests and with fewer traps than the budget: each trap must be answered and reported once, no
   descriptor may leak, and the memory may grow only by that of the parked threads.
2. Traps while the shield starts, while the process exits, and while it drains: no run may hang.
3. A drain with requests of random durations and with periodic jobs: the drain must not end before the requests.

The last line of the output has the figures. With `--long`, the first part runs 1,000,000 requests and 1,000 traps, the
second part 100 runs, and the third part 10,000 requests of 0 to 2 s in each mode.
"""

import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile

# The limit of the growth in memory per contained trap, in KiB. A trap parks its thread forever: the limit covers the
# thread's stack, the objects of its request, and its part of a malloc arena.
LIMIT_KIB = 300
ILLEGAL = f"signal {int(signal.SIGILL)}"


def run(host, way, mode, *options):
    """Runs containment-host once, and returns what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        # Limits the number of malloc arenas: glibc creates an arena for each of the first threads, and a parked thread
        # keeps its arena.
        places = {"CRASHSHIELD_SOCKET": f"{folder}/attach", "CRASHSHIELD_SPOOL": f"{folder}/spool",
                  "SWIFT_BACKTRACE": "enable=no", "MALLOC_ARENA_MAX": "2"}
        output = subprocess.run(["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", host, way, mode, *map(str, options)],
                                env={**os.environ, **places}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, check=True).stdout
    return json.loads([line for line in output.splitlines() if line.startswith("{")][-1])


def contain(host, is_long, failures):
    runs, requests, traps = (20, 50_000, 50) if is_long else (2, 10_000, 40)
    totals = {"requests": 0, "traps": 0}
    growth, files = 0, 0
    for _ in range(runs):
        found = run(host, "index", "contain", "--moment", "load", "--requests", requests, "--traps", traps,
                    "--budget", 200)
        totals["requests"] += found["finishedIndependent"]
        totals["traps"] += found["badTrapped"]
        growth = max(growth, (found["residentAfter"] - found["residentBefore"]) / traps)
        files = max(files, found["filesAfter"] - found["filesBefore"])
        if not found["end"] == "exit 0" or not found["badTrapped"] == found["contained"] == found["incidents"] == traps:
            failures.append(f"a trap was not contained, or not reported once: {found}")
        if found["serial"] != 0:
            failures.append(f"the pool lost a thread: {found}")
    if files > 0:
        failures.append(f"{files} descriptors leaked")
    if growth > LIMIT_KIB:
        failures.append(f"a trap cost {growth:.0f} KiB")
    return (f"{totals['requests']} requests and {totals['traps']} contained traps in {runs} processes, "
            f"{growth:.0f} KiB a trap, {files} descriptors")


def moments(host, is_long, failures):
    """Tests traps while the shield starts, while the process exits, and while it drains, in each mode."""
    ways = [["--moment", "start", "--requests", 4, "--traps", 2], ["--moment", "exit", "--requests", 4, "--traps", 2],
            ["--traps", 6], ["--traps", 6, "--exits", 1]]
    wanted = [(options, mode) for options in ways for mode in ("drain", "drain-pool", "contain")]
    count = 100 if is_long else 2 * len(wanted)
    hung = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(*wanted[index % len(wanted)],) for index in range(count)]
        for (options, mode), found in zip(jobs, pool.map(lambda job: run(host, "index", job[1], *job[0]), jobs)):
            hung += found["end"] == "hung"
            if found["end"] not in (ILLEGAL, "exit 0"):
                failures.append(f"{mode} {options}: {found}")
    return f"{hung} of {count} runs with traps in a start, an exit and a drain hung"


def progress(host, is_long, failures):
    requests, longest, stall = (10_000, 2_000, 3_000) if is_long else (2_000, 400, 3_000)
    ended = 0
    for mode in ("drain", "contain"):
        # A trap on an actor is not contained: it drains the process (the process ends after its running requests), also
        # with `contain`.
        found = run(host, "actor", mode, "--moment", "before", "--requests", requests, "--longest", longest,
                    "--stall", stall, "--grace", 3_600_000)
        ended += found["endedIndependent"]
        if found["drainEnd"] != "done" or found["finishedIndependent"] != requests:
            failures.append(f"{mode}: the drain ended before the requests: {found}")
    return f"{ended} of {2 * requests} requests of 0 to {longest / 1000} s ended by a stall"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host")
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    failures = []
    lines = [part(options.host, options.long, failures) for part in (contain, moments, progress)]
    for failure in failures:
        print(f"soak.py: {failure}", file=sys.stderr)
    print("soak: " + "; ".join(lines))
    raise SystemExit(1 if failures else 0)


main()
