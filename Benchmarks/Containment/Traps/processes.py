"""Runs servers as child processes, and supervisors that hold the servers' listening sockets."""

import asyncio
import collections
import os
import socket
import subprocess

# The time limit for events that always happen unless the server hangs.
PATIENCE_S = 120


def environment():
    # The servers run without crashd and without a spool, because the benchmark does not read the crash records.
    return {**os.environ, "SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": "/dev/null/attach",
            "CRASHSHIELD_SPOOL": "/dev/null/spool"}


def start(arguments):
    """Starts a program that prints its port. Returns the process and the port."""
    process = subprocess.Popen(["sh", "-c", 'ulimit -c 0; exec "$@"', "sh", *arguments], env=environment(),
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


class Supervisor:
    """A supervisor that holds a listening socket, and restarts the server whenever the server ends."""

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
        # The server prints the port of the socket that it inherited.
        self.process, self.port = start([crashctl, "serve", "--listen", "127.0.0.1:0", "--", server, mode])

    async def stop(self):
        self.process.terminate()
        await end_of(self.process)
        return {}
