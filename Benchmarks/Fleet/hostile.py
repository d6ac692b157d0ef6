#!/usr/bin/env python3
"""Measures how much hostile clients slow a good client of crash-fleet, and checks that nothing is lost or mixed up.

Usage: hostile.py CRASH_FLEET BINARIES [--turns N] [--seconds S] [--pace N]

scripts/fleet/postgres runs this program beside a private PostgreSQL. The good client sends batches of 20 reports for
SECONDS seconds, in turns without and with all attacks at once. Its pace is PACE batches a second; 0 sends one batch after
another. The attackers run with the lowest priority, because they are other machines in reality.

Attacks: wrong tokens; bodies of 1 GiB, with and without a length; zip bombs; deep JSON; clients that send a byte at a
time; and a tenant that sends reports with the ids of the good client. All attackers but the first have a valid token of
their own tenant, which lets them do more harm.
"""

import argparse
import gzip
import http.client
import itertools
import multiprocessing
import os
import pathlib
import re
import socket
import statistics
import sys
import time

import fleet

BATCH, GROUPS = 20, 200
SLOW_CLIENTS = 40


def post(port, token, body, headers=()):
    """Sends one request, and returns its status; None if the service ended the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/v1/reports", body, {"Authorization": f"Bearer {token}"} | dict(headers))
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def head(token, *lines):
    return "\r\n".join(
        ["POST /v1/reports HTTP/1.1", "Host: f", f"Authorization: Bearer {token}", *lines, "", ""]).encode()


def wrong_tokens(port, token, _):
    post(port, token[:-4] + "0000", b"{}")


def huge(port, token, _):
    post(port, token, b"x", [("Content-Length", str(1 << 30))])


def endless(port, token, _):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        try:
            connection.sendall(head(token, "Transfer-Encoding: chunked"))
            for _ in range(1 << 14):
                connection.sendall(chunk)
        except OSError:
            pass


def bomb(port, token, data):
    post(port, token, data["bomb"], [("Content-Encoding", "gzip")])


def deep(port, token, data):
    post(port, token, data["deep"])


def slow(port, token, _):
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(SLOW_CLIENTS)]
    for connection in connections:
        connection.sendall(head(token, "Content-Length: 1000000"))
    for _ in range(100):
        for connection in connections:
            try:
                connection.send(b" ")
            except OSError:
                pass
        time.sleep(0.5)


def stranger(port, token, data):
    post(port, token, data["strange"])


ATTACKS = [wrong_tokens, huge, endless, bomb, deep, slow, stranger]


def attack(work, port, token, data, counts, index):
    os.nice(19)
    while True:
        work(port, token, data)
        counts[index] += 1


def send(port, token, batches, seconds, pace):
    """Sends batches, and returns the number of committed reports, the seconds, and the times of the batches."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    begin, stored, times = time.monotonic(), 0, []
    while (now := time.monotonic()) - begin < seconds:
        body = next(batches)
        while True:
            connection.request("POST", "/v1/reports", body, {"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            response.read()
            if response.status == 200:
                break
            if response.status not in (429, 503):
                sys.exit(f"hostile.py: {response.status}")
            # Sends the batch again after a quarter of a second, the first delay of crash-forward.
            connection.close()
            time.sleep(0.25)
        stored += BATCH
        times.append(time.monotonic() - now)
        if pace:
            time.sleep(max(0, begin + len(times) / pace - time.monotonic()))
    return stored, time.monotonic() - begin, times


def batches(parts, start=1):
    for first in itertools.count(start, BATCH):
        host = f"{first % 1_000:032x}".encode()
        yield b"\n".join(
            b"".join({b"@ID@": f"{number:032x}".encode(), b"@HOST@": host}.get(part, part)
                     for part in parts[number % len(parts)])
            for number in range(first, first + BATCH))


def metrics(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    return {name: int(value) for name, value in re.findall(r'_total\{(?:result|outcome)="([^"]+)"\} (\d+)', text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pace", type=float, default=10)
    options = parser.parse_args()
    service = fleet.Service(options.program)
    evil = service.run("token", "add", "evil").strip()
    parts = fleet.templates(fleet.report(options.binaries), GROUPS)
    data = {
        "bomb": gzip.compress(b" " * (512 << 20)), "deep": b'{"report":' + b"[" * (1 << 20) + b"\n" + b"[" * (1 << 20),
        "strange": next(batches(parts))}
    good, total = batches(parts), 0
    rates, slowest = {False: [], True: []}, {False: [], True: []}
    counts = multiprocessing.Array("q", len(ATTACKS), lock=False)
    # Warms up the database and the service before the measured turns.
    total += send(service.port, service.token, good, options.seconds / 2, options.pace)[0]
    for _ in range(options.turns):
        for is_attacked in (False, True):
            attackers = [
                multiprocessing.Process(target=attack, args=(work, service.port, evil, data, counts, index), daemon=True)
                for index, work in enumerate(ATTACKS) if is_attacked]
            for process in attackers:
                process.start()
            stored, seconds, times = send(service.port, service.token, good, options.seconds, options.pace)
            for process in attackers:
                process.kill()
                process.join()
            total += stored
            rates[is_attacked].append(stored / seconds)
            slowest[is_attacked] += times
    quiet, attacked = statistics.median(rates[False]), statistics.median(rates[True])
    answers = metrics(service.port)
    for is_attacked, name in ((False, "alone"), (True, "attacked")):
        times = sorted(slowest[is_attacked])
        print(f"good client {name}: {statistics.median(rates[is_attacked]):.0f} reports/s,"
              f" p50 {fleet.percentile(times, .5) * 1e3:.0f} ms, p99 {fleet.percentile(times, .99) * 1e3:.0f} ms")
    print(f"ratio {attacked / quiet:.2f}, crash-fleet at most {service.peak_mib()} MiB, load {os.getloadavg()[0]:.1f}")
    print("attacks: " + ", ".join(f"{work.__name__} {count}" for work, count in zip(ATTACKS, counts)))
    print("answers: " + ", ".join(f"{name} {count}" for name, count in sorted(answers.items())))
    wanted = ["unauthorized", "too-many-unknown-tokens", "body-too-large", "refused", "too-many-requests"]
    missing = [code for code in wanted if not answers.get(code)]
    stored = fleet.query("select count(*) from report r join tenant t on t.id = r.tenant where t.name = 'bench'")
    counted = fleet.query("select sum(crashes) from issue i join tenant t on t.id = i.tenant where t.name = 'bench'")
    strange = fleet.query("select count(*) from report r join tenant t on t.id = r.tenant where t.name = 'evil'")
    if missing or not int(stored) == int(counted) == total or int(strange) != BATCH:
        sys.exit(f"hostile.py: no answer {missing}; sent {total}, stored {stored}, counted {counted}, strange {strange}")
    service.stop()


if __name__ == "__main__":
    main()
