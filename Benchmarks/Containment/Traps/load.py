#!/usr/bin/env python3
"""load.py SERVER… [--long] [--serve CRASHCTL]: counts what a trap costs the clients of servers.

A SERVER is the path of a program, whose protocol is HTTP/1. `h2:` before the path chooses HTTP/2 over TLS, and `grpc:`
chooses gRPC. These two need the Python package h2.

1. contain(20): 200 requests at a time, 20 traps of 10 kinds at random times. Each trap must be answered by 500, each
   other request by 200, no connection may be refused or reset, and the process must continue. Then the 21st trap
   follows while 50 requests of 200 ms are in flight: all 50 must be answered, and the process must end by SIGILL. With
   HTTP/1, each request has a separate connection. With HTTP/2, 20 connections carry all requests, also those that trap.
2. The same server without containment: the script counts the requests that one trap loses.
3. drain with a listening socket that a supervisor holds, and a trap every half a second. Each trap must be answered by
   500, each other request by 200, and no connection may be refused. Only the servers of HTTP/1 take over a socket.

The last line of the output has the figures. Without `--long`, the first and the third part take 5 s each. `--long`
repeats the first part ten times for 20 s each, and runs the third part for 60 s.
The servers must be optimized builds: in a debug build, several kinds trap in the same function, and a place that traps
more than ten times drains the process.
Without `--serve`, this script is the supervisor. With it, `CRASHCTL serve` is.
"""

import argparse
import asyncio
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from client import Connections, Load
from processes import Serve, Supervisor, end_of, start

KINDS = ["index", "unwrap", "overflow", "message", "later", "group", "child", "deinit", "hash", "text"]
BUDGET = 20
AT_A_TIME = 200
MULTIPLEXED_CONNECTIONS = 20
IN_FLIGHT = 50
DRAIN_CLIENTS = 20
IDLE_CLIENTS = 10


class Server:
    """A server: its program, its protocol, and its certificate for HTTP/2 over TLS."""

    def __init__(self, text, directory):
        self.protocol, _, self.program = text.rpartition(":")
        if self.protocol not in ("", "h2", "grpc"):
            raise SystemExit(f"load.py: unknown protocol '{self.protocol}'")
        self.name = " ".join([os.path.basename(self.program), self.protocol]).rstrip()
        self.certificate, self.key = f"{directory}/certificate.pem", f"{directory}/key.pem"

    def start(self, mode):
        """Starts the server, and returns its process and its port."""
        arguments = [self.program, mode] + ([self.certificate, self.key] if self.protocol == "h2" else [])
        return start(arguments)

    def connections(self, port, count=AT_A_TIME, keeps=True):
        """Returns connections for `count` requests at a time."""
        if self.protocol == "":
            return Connections(port, count, keeps)
        import http2  # only here, because HTTP/1 does not need the package h2
        return http2.Connections(port, min(count, MULTIPLEXED_CONNECTIONS), keeps, is_grpc=self.protocol == "grpc",
                                 certificate=self.certificate if self.protocol == "h2" else None)


def make_certificate(directory):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                    f"{directory}/key.pem", "-out", f"{directory}/certificate.pem"],
                   check=True, stderr=subprocess.DEVNULL)


