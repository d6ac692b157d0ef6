#!/usr/bin/env python3
"""Measures how many reports crash-fleet stores per second, its latency and its memory.

Usage: fleet.py CRASH_FLEET BINARIES [--reports N] [--batch N] [--clients N] [--hosts N] [--seconds S] [--gzip]
                [--bugsink VENV] [--events N]

CRASH_FLEET is the program, and BINARIES contains crashctl, crashd and crash-maker. scripts/fleet/postgres runs this program
beside a private PostgreSQL; fsync is on.

Reports: whole reports of one real crash, each with its own id, of HOSTS hosts and 200 groups. The bodies of all
requests are made before the measured time. A report counts when the answer says that it is committed.

Counters: hosts that send one counter a minute each, for SECONDS seconds, through a few connections.

Bugsink: the events per second of a Bugsink that is installed in VENV, for the same crash, before and after the fleet's
reports. The printed ratio is that of the medians. See bugsink.py.
"""

import argparse
import gzip
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time

import bugsink
import programs

GROUPS = 200


def report(binaries):
    """Returns the JSON of a real crash."""
    run = subprocess.run(
        [binaries / "crashctl", "run", "--json", "short", "--", binaries / "crash-maker", "array-index", "--wait-attached"],
        capture_output=True, env=os.environ | {"SWIFT_BACKTRACE": "enable=no"})
    lines = [line for line in run.stderr.splitlines() if line.startswith(b'{"')]
    if not lines:
        sys.exit(f"fleet.py: no report: {run.stderr[-400:]!r}")
    return json.loads(lines[0])


