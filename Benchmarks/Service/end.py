#!/usr/bin/env python3
"""Measures how long a crash takes to close the other connections of a server.

Usage: end.py BINARIES [--runs N] [--connections N]

BINARIES contains crashd and DemoServer. Each run starts the server, opens idle connections, and requests an array index
out of range four awaits deep. Idle: the server has no other requests. Loaded: wrk sends requests on 50 more
connections.

Four ways alternate, so that the load of the machine affects all of them alike: no shield, the shield, the shield
without the stacks of other threads (CRASHSHIELD_SWEEP_MS=0), and Swift's own backtracer. Prints median and maximum in
ms, from the request and from the start of the signal handler to the close of the last connection, and the ratio of the
medians to those without the shield. Fails if the shield is slower without the stacks of other threads than with them
(S14), by more than the factor NOISE.
"""

import argparse
import mmap
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 60
LOAD_CONNECTIONS = 50
NOISE = 1.25
# The offset of the first slot's record, and the offset of entry_ns in the record (docs/ring-format.md).
RING_BYTES, SLOTS_AT, SLOT_COUNT, SLOT_BYTES, RECORD_AT, ENTRY_AT = 12095488, 561152, 64, 81920, 64, 16
BARE, SHIELD, NO_SWEEP, BACKTRACER = "no shield", "shield", "shield, CRASHSHIELD_SWEEP_MS=0", "Swift's backtracer"
WAYS = {
    BARE: {"CRASHSHIELD_DISABLE": "1"},
    SHIELD: {},
    NO_SWEEP: {"CRASHSHIELD_SWEEP_MS": "0"},
    BACKTRACER: {"CRASHSHIELD_DISABLE": "1", "SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no"},
}


def await_true(what: str, condition):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.001)
    return found


class Ring:
    """The ring of a running process, which is found among the descriptors of the process's threads in /proc."""

    def __init__(self, pid: int):
        self.bytes = mmap.mmap(await_true("the server has no ring", lambda: self.find(pid)), RING_BYTES, prot=mmap.PROT_READ)

    @staticmethod
    def find(pid: int) -> int | None:
        for link in pathlib.Path(f"/proc/{pid}/task").glob("*/fd/*"):
            try:
                if os.readlink(link).startswith("/memfd:") and link.stat().st_size == RING_BYTES:
                    return os.open(link, os.O_RDONLY)
            except OSError:
                continue  # the descriptor was closed in the meantime
        return None

    def entry_ns(self) -> int:
        """Returns the time at which the handler of the first crash began."""
        entries = [
            struct.unpack_from("<Q", self.bytes, SLOTS_AT + slot * SLOT_BYTES + RECORD_AT + ENTRY_AT)[0]
            for slot in range(SLOT_COUNT)
        ]
        return min(entry for entry in entries if entry != 0)


def backtracer() -> pathlib.Path:
    return pathlib.Path(shutil.which("swiftc")).resolve().parent.parent / "libexec/swift/linux/swift-backtrace-static"


class Server:
    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, environment: dict[str, str]):
        places = {"CRASHSHIELD_SOCKET": str(folder / "run/attach"), "CRASHSHIELD_SPOOL": str(folder / "run/spool")}
        variables = os.environ | {"SWIFT_BACKTRACE": "enable=no"} | places | environment
        if "enable=yes" in variables["SWIFT_BACKTRACE"]:
            variables["SWIFT_BACKTRACE"] += f",swift-backtrace={backtracer()}"
        self.process = subprocess.Popen(
            [binaries / "DemoServer"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables)
        self.port = int(re.search(rb":(\d+)", self.process.stdout.readline())[1])

    def connect(self) -> socket.socket:
        """Opens a connection, sends a request, and returns the connection after the response."""
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request(connection, "/healthy")
        if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
            raise ConnectionError("the server is not healthy")
        return connection

    @staticmethod
    def request(connection: socket.socket, path: str):
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def await_close(connection: socket.socket):
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass


def run(binaries: pathlib.Path, folder: pathlib.Path, way: str, is_loaded: bool, connections: int) -> tuple[float, float]:
    """Returns the times from the request, and from the start of the handler, to the close of the last connection, in
    ms. The second time is NaN without the shield, because its handler does not run."""
    server = Server(binaries, folder, WAYS[way])
    waiting = [server.connect() for _ in range(connections)]
    ring = None if "CRASHSHIELD_DISABLE" in WAYS[way] else Ring(server.process.pid)
    load = None
    if is_loaded:
        load = subprocess.Popen(["wrk", "-t1", f"-c{LOAD_CONNECTIONS}", "-d60", f"http://127.0.0.1:{server.port}/cart"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Waits until the server is busy: it has then used 0.2 s of processor time.
        start = used_s(server.process.pid)
        await_true("wrk sends nothing", lambda: used_s(server.process.pid) - start >= 0.2)
    crash = server.connect()
    start_ns = time.monotonic_ns()
    server.request(crash, "/cart/array-index")
    for connection in [*waiting, crash]:
        await_close(connection)
    end_ns = time.monotonic_ns()
    if (status := server.process.wait(PATIENCE_S)) != -signal.SIGILL:
        raise RuntimeError(f"{way}: the server ended with {status}")
    if load is not None:
        load.kill()
        load.wait()
    for connection in [*waiting, crash]:
        connection.close()
    return (end_ns - start_ns) / 1e6, (end_ns - ring.entry_ns()) / 1e6 if ring else float("nan")


def used_s(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start_crashd(binaries: pathlib.Path, folder: pathlib.Path) -> subprocess.Popen:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(folder / "notify"))
        notify.settimeout(PATIENCE_S)
        crashd = subprocess.Popen(
            [binaries / "crashd", "--runtime-directory", folder / "run", "--state-directory", folder / "state"],
            env=os.environ | {"NOTIFY_SOCKET": str(folder / "notify")}, stderr=open(folder / "crashd.log", "w"))
        while b"READY=1" not in notify.recv(4096):
            pass
    return crashd


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--connections", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        crashd = start_crashd(arguments.binaries.resolve(), folder)
        try:
            results = [measure(arguments, folder, is_loaded) for is_loaded in [False, True]]
        finally:
            crashd.terminate()
            crashd.wait(PATIENCE_S)
    if not all(results):
        print(f"S14: {NO_SWEEP} is slower than {SHIELD}", file=sys.stderr)
        return 1
    return 0


def measure(arguments: argparse.Namespace, folder: pathlib.Path, is_loaded: bool) -> bool:
    """Returns False if the shield is slower without the stacks of other threads than with them."""
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(arguments.runs):
        for way in WAYS:
            taken[way].append(run(arguments.binaries.resolve(), folder, way, is_loaded, arguments.connections))
    bare = statistics.median(whole for whole, _ in taken[BARE])
    print(f"{'loaded' if is_loaded else 'idle'}: median and longest of {arguments.runs}, in ms")
    for way, values in taken.items():
        whole, inside = ([value[column] for value in values] for column in range(2))
        text = f"  {way:32} {statistics.median(whole):8.1f} {max(whole):8.1f}  × {statistics.median(whole) / bare:5.2f}"
        if inside[0] == inside[0]:
            text += f"  since the handler began {statistics.median(inside):6.1f} {max(inside):6.1f}"
        print(text, flush=True)
    own, without = (statistics.median(whole for whole, _ in taken[way]) for way in (SHIELD, NO_SWEEP))
    return without <= NOISE * own


if __name__ == "__main__":
    sys.exit(main())
