#!/usr/bin/env python3
"""Measures how often the reports of a debug build's crash and of the same crash in an optimized build have one group.

Usage: grouping.py BINARIES OPTIMIZED [--slice] [--only TEXT] [--all] [--keep DIRECTORY] [--reports FILE]

BINARIES is a directory with crashd, crashctl, crash-analyse and a crash-maker of a debug build. OPTIMIZED is a
crash-maker of a release build. Each scenario crashes on each of its threads in both builds, and the two reports are a
pair. The script prints the share of pairs with one group key, and both stacks of each unequal pair. It fails if the
share is below GOAL or if there are fewer than PAIRS pairs.

  --slice    run a few pairs only, which takes seconds
  --all      print a line for each pair
  --only     run only the runs whose line contains the text
  --keep     the directory that keeps the daemon's files
  --reports  the file for the pairs' reports, one line of JSON per pair

Scenarios whose report describes another process, or that end without a record, are excluded.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Verdicts"))
import verdicts

GOAL = 0.95
PAIRS = 200
PATIENCE_S = 90
THREADS = ("main", "dispatch", "task", "pthread", "small-stack")
SLICE = {"array-index", "force-unwrap", "null-write", "abort", "async-throwing", "integer-overflow"}
# These scenarios use memory or processor time until they are killed.
HEAVY = {"oom-kill", "uninterruptible-thread", "full-disk"}
WRONG_THREAD = 2


def crash(program, name, thread, attach, environment):
    """Returns the pid of the crashed process; None when the scenario does not run on this thread, or hangs."""
    command = [program, name, "--thread", thread, "--wait-attached"]
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=limit, start_new_session=True)
    try:
        status = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None
    return None if status == WRONG_THREAD else process.pid


def limit():
    verdicts.limit_memory()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def report(crashctl, pid):
    """Returns the first report of a process; None when the process left no record."""
    waited = subprocess.run([*crashctl("wait"), str(pid), "--timeout", "30"], capture_output=True, text=True)
    ids = waited.stdout.split()
    if not ids:
        return None
    shown = subprocess.run([*crashctl("show"), ids[0], "--json=short"], capture_output=True, text=True)
    return json.loads(shown.stdout) if shown.returncode == 0 else None


def stack(report):
    """Returns the lines of the in-app frames and of the first four frames."""
    thread = next((thread for thread in report["threads"] if thread["crashed"]), {"frames": []})
    lines = []
    for index, frame in enumerate(thread["frames"]):
        if frame["isOwn"] or index < 4:
            mark = "*" if frame["isOwn"] else " "
            lines.append(f"      {mark} {frame['function'] or frame['mangled']}  [{frame['mangled']}]  "
                         f"{(frame.get('file') or '').rsplit('/', 1)[-1]}:{frame.get('line')}")
    return lines[:12]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("optimized", type=pathlib.Path)
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--reports", type=pathlib.Path)
    options = parser.parse_args()
    binaries = options.binaries.resolve()
    programs = (binaries / "crash-maker", options.optimized.resolve())
    names = [line.split("\t")[0] for line in
             subprocess.run([programs[0], "--list"], check=True, capture_output=True, text=True).stdout.splitlines()]
    names = [name for name in names if name not in verdicts.CRASH_MAKER_OTHERS | HEAVY]
    if options.slice:
        names = [name for name in names if name in SLICE]
    runs = [(name, thread) for name in names for thread in THREADS if options.only in f"{name} {thread}"]
    with tempfile.TemporaryDirectory(prefix="grouping-") as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        daemon = verdicts.Daemon(binaries, folder)
        try:
            found = pairs(runs, programs, binaries, daemon, folder)
        finally:
            daemon.stop()
    if options.reports:
        options.reports.write_text("".join(json.dumps([run, reports]) + "\n" for run, reports in found))
    equal = [pair for pair in found if len({report["group"]["key"] for report in pair[1]}) == 1]
    for run, reports in found:
        isEqual = (run, reports) in equal
        if options.all or not isEqual:
            titles = " | ".join(dict.fromkeys(report["group"]["title"] for report in reports))
            print(f"{'  equal' if isEqual else 'UNEQUAL'} {' '.join(run)}: {titles}")
        if not isEqual:
            for build, report_ in zip(("debug", "optimized"), reports):
                print(f"    {build}: {report_['signal']['name']}, {report_['diagnosis']['rule']}")
                print("\n".join(stack(report_)))
    share = len(equal) / len(found) if found else 0
    print(f"grouping: {len(equal)} of {len(found)} pairs of a debug and an optimized build are one group: {share:.1%}")
    if share < GOAL:
        sys.exit(f"grouping: fewer than {GOAL:.0%} of the pairs are one group")
    if not options.slice and not options.only and len(found) < PAIRS:
        sys.exit(f"grouping: fewer than {PAIRS} pairs")


def pairs(runs, programs, binaries, daemon, folder):
    """Returns the runs that have a report in both builds, with both reports."""
    socket = str(folder / "run" / "io.crashshield.Crashd")
    environment = os.environ | {
        "CRASHSHIELD_SOCKET": daemon.attach, "CRASHSHIELD_SPOOL": str(folder), "SWIFT_BACKTRACE": "enable=no"}

    def crashctl(verb):
        return [binaries / "crashctl", verb, "--socket", socket]

    def pair(run):
        reports = []
        for program in programs:
            pid = crash(program, *run, daemon.attach, environment)
            one = report(crashctl, pid) if pid else None
            if one is None or one.get("death"):
                return None
            reports.append(one)
        return run, reports

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [found for found in pool.map(pair, runs) if found]


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