def templates(sample, groups):
    """Returns one line for each group, split where the id and the host are."""
    result = []
    for group in range(groups):
        entry = json.loads(json.dumps(sample))
        entry["id"], entry["group"]["key"] = "@ID@", f"{group:016x}"
        entry["time"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        entry["machine"] = (entry.get("machine") or {}) | {"id": "@HOST@", "host": "web-@HOST@"}
        result.append(re.split(b"(@ID@|@HOST@)", json.dumps({"revision": 1, "report": entry}, separators=(",", ":")).encode()))
    return result


def bodies(parts, count, batch, hosts, client, compress):
    """Makes the batches of one client; a batch has reports of one host, as crash-forward sends them."""
    made, number = [], client << 40
    while count > 0:
        lines, host = [], f"{(client * 7919 + len(made)) % hosts:032x}".encode()
        for _ in range(min(batch, count)):
            number += 1
            values = {b"@ID@": f"{number:032x}".encode(), b"@HOST@": host}
            lines.append(b"".join(values.get(part, part) for part in parts[number * 7919 % len(parts)]))
        body = b"\n".join(lines)
        made.append((len(lines), gzip.compress(body, 1) if compress else body))
        count -= batch
    return made


def send(port, token, batches, start, results, headers):
    """Sends the batches of one client. Puts the number of committed reports, and the times of the requests, into
    `results`."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {token}"} | headers
    start.wait()
    times, stored = [], 0
    for count, body in batches:
        begin = time.monotonic()
        while True:
            connection.request("POST", "/v1/reports", body, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
            if response.status == 200:
                break
            if response.status not in (429, 503):
                sys.exit(f"fleet.py: {response.status} {answer}")
            connection.close()
            time.sleep(0.05)
        times.append(time.monotonic() - begin)
        stored += answer["items"].get("stored", 0) + answer["items"].get("counted", 0)
    results.put((stored, times))


def load(port, token, clients, headers):
    """Sends the batches of all clients at once. Returns the number of committed items, the seconds and all times."""
    start, results = multiprocessing.Barrier(len(clients) + 1), multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=send, args=(port, token, batches, start, results, headers)) for batches in clients]
    for process in processes:
        process.start()
    start.wait()
    begin = time.monotonic()
    outcomes = [results.get() for _ in processes]
    seconds = time.monotonic() - begin
    for process in processes:
        process.join()
    return sum(stored for stored, _ in outcomes), seconds, sorted(t for _, times in outcomes for t in times)


def percentile(values, part):
    return values[min(len(values) - 1, int(len(values) * part))]


def counters(count, batch, run):
    """Makes batches of counters, one of each host."""
    hour, made = int(time.time()) // 3600, []
    for first in range(0, count, batch):
        lines = [
            json.dumps({
                "host": {"machine": f"{host:032x}", "name": f"web-{host}"},
                "count": {"program": "shop", "build": "ab", "group": {"key": f"{host % 20:016x}", "title": "t", "version": 1},
                          "cause": "c", "signal": "SIGILL", "hour": hour, "run": 1 + host, "crashes": run}}).encode()
            for host in range(first, min(count, first + batch))]
        made.append((len(lines), b"\n".join(lines)))
    return made


class Service:
    """A crash-fleet on a port that the kernel chooses."""

    def __init__(self, program):
        self.environment = environment = os.environ | {
            "CRASH_FLEET_CONFIG": "/dev/null", "CRASH_FLEET_LISTEN_PORT": "0",
            "CRASH_FLEET_DATABASE_CONNECTION": f"host={os.environ['PGHOST']} user={os.environ['PGUSER']} dbname=postgres"}
        self.run = lambda *arguments: subprocess.run(
            [program, *arguments], env=environment, check=True, capture_output=True, text=True).stdout
        self.run("migrate")
        self.token = self.run("token", "add", "bench").strip()
        self.process, line = programs.start([program, "serve"], environment, awaited="listening on")
        self.port = int(line.rsplit(":", 1)[1])

    def peak_mib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) >> 10

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        programs.stop(self.process)


def query(sql):
    return subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-c", sql, "postgres"], check=True, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--reports", type=int, default=40_000)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--gzip", action="store_true", help="send compressed bodies")
    parser.add_argument("--bugsink", type=pathlib.Path, metavar="VENV", help="compare with the Bugsink of this venv")
    parser.add_argument("--events", type=int, default=1_000, help="the events that Bugsink stores in each run")
    parser.add_argument("--rounds", type=int, default=3, help="how often the reports are measured")
    options = parser.parse_args()
    sample = report(options.binaries)
    service = Service(options.program)
    others = []
    if options.bugsink:
        others.append(run_bugsink(options))
    rates = reports(service, templates(sample, GROUPS), options)
    if options.bugsink:
        others.append(run_bugsink(options))
        print(f"crash-fleet / Bugsink: {statistics.median(rates) / statistics.median(others):.0f}")
    count(service, options)
    print(f"database: {int(query('select pg_database_size(current_database())')) >> 20} MiB")
    service.stop()


def run_bugsink(options):
    rate, size = bugsink.measure(options.bugsink, options.binaries, options.events, options.clients, GROUPS)
    print(f"Bugsink: {options.events} events of {size >> 10} KiB = {rate:.1f}/s, load {os.getloadavg()[0]:.1f}", flush=True)
    return rate


def reports(service, parts, options):
    """Sends whole reports in several rounds, and returns the reports per second of each round."""
    headers = {"Content-Encoding": "gzip"} if options.gzip else {}
    each = options.reports // options.clients
    rates = []
    for turn in range(options.rounds):
        clients = range(turn * options.clients, (turn + 1) * options.clients)
        batches = [bodies(parts, each, options.batch, 1_000, client, options.gzip) for client in clients]
        cpu = service.cpu_s()
        stored, seconds, times = load(service.port, service.token, batches, headers)
        rates.append(stored / seconds)
        print(f"reports: {stored} of {sum(map(len, parts[0])) >> 10} KiB in {seconds:.1f} s = {rates[-1]:.0f}/s,"
              f" batches of {options.batch}, p50 {percentile(times, .5) * 1e3:.0f} ms,"
              f" p99 {percentile(times, .99) * 1e3:.0f} ms, crash-fleet {service.cpu_s() - cpu:.1f} s of processor,"
              f" at most {service.peak_mib()} MiB, load {os.getloadavg()[0]:.1f}", flush=True)
        sent = each * options.clients * (turn + 1)
        found = int(query("select count(*) from report"))
        counted = int(query("select coalesce(sum(crashes), 0) from issue"))
        if not stored * (turn + 1) == found == counted == sent:
            sys.exit(f"fleet.py: stored {stored}, in the table {found}, counted {counted}, sent {sent}")
    repeated, _, _ = load(service.port, service.token, [batch[:20] for batch in batches], headers)
    if repeated != 0 or int(query("select sum(crashes) from issue")) != counted:
        sys.exit("fleet.py: repeated batches were counted again")
    return rates


def count(service, options):
    """Sends the counters of many hosts, once a minute."""
    before = int(query("select sum(crashes) from issue"))
    minutes = max(1, options.seconds // 60)
    for minute in range(1, minutes + 1):
        made = counters(options.hosts, 500, minute)
        spread = [made[client::options.clients] for client in range(options.clients)]
        stored, seconds, times = load(service.port, service.token, spread, {})
        print(f"counters: {options.hosts} hosts, minute {minute}: {stored} in {seconds:.1f} s = {stored / seconds:.0f}/s,"
              f" p99 {percentile(times, .99) * 1e3:.0f} ms, at most {service.peak_mib()} MiB", flush=True)
        time.sleep(max(0, 60 - seconds) if minute < minutes else 0)
    if int(query("select sum(crashes) from issue")) != before + options.hosts * minutes:
        sys.exit("fleet.py: counters were lost or counted twice")


if __name__ == "__main__":
    main()