async def contain(server, seconds, failures):
    """Runs the first part (contain), and returns its counts."""
    process, port = server.start(f"contain:{BUDGET}")
    connections = server.connections(port)
    traps = [f"/trap/{kind}" for kind in KINDS] * (BUDGET // len(KINDS))
    random.shuffle(traps)
    load = Load(connections, AT_A_TIME)
    times = sorted(random.uniform(0.05, 0.95) * seconds for _ in traps)
    begin = time.monotonic()

    async def trap(path, at):
        await asyncio.sleep(max(0, at - (time.monotonic() - begin)))
        return await connections.request(path)

    trapped = collections.Counter(await asyncio.gather(*map(trap, traps, times)))
    await asyncio.sleep(max(0, seconds - (time.monotonic() - begin)))
    is_alive = process.poll() is None and await connections.request("/fast") == 200
    seen = await load.stop()
    last, slow, status, drained = None, collections.Counter(), process.poll(), 0.0
    if is_alive:
        slow_tasks = [asyncio.create_task(connections.request("/slow")) for _ in range(IN_FLIGHT)]
        # After 0.1 s, all slow requests run: each of them takes 0.2 s.
        await asyncio.sleep(0.1)
        begin = time.monotonic()
        last = await connections.request("/trap/index")
        slow = collections.Counter(await asyncio.gather(*slow_tasks))
        status = await end_of(process)
        drained = time.monotonic() - begin
    else:
        process.kill()
        process.wait()
    connections.close()
    if trapped != {500: BUDGET}:
        failures.append(f"{server.name}: contain: the traps were answered by {dict(trapped)}")
    if set(seen) != {200}:
        failures.append(f"{server.name}: contain: the other requests saw {dict(seen)}")
    if not is_alive:
        failures.append(f"{server.name}: contain: the process ended with {status}")
    elif last != 500 or slow != {200: IN_FLIGHT} or status != -signal.SIGILL:
        failures.append(f"{server.name}: contain: the last trap saw {last}, the requests in flight {dict(slow)}, "
                        f"status {status}")
    return trapped[500], sum(seen.values()), sum(seen.values()) - seen[200], slow[200], drained


async def unshielded(server):
    """Runs the second part (without containment), and returns the number of requests that a trap loses."""
    process, port = server.start("off")
    connections = server.connections(port)
    slow = [asyncio.create_task(connections.request("/slow")) for _ in range(IN_FLIGHT)]
    await asyncio.sleep(0.1)
    seen = collections.Counter([await connections.request("/trap/index"), *await asyncio.gather(*slow)])
    await end_of(process)
    connections.close()
    return sum(seen.values()) - seen[200], sum(seen.values())


async def drain(server, supervisor, traps, failures):
    """Runs the third part (drain), and returns its counts."""
    connections = server.connections(supervisor.port, DRAIN_CLIENTS, keeps=False)
    while await connections.request("/fast") != 200:
        await asyncio.sleep(0.01)
    load = Load(connections, DRAIN_CLIENTS, pause=0.005)
    idle = Load(server.connections(supervisor.port, IDLE_CLIENTS), IDLE_CLIENTS, path="/fast", pause=0.2)
    trapped = collections.Counter()
    for index in range(traps):
        trapped[await connections.request(f"/trap/{KINDS[index % len(KINDS)]}")] += 1
        await asyncio.sleep(0.5)
    seen, idle_seen = await load.stop(), await idle.stop()
    ends = await supervisor.stop()
    if trapped != {500: traps}:
        failures.append(f"{server.name}: drain: the traps were answered by {dict(trapped)}")
    if set(seen) != {200}:
        failures.append(f"{server.name}: drain: the other requests saw {dict(seen)}")
    closed = idle_seen["empty"] + idle_seen["reset"]
    if closed + idle_seen[200] != sum(idle_seen.values()):
        failures.append(f"{server.name}: drain: the requests on idle connections saw {dict(idle_seen)}")
    if ends and set(ends) != {-signal.SIGILL}:
        failures.append(f"{server.name}: drain: the processes ended with {dict(ends)}")
    return trapped[500], sum(seen.values()), sum(seen.values()) - seen[200], closed, sum(idle_seen.values())


async def measure(server, options, failures):
    """Runs all parts with one server. Returns their figures."""
    runs = 10 if options.long else 1
    total, longest = collections.Counter(), 0.0
    for run in range(runs):
        answered, requests, failed, slow, drained = await contain(server, 20 if options.long else 5, failures)
        total.update(answered=answered, requests=requests, failed=failed, slow=slow)
        longest = max(longest, drained)
        print(f"load.py: {server.name}: run {run + 1} of {runs}: {answered} of {BUDGET} traps answered, {failed} of "
              f"{requests} other requests lost, then {slow} of {IN_FLIGHT} drained in {drained:.2f} s", flush=True)
    lost, sent = await unshielded(server)
    figures = [f"{server.name}: {total['answered']} of {runs * BUDGET} traps answered, {total['failed']} of "
               f"{total['requests']} other requests lost, {total['slow']} of {runs * IN_FLIGHT} drained in at most "
               f"{longest:.2f} s", f"without containment one trap lost {lost} of {sent}"]
    if server.protocol != "h2":
        traps = 120 if options.long else 10
        supervisor = (Serve(options.serve, server.program, "drain") if options.serve
                      else Supervisor(server.program, "drain"))
        answered, requests, failed, closed, idle = await drain(server, supervisor, traps, failures)
        figures.append(f"{traps} drains with a held socket: {answered} of {traps} traps answered, {failed} of "
                       f"{requests} other requests lost or refused, {closed} of {idle} on idle connections found "
                       "theirs closed")
    print(f"load.py: {', '.join(figures)}", flush=True)
    return ", ".join(figures)


async def measure_all(options, failures):
    with tempfile.TemporaryDirectory() as directory:
        servers = [Server(text, directory) for text in options.servers]
        if any(server.protocol == "h2" for server in servers):
            make_certificate(directory)
        return [await measure(server, options, failures) for server in servers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="SERVER")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--serve", metavar="CRASHCTL")
    options = parser.parse_args()
    failures = []
    figures = asyncio.run(measure_all(options, failures))
    for failure in failures:
        print(f"load.py: {failure}", file=sys.stderr)
    print(f"containment: {'; '.join(figures)}")
    raise SystemExit(1 if failures else 0)


main()
