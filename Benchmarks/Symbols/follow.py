#!/usr/bin/env python3
"""Measures how long after its fault a crash of the large server appears in `crashctl follow`, with its symbol cache
present."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import tools

GOAL_MS = 50
FRAMES = 64
PATIENCE_S = 120  # Only a failing run waits for this time.
SECTION = """
## How soon after the fault

This section has the time from the fault to the line that `crashctl follow` prints. For {runs} crashes of {frames} frames
of the same server, with its symbol cache present, the median is {median:.1f} ms, the shortest time {least:.1f} ms and
the longest {most:.1f} ms (goal for the median: {goal} ms). The parts of the median: {parts}.
"""


class Daemon:
    """A private crashd, and a `crashctl follow` that reads its events."""

    def __init__(self, binaries, folder):
        self.folder = folder
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(f"{folder}/notify")
        notify.settimeout(PATIENCE_S)
        self.process = subprocess.Popen(
            [f"{binaries}/crashd", "--runtime-directory", f"{folder}/run", "--state-directory", f"{folder}/state"],
            env={**os.environ, "NOTIFY_SOCKET": f"{folder}/notify"}, stderr=subprocess.DEVNULL)
        while b"READY=1" not in notify.recv(4096):
            pass
        self.follower = subprocess.Popen(
            [f"{binaries}/crashctl", "follow", "--json=short", "--socket", f"{folder}/run/io.crashshield.Crashd"],
            stdout=subprocess.PIPE, text=True)

    def next_report(self, pid):
        """Returns the next report of this process, and the time at which it arrived."""
        for line in self.follower.stdout:
            came_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            report = json.loads(line)["report"]
            if report["process"]["pid"] == pid:
                return report, came_ns
        raise SystemExit("crashctl follow ended")

    def stop(self):
        for process in (self.follower, self.process):
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


def wait_for_file(folder, name):
    """Waits until a file with this name exists anywhere below the directory."""
    end = time.monotonic() + PATIENCE_S
    while not any(name in files for _, _, files in os.walk(folder)):
        if time.monotonic() > end:
            raise SystemExit(f"{name} was not made")
        os.sched_yield()


def crash(daemon, server, cache):
    """Crashes the server once. Returns the milliseconds from the fault to the line of `crashctl follow`, and the
    milliseconds of each part of this time."""
    child = subprocess.Popen(
        [server], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "CRASHSHIELD_SOCKET": f"{daemon.folder}/run/attach", "SWIFT_BACKTRACE": "enable=no"})
    port = int(child.stdout.readline())
    wait_for_file(f"{daemon.folder}/state", cache)
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/crash/{FRAMES}", timeout=PATIENCE_S).read()
    except OSError:
        pass  # The server crashes before it responds.
    report, came_ns = daemon.next_report(child.pid)
    child.wait(PATIENCE_S)
    frames = report["threads"][0]["frames"]
    named = sum(1 for frame in frames if frame.get("file"))
    if named < FRAMES:
        raise SystemExit(f"{named} of {len(frames)} frames have a file")
    timing = report["timing"]
    points = [timing["entry_ns"], timing["commit_ns"], timing["stored_ns"], came_ns]
    return (came_ns - points[0]) / 1e6, [(end - start) / 1e6 for start, end in zip(points, points[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", type=os.path.abspath, help="where crashd, crashctl and crash-analyse are")
    parser.add_argument("server", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--append", help="the document that gets the figures")
    options = parser.parse_args()
    binaries, server, runs = options.binaries, options.server, options.runs
    cache = tools.build_id(server).hex() + ".cssym"
    with tempfile.TemporaryDirectory(prefix="follow-") as folder:
        daemon = Daemon(binaries, folder)
        try:
            crashes = [crash(daemon, server, cache) for _ in range(runs)]
        finally:
            daemon.stop()
    times = sorted(time_ms for time_ms, _ in crashes)
    median = times[len(times) // 2]
    shares = [
        (name, sorted(parts)[len(parts) // 2], max(parts))
        for name, parts in zip(("in the handler", "crashd", "crashctl"), zip(*(parts for _, parts in crashes)))]
    for name, middle, most in shares:
        print(f"follow: {name}: median {middle:.1f} ms, most {most:.1f}")
    print(f"follow: {runs} crashes of {FRAMES} frames, from the fault to the line: median {median:.1f} ms, "
          f"least {times[0]:.1f}, most {times[-1]:.1f} (goal {GOAL_MS})")
    if options.append:
        with open(options.append, "a", encoding="utf-8") as file:
            file.write(SECTION.format(
                runs=runs, frames=FRAMES, median=median, least=times[0], most=times[-1], goal=GOAL_MS,
                parts=", ".join(f"{name} {middle:.1f} ms" for name, middle, _ in shares)))
    sys.exit(0 if median <= GOAL_MS else 1)


if __name__ == "__main__":
    main()
