#!/usr/bin/env python3
"""Measures the time from a fault in a process until an open page of the fleet shows it.

Usage: latency.py CRASH_FLEET BINARIES [--faults N]

scripts/fleet/postgres runs this program beside a private PostgreSQL with track_commit_timestamp. A host with crashd and
crash-forward crashes programs one after another, each when the page shows the previous fault: the page has only the
newest 25 crashes, so a burst would hide some. crash-forward sends the first three crashes of a program as whole
reports, so every three faults have another program. The limit of whole reports a minute is above the number of faults.

Two times are measured, both from the fault, whose time is in its report. The first ends with the commit of the report's
row. The second ends with the last byte of the first list of crashes that has the report. A reader loads this list
whenever the server announces a change, as the script of the page does.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import fleet
import pages
import programs

TIMES = """
select extract(epoch from pg_xact_commit_timestamp(xmin) - time) * 1000 from report order by 1
"""


def crash(options, directory, environment, shown, news):
    """Crashes programs, and waits until the page has shown each fault."""
    for number in range(options.faults):
        if number % 3 == 0:
            maker = shutil.copy(options.binaries / "crash-maker", f"{directory}/server-{number // 3}")
        subprocess.run(
            [maker, "array-index", "--wait-attached"], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=60)
        if number % 3 == 2:
            os.unlink(maker)
        with news:
            if not news.wait_for(lambda: len(shown) > number, 60):
                sys.exit(f"latency.py: the page shows {len(shown)} of {number + 1} faults")


def watch(reader, shown, news):
    """Stores for each crash how long after its fault a page showed it first, in milliseconds."""
    for _ in reader.changes():
        rows = json.loads(reader.get("/events.json"))["events"]
        now = time.time()
        for event in (row["event"] for row in rows):
            fault = datetime.datetime.fromisoformat(event["time"]).timestamp()
            shown.setdefault(event["id"], (now - fault) * 1e3)
        with news:
            news.notify()


def show(name, times):
    times.sort()
    print(f"{len(times)} faults to {name}: p50 {fleet.percentile(times, 0.5):.0f} ms, p99"
          f" {fleet.percentile(times, 0.99):.0f} ms, at most {times[-1]:.0f} ms, load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--faults", type=int, default=200)
    options = parser.parse_args()
    service = fleet.Service(options.program)
    reader = pages.Reader(options.program, "bench", service.environment)
    with tempfile.TemporaryDirectory(prefix="bench-latency.") as directory:
        settings = {
            "CRASH_FORWARD_FLEET_URL": f"http://127.0.0.1:{service.port}", "CRASH_FORWARD_FLEET_TOKEN": service.token,
            "CRASH_FORWARD_FLEET_RATE": "60000"}
        with programs.host(options.binaries, directory, "fleet", settings) as environment:
            shown, news = {}, threading.Condition()
            threading.Thread(target=watch, args=(reader, shown, news), daemon=True).start()
            crash(options, directory, environment, shown, news)
    show("the commit", [float(line) for line in fleet.query(TIMES).splitlines()])
    show("an open page", list(shown.values()))
    service.stop()


if __name__ == "__main__":
    main()
