#!/usr/bin/env python3
"""server.py SERVER DOCUMENT [--seconds S] [--pairs N] [--ways zero,absorb]: measures the cost of protection in a real
server.

Runs dangling-server under wrk with 50 connections, alternately unprotected and protected, in N pairs for each way, and
writes the figures into DOCUMENT. Fails if a server crashes, if an object is left after the quarantine was drained, or
if an incident was recorded: the server does not have a use-after-free, so the incident would be false. For `zero`, also
fails if the median of the ratios of requests per second is below 0.95.
"""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys

CONNECTIONS = 50
THREADS = 1
LEAST = 0.95
START_TIMEOUT_S = 60
END_TIMEOUT_S = 120
# With absorb, NIO's classes must not be protected: absorb delays deinits, and some deinits of NIO remove the object
# from a collection.
WAYS = {"none": ["none"], "zero": ["zero"], "zero-own": ["zero", "own"], "absorb-own": ["absorb", "own"]}


def load(server, way, seconds):
    """Runs the server once under wrk. Returns its counters, with the rate, the latency and the processor time."""
    process = subprocess.Popen(
        [server, *WAYS[way]], stdout=subprocess.PIPE, text=True, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"}
    )
    try:
        port = int(process.stdout.readline())
        wrk = subprocess.run(
            ["wrk", f"-t{THREADS}", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}/"],
            capture_output=True, text=True, check=True, timeout=seconds + START_TIMEOUT_S,
        ).stdout
        # Reads the server's processor time, which other programs on the machine change less than its rate of requests.
        fields = open(f"/proc/{process.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        resident = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{process.pid}/status", encoding="ascii").read())[1])
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=END_TIMEOUT_S)
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        raise SystemExit(f"server.py: {way}: the server ended with {process.returncode}")
    if re.search(r"Non-2xx|Socket errors", wrk):
        raise SystemExit(f"server.py: {way}: wrk met errors:\n{wrk}")
    found = json.loads(said)
    found["requests_1_s"] = float(re.search(r"Requests/sec:\s+([\d.]+)", wrk)[1])
    # Matches "99%" only at the start of a line, because the end of an earlier line can be "87.99%".
    found["latency_99"] = re.search(r"^\s*99%\s+(\S+)", wrk, re.MULTILINE)[1]
    found["resident_kib"] = resident
    found["cpu_us"] = cpu_s * 1e6 / int(re.search(r"(\d+) requests in", wrk)[1])
    return found


def faults(way, found):
    """Yields a message for each fault in the result of a run."""
    if found["living_after"] != 0:
        yield f"{found['living_after']} objects of the server's own are left"
    if found["bytes_after"] != 0 or found["admitted"] != found["evicted"]:
        yield "the quarantine is not empty after it was drained"
    if found["hits"] != 0:
        yield f"{found['hits']} use-after-free accesses were recorded, but the server has none"
    if way != "none" and found["admitted"] == 0:
        yield "nothing came into the quarantine"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("document")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--ways", default="zero")
    options = parser.parse_args()
    rows, failed = [], []
    for way in options.ways.split(","):
        ratios, cpu = [], []
        for number in range(options.pairs):
            # The order alternates, because the second run of a pair has warmer caches.
            order = ["none", way] if number % 2 == 0 else [way, "none"]
            pair = {name: load(options.server, name, options.seconds) for name in order}
            for name, found in pair.items():
                failed += [f"{name}: {fault}" for fault in faults(name, found)]
            before, after = pair["none"], pair[way]
            ratios.append(after["requests_1_s"] / before["requests_1_s"])
            cpu.append(after["cpu_us"] / before["cpu_us"])
            rows.append((way, number + 1, before, after, ratios[-1], cpu[-1]))
            print(f"server.py: {way}, pair {number + 1}: {before['requests_1_s']:.0f} and {after['requests_1_s']:.0f} "
                  f"requests a second, ratio {ratios[-1]:.3f}; {after}", flush=True)
        median, median_cpu = statistics.median(ratios), statistics.median(cpu)
        print(f"server.py: {way}: median of {len(ratios)} pairs {median:.3f}, processor time {median_cpu:.3f}", flush=True)
        rows.append((way, "median", None, None, median, median_cpu))
        if median < LEAST:
            failed.append(f"{way}: the median is below {LEAST}")
    write(options, rows)
    for fault in failed:
        print(f"server.py: {fault}", file=sys.stderr)
    raise SystemExit(1 if failed else 0)


def write(options, rows):
    """Returns the lines of the table, which the document has between two marks."""
    lines = [
        f"In each run, wrk sends requests for {options.seconds} s over {CONNECTIONS} connections. The server and wrk share",
        f"{os.cpu_count()} processors.",
        "",
        "| protection | pair | unprotected, requests/s | protected | ratio | processor time a request, µs | ratio "
        "| 99 % latency | resident, MiB | objects kept | objects skipped |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for way, number, before, after, ratio, cpu in rows:
        if before is None:
            lines.append(f"| {way} | **{number}** | | | **{ratio:.3f}** | | **{cpu:.3f}** | | | | |")
            continue
        left_out = sum(after[key] for key in after if key.startswith("skipped"))
        lines.append(
            f"| {way} | {number} | {before['requests_1_s']:.0f} | {after['requests_1_s']:.0f} | {ratio:.3f} "
            f"| {before['cpu_us']:.1f}, {after['cpu_us']:.1f} | {cpu:.3f} | {before['latency_99']}, {after['latency_99']} "
            f"| {before['resident_kib'] / 1024:.1f}, {after['resident_kib'] / 1024:.1f} "
            f"| {after['admitted']} of {after['classes']} classes | {left_out} |"
        )
    with open(options.document, encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- server -->\n", "<!-- end of server -->\n"
    head, rest = text.split(begin)
    with open(options.document, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])


main()
