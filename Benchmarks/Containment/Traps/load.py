#!/usr/bin/env python3
"""load.py SERVER [--long] [--serve CRASHCTL]: counts what a trap costs the clients of a server.

1. contain(20): 200 connections, 20 traps of 10 kinds at random times. Each trap must be answered by 500, each other
   request by 200, no connection may be refused or reset, and the process must continue. Then the 21st trap follows
   while 50 requests of 200 ms are in flight: all 50 must be answered, and the process must end by SIGILL.
2. The same server without containment: the script counts the requests that one trap loses.
3. drain with a listening socket that a supervisor holds, and a trap every half a second. Each trap must be answered by
   500, each other request by 200, and no connection may be refused.

The last line of the output has the figures. Without `--long`, the first and the third part take 5 s each. `--long`
repeats the first part ten times for 20 s each, and runs the third part for 60 s.
The server must be an optimized build: in a debug build, several kinds trap in the same function, and code that traps
more than ten times drains the process.
Without `--serve`, this script is the supervisor. With it, `CRASHCTL serve` is.
"""

import argparse
import asyncio
import collections
import os
import random
import signal
import socket
import subprocess
import sys
import time

from client import Load, request

KINDS = ["index", "unwrap", "overflow", "message", "later", "group", "child", "deinit", "hash", "text"]
BUDGET = 20
CONNECTIONS = 200
IN_FLIGHT = 50
# The longest wait for a response or for the end of the server. Only a server that hangs reaches this limit.
PATIENCE_S = 120


def environment():
    # The server needs no crashd and no spool, because this script does not read crash reports.
    return {**os.environ, "SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": "/nonexistent/attach",
            "CRASHSHIELD_SPOOL": "/nonexistent/spool"}


def start(server, mode):
    """Starts the server, and returns its process and its port."""
    process = subprocess.Popen(["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", server, mode], env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, int(process.stdout.readline())


async def end_of(process):
    """Waits for the end of a process. Returns its status, which is negative for a signal, or "hung"."""
    try:
        return await asyncio.to_thread(process.wait, PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "hung"


async def contain(server, seconds, failures):
    """Runs the first part. Returns its counts."""
    process, port = start(server, f"contain:{BUDGET}")
    traps = [f"/trap/{kind}" for kind in KINDS] * (BUDGET // len(KINDS))
    random.shuffle(traps)
    load = Load(port, CONNECTIONS)
    times = sorted(random.uniform(0.05, 0.95) * seconds for _ in traps)
    begin = time.monotonic()

    async def trap(path, at):
        await asyncio.sleep(max(0, at - (time.monotonic() - begin)))
        return await request(port, path)

    trapped = collections.Counter(await asyncio.gather(*map(trap, traps, times)))
    await asyncio.sleep(max(0, seconds - (time.monotonic() - begin)))
    is_alive = process.poll() is None and await request(port, "/fast") == 200
    seen = await load.stop()
    last, slow, status, drained = None, collections.Counter(), process.poll(), 0.0
    if is_alive:
        slow_tasks = [asyncio.create_task(request(port, "/slow")) for _ in range(IN_FLIGHT)]
        # After this time, all slow requests have begun, and none has ended.
        await asyncio.sleep(0.1)
        begin = time.monotonic()
        last = await request(port, "/trap/index")
        slow = collections.Counter(await asyncio.gather(*slow_tasks))
        status = await end_of(process)
        drained = time.monotonic() - begin
    else:
        process.kill()
        process.wait()
    if trapped != {500: BUDGET}:
        failures.append(f"contain: the traps were answered by {dict(trapped)}")
    if set(seen) != {200}:
        failures.append(f"contain: the other requests saw {dict(seen)}")
    if not is_alive:
        failures.append(f"contain: the process ended with {status}")
    elif last != 500 or slow != {200: IN_FLIGHT} or status != -signal.SIGILL:
        failures.append(f"contain: the last trap saw {last}, the requests in flight {dict(slow)}, status {status}")
    return trapped[500], sum(seen.values()), sum(seen.values()) - seen[200], slow[200], drained


async def unshielded(server):
    """Runs the second part. Returns the number of requests that a trap loses."""
    process, port = start(server, "off")
    slow = [asyncio.create_task(request(port, "/slow")) for _ in range(IN_FLIGHT)]
    await asyncio.sleep(0.1)
    seen = collections.Counter([await request(port, "/trap/index"), *await asyncio.gather(*slow)])
    await end_of(process)
    return sum(seen.values()) - seen[200], sum(seen.values())


class Supervisor:
    """Holds a listening socket, and starts the server again whenever it ends."""

    def __init__(self, server, mode):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.server, self.mode, self.ends = server, mode, collections.Counter()
        self.process = None
        self.task = asyncio.create_task(self.run())

    async def run(self):
        # The server expects the socket as descriptor 3, and checks that LISTEN_PID is its own pid.
        script = 'ulimit -c 0; LISTEN_PID=$$ LISTEN_FDS=1; export LISTEN_PID LISTEN_FDS; exec "$0" "$@" 3<&0 0</dev/null'
        while True:
            self.process = subprocess.Popen(["sh", "-c", script, self.server, self.mode], env=environment(),
                                            stdin=self.listener, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.ends[await asyncio.to_thread(self.process.wait)] += 1

    async def stop(self):
        self.task.cancel()
        self.process.kill()
        self.process.wait()
        self.listener.close()
        return self.ends


class Serve:
    """`crashctl serve`, which holds the listening socket."""

    def __init__(self, crashctl, server, mode):
        self.process = subprocess.Popen(
            ["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", crashctl, "serve", "--listen", "127.0.0.1:0", "--",
             server, mode], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        # The server inherits the standard output of crashctl, and prints the port of the socket.
        self.port = int(self.process.stdout.readline())

    async def stop(self):
        self.process.terminate()
        await end_of(self.process)
        return {}


async def drain(supervisor, traps, failures):
    """Runs the third part. Returns its counts."""
    while await request(supervisor.port, "/fast") != 200:
        await asyncio.sleep(0.01)
    load = Load(supervisor.port, 20, keeps=False, pause=0.005)
    trapped = collections.Counter()
    for index in range(traps):
        trapped[await request(supervisor.port, f"/trap/{KINDS[index % len(KINDS)]}")] += 1
        await asyncio.sleep(0.5)
    seen = await load.stop()
    ends = await supervisor.stop()
    if trapped != {500: traps}:
        failures.append(f"drain: the traps were answered by {dict(trapped)}")
    if set(seen) != {200}:
        failures.append(f"drain: the other requests saw {dict(seen)}")
    if ends and set(ends) != {-signal.SIGILL}:
        failures.append(f"drain: the processes ended with {dict(ends)}")
    return trapped[500], sum(seen.values()), sum(seen.values()) - seen[200]


async def measure(options, failures):
    runs = 10 if options.long else 1
    lines = []
    for run in range(runs):
        answered, requests, failed, slow, drained = await contain(options.server, 20 if options.long else 5, failures)
        lines.append(f"contain({BUDGET}): {answered} of {BUDGET} traps answered, {failed} of {requests} other requests "
                     f"lost, then {slow} of {IN_FLIGHT} drained in {drained:.2f} s")
        print(f"load.py: run {run + 1} of {runs}: {lines[-1]}", flush=True)
    lost, sent = await unshielded(options.server)
    lines.append(f"off: one trap lost {lost} of {sent} requests")
    print(f"load.py: {lines[-1]}", flush=True)
    traps = 120 if options.long else 10
    supervisor = Serve(options.serve, options.server, "drain") if options.serve else Supervisor(options.server, "drain")
    answered, requests, failed = await drain(supervisor, traps, failures)
    lines.append(f"drain with a held socket: {answered} of {traps} traps answered, {failed} of {requests} other "
                 "requests lost or refused")
    print("containment: " + "; ".join(lines[-3:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--serve", metavar="CRASHCTL")
    options = parser.parse_args()
    failures = []
    asyncio.run(measure(options, failures))
    for failure in failures:
        print(f"load.py: {failure}", file=sys.stderr)
    raise SystemExit(1 if failures else 0)


main()
