#!/usr/bin/env python3
"""Measures how many crashes crashd stores per second, and how long `crashctl list` takes with many reports.

Usage: service.py BINARIES [--crashes N] [--clients N] [--reports N] [--runs N] [--ingest-only] [--growth N,N,N]
[--growth-only]

BINARIES contains crashd, crashctl, crash-analyse and crash-maker.

Crashes: rings of real crashes of crash-maker, each with its own id in its own memory file. Several
clients send these rings through the attach socket at the same time, as crashed processes do. The measured time ends
when all crashes are stored. Before the measured time, the symbols of all images are read, and every kind of crash is
stored twice. Further crashes are then stored until the database's log and crashd's caches are as large as in a crashd
that has run for a long time.

Reports: the stored reports are copied inside the database until it has the requested number.

Growth: measures calls, and the storing of crashes, with several numbers of reports. The rows are written directly into
the database, without the JSON, which lists do not read.
"""

import argparse
import array
import fcntl
import json
import math
import multiprocessing
import os
import pathlib
import resource
import secrets
import signal
import socket
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 600
WARM_UP = 200
SCENARIOS = ["array-index", "force-unwrap", "divide-by-zero", "null-write", "abort", "raise", "stack-overflow", "task-deep-async"]
# Constants of the attach protocol and of the ring format, as in cs_attach.h and cs_ring.h.
ATTACH_MAGIC, ATTACH_VERSION, CRASHED = 0x0048435454415343, 2, b"\x43"
RING_VERSION_OFFSET = 8
ADD_SEALS, SEALS = 1033, 0x2 | 0x4 | 0x1  # F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL


def call(path: str, method: str, parameters: dict) -> dict:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        message = {"method": f"io.crashshield.Crashd.{method}", "parameters": parameters}
        connection.sendall(json.dumps(message).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"):
            piece = connection.recv(1 << 20)
            if not piece:
                raise ConnectionError("crashd has closed the connection")
            reply += piece
    return json.loads(reply[:-1])["parameters"]


class Daemon:
    running: list[subprocess.Popen] = []

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path):
        self.varlink, self.attach = str(folder / "run/io.crashshield.Crashd"), str(folder / "run/attach")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            path = folder / "notify"
            path.unlink(missing_ok=True)
            notify.bind(str(path))
            notify.settimeout(PATIENCE_S)
            self.process = subprocess.Popen(
                [binaries / "crashd", "--runtime-directory", folder / "run", "--state-directory", folder / "state",
                 "--log-level", "warning", "--set", "retention.reports-per-group=1000000", "--set",
                 "retention.bytes=100GiB", "--set", "retention.keep-free=0", "--set", "retention.age=4000d"],
                env=os.environ | {"NOTIFY_SOCKET": str(path)}, stderr=open(folder / "crashd.log", "a"))
            Daemon.running.append(self.process)
            while b"READY=1" not in notify.recv(4096):
                pass

    def stored(self) -> int:
        return call(self.varlink, "Status", {})["reports"]

    def await_stored(self, count: int):
        deadline = time.monotonic() + PATIENCE_S
        while self.stored() < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.stored()} of {count} crashes are stored: {call(self.varlink, 'Status', {})}")
            time.sleep(0.01)

    def cpu_ms(self) -> tuple[float, float]:
        """Returns the CPU time of crashd, and that of its ended children, in ms, from /proc/PID/stat (proc(5))."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
        return own * 1000 / os.sysconf("SC_CLK_TCK"), children * 1000 / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(PATIENCE_S) != 0:
            raise RuntimeError("crashd did not stop well")


def pieces(path: pathlib.Path) -> tuple[int, list[tuple[int, bytes]]]:
    """Returns the size of a ring's file, and the parts of this sparse file that are not holes, with their offsets."""
    result = []
    with open(path, "rb", buffering=0) as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            result.append((start, os.pread(file.fileno(), at - start, start)))
    return size, result


def memory_file(ring: tuple[int, list[tuple[int, bytes]]], name: str) -> int:
    """Returns a sealed memory file with the contents of the ring and a new random id."""
    size, parts = ring
    number = os.memfd_create("ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(number, size)
    for start, data in parts:
        os.pwrite(number, data, start)
    begin = parts[0][1].index(bytes.fromhex(name))
    os.pwrite(number, secrets.token_bytes(16), begin)
    fcntl.fcntl(number, ADD_SEALS, SEALS)
    return number


def send(attach: str, rings: list[tuple[str, tuple[int, list[tuple[int, bytes]]]]], count: int, ready, go, offset: int):
    """Runs one client, which sends crashes one after the other, as fast as crashd reads them."""
    files = [memory_file(rings[(offset + index) % len(rings)][1], rings[(offset + index) % len(rings)][0])
             for index in range(count)]
    ring_version = struct.unpack_from("<I", rings[0][1][1][0][1], RING_VERSION_OFFSET)[0]
    hello = struct.pack("<QIIQiI", ATTACH_MAGIC, ATTACH_VERSION, ring_version, rings[0][1][0], os.getpid(), 0)
    hello += bytes(HELLO_BYTES - len(hello))
    ready.release()
    go.wait()
    for number in files:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(attach)
            connection.sendmsg([hello], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [number]))])
            connection.send(CRASHED)
            reply = connection.recv(1024)
            if len(reply) < 16 or any(struct.unpack_from("<I", reply, REPLY_STATUS_OFFSET)):
                raise RuntimeError(f"refused: {reply!r}")
        os.close(number)


# cs_attach_hello and cs_attach_reply begin with magic (8 bytes) and version (4 bytes).
HELLO_BYTES = 8 + 4 + 4 + 8 + 4 + 4 + 2 * 252
REPLY_STATUS_OFFSET = 12


def make_rings(binaries: pathlib.Path, folder: pathlib.Path) -> list:
    spool = folder / "left"
    spool.mkdir()
    environment = os.environ | {"SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": str(folder / "absent"),
                                "CRASHSHIELD_SPOOL": str(spool)}
    for scenario in SCENARIOS:
        subprocess.run([binaries / "crash-maker", scenario], env=environment, stderr=subprocess.DEVNULL)
    rings = [(path.stem, pieces(path)) for path in sorted(spool.glob("*.ring"))]
    if len(rings) != len(SCENARIOS):
        raise RuntimeError(f"{len(rings)} of {len(SCENARIOS)} crashes left their ring")
    return rings


def measure_ingest(binaries: pathlib.Path, folder: pathlib.Path, rings: list, crashes: int, clients: int) -> float:
    daemon = Daemon(binaries, folder)
    # Stores some crashes before the measurement, so that crashd has already read the symbols of all images.
    for count in (len(rings), 2 * len(rings), 2 * len(rings) + WARM_UP):
        sender(daemon, rings, count - daemon.stored(), 1)
        daemon.await_stored(count)
        settled(daemon)
    before = daemon.stored()
    cpu = daemon.cpu_ms()
    begin = sender(daemon, rings, crashes, clients)
    daemon.await_stored(before + crashes // clients * clients)
    took = time.monotonic() - begin
    # Also prints the processor times, which are more reliable than the elapsed time while other programs use the
    # machine.
    own, children = (after - old for after, old in zip(daemon.cpu_ms(), cpu))
    named = call(daemon.varlink, "List", {"limit": 200})["reports"]
    without = sum(not report["function"] for report in named)
    status = call(daemon.varlink, "Status", {})
    memory = next(line for line in open(f"/proc/{daemon.process.pid}/status") if line.startswith("VmHWM"))
    crashes = crashes // clients * clients
    print(f"ingest: {crashes} crashes of {len(rings)} kinds from {clients} clients in {took:.2f} s: "
          f"{crashes / took:.0f} a second; {without} of the last {len(named)} without a function; "
          f"losses {status['losses']}; {own / crashes:.2f} ms of CPU time a crash in crashd, "
          f"{children / crashes:.2f} ms in its children; crashd's memory at most {int(memory.split()[1]) // 1024} MiB", flush=True)
    daemon.stop()
    return crashes / took


def has_children(pid: int) -> bool:
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            if path.read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            # Skips a thread that ended after the directory was listed: its file no longer exists.
            continue
    return False


def settled(daemon: Daemon):
    """Waits until crashd has no child processes: symbol jobs and unwind cross-checks of the warm-up have then ended."""
    deadline = time.monotonic() + PATIENCE_S
    quiet = 0
    while quiet < 20:
        if time.monotonic() > deadline:
            raise RuntimeError("crashd's children do not end")
        quiet = quiet + 1 if not has_children(daemon.process.pid) else 0
        time.sleep(0.05)


def sender(daemon: Daemon, rings: list, crashes: int, clients: int) -> float:
    ready, go = multiprocessing.Semaphore(0), multiprocessing.Event()
    processes = [
        multiprocessing.Process(target=send, args=(daemon.attach, rings, crashes // clients, ready, go, index))
        for index in range(clients)]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    begin = time.monotonic()
    go.set()
    for process in processes:
        process.join(PATIENCE_S)
        if process.exitcode != 0:
            raise RuntimeError("a client failed")
    return begin


def multiply(database: pathlib.Path, reports: int):
    connection = sqlite3.connect(database)
    (count,) = connection.execute("SELECT count(*) FROM reports").fetchone()
    tables = {"reports": "seq", "group_reports": ""}
    columns = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != number]
               for table, number in tables.items()}
    source = [row[0] for row in connection.execute("SELECT id FROM reports ORDER BY seq")]
    with connection:
        for index in range(reports - count):
            old, new = source[index % len(source)], secrets.token_hex(16)
            for table, names in columns.items():
                values = ", ".join("?2" if name == "id" else "CAST(replace(CAST(json AS TEXT), ?1, ?2) AS BLOB)"
                                   if name == "json" else name for name in names)
                connection.execute(
                    f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} WHERE id = ?1", (old, new))
    connection.close()


def measure_list(binaries: pathlib.Path, folder: pathlib.Path, reports: int, runs: int) -> dict[str, float]:
    multiply(folder / "state/reports.sqlite", reports)
    daemon = Daemon(binaries, folder)
    print(f"list: {daemon.stored()} reports, {os.stat(folder / 'state/reports.sqlite').st_size >> 20} MiB", flush=True)
    result = {}
    for words in (["list"], ["list", "-r", "--json=short"], ["list", "-n", "25"], ["list", "--name", "crash-maker"],
                  ["list", "--signal", "segv"], ["list", "-S", "-1h"], ["groups"], ["show"], ["list", "--all"]):
        times = []
        for _ in range(3 if "--all" in words else runs):
            begin = time.monotonic()
            subprocess.run([binaries / "crashctl", *words, "--socket", daemon.varlink], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times.append((time.monotonic() - begin) * 1000)
        name = "crashctl " + " ".join(words)
        result[name] = statistics.median(times)
        print(f"{name}: {statistics.median(times):.0f} ms, at most {max(times):.0f} ms of {len(times)}", flush=True)
    daemon.stop()
    return result


# Each row has only the columns that lists of reports read, without a report's JSON of about 30 KB, which is too much
# for a million rows.
FILL = """
WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO reports (id, time, pid, uid, name, executable, signal, reason, sentence, function, file, line, group_key,
  group_title, json)
SELECT lower(hex(randomblob(16))), strftime('%Y-%m-%dT%H:%M:%S.000000Z', :now - 5000000 + i, 'unixepoch'), 1000 + i % 3000,
  :uid, 'server-' || (i % 40), '/srv/app/server-' || (i % 40), 'SIGILL', 'Fatal error: Index out of range',
  'The index is out of range.', 'Shop.buy(_:)', '/src/Sources/Shop/Shop.swift', i % 500,
  printf('%016x', (i * 7919) % 500), 'index out of range in Shop.buy(_:)', '{}' FROM n
"""
FILL_GROUPS = """
INSERT INTO group_reports (group_key, uid, time, id, build, name, executable, title, bytes)
SELECT group_key, uid, time, id, printf('%040x', seq % 5), name, executable, group_title, length(json)
FROM reports WHERE seq > ?
"""


def fill(database: pathlib.Path, reports: int):
    """Inserts rows that are older than the reports that crashd has stored, so that the newest report is complete."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA synchronous = OFF")
    while (missing := reports - connection.execute("SELECT sum(reports) FROM user_shares").fetchone()[0]) > 0:
        (last,) = connection.execute("SELECT max(seq) FROM reports").fetchone()
        with connection:
            connection.execute(FILL, {"first": last, "last": last + min(missing, 50_000) - 1, "now": int(time.time()),
                                      "uid": os.getuid()})
            connection.execute(FILL_GROUPS, (last,))
    connection.close()


def measure_growth(binaries: pathlib.Path, folder: pathlib.Path, rings: list, sizes: list[int], runs: int) -> list[str]:
    """Measures calls and the storing of crashes with each number of reports. Returns a message for each call whose time
    grows faster than the logarithm of that number."""
    calls = {"list": ("List", {"limit": 100, "count": True}), "groups": ("Groups", {"limit": 100}),
             "show": ("Get", {}), "status": ("Status", {})}
    table: dict[str, list[float]] = {}
    # Stores complete reports before the first call of fill(), which adds only older rows. So the newest report, which
    # `show` reads, is complete.
    daemon = Daemon(binaries, folder)
    sender(daemon, rings, 2 * len(rings), 1)
    daemon.await_stored(2 * len(rings))
    settled(daemon)
    daemon.stop()
    for size in sizes:
        begin = time.monotonic()
        fill(folder / "state/reports.sqlite", size)
        filled = time.monotonic() - begin
        daemon = Daemon(binaries, folder)
        settled(daemon)
        for name, (method, parameters) in calls.items():
            times = []
            for _ in range(runs):
                begin = time.monotonic()
                call(daemon.varlink, method, parameters)
                times.append((time.monotonic() - begin) * 1000)
            # Takes the minimum of many runs, because other work on the machine only adds time.
            table.setdefault(f"{name}, ms", []).append(min(times))
        rates = []
        for _ in range(3):
            before, cpu = daemon.stored(), daemon.cpu_ms()[0]
            sender(daemon, rings, GROWTH_CRASHES, 1)
            daemon.await_stored(before + GROWTH_CRASHES)
            settled(daemon)
            rates.append((daemon.cpu_ms()[0] - cpu) / GROWTH_CRASHES)
        table.setdefault("ingest, ms of CPU a crash", []).append(min(rates))
        daemon.stop()
        bytes = os.stat(folder / "state/reports.sqlite").st_size
        print(f"growth: {size} reports, {bytes >> 20} MiB, filled in {filled:.0f} s", flush=True)
    print(f"{'growth':28}" + "".join(f"{size:>14,}" for size in sizes) + f"{'last to first':>16}")
    worse = []
    for name, values in table.items():
        ratio = values[-1] / max(values[0], 0.01)
        print(f"{name:28}" + "".join(f"{value:14.2f}" for value in values) + f"{ratio:16.2f}", flush=True)
        # Adds 1 ms to each time, about the time that the socket takes in each call, so that short calls do not fail.
        if (values[-1] + 1) / (values[0] + 1) > GROWTH_NOISE * math.log(sizes[-1]) / math.log(sizes[0]):
            worse.append(f"{name} grows by {ratio:.1f} from {sizes[0]} to {sizes[-1]} reports")
    return worse


GROWTH_CRASHES, GROWTH_NOISE = 200, 2


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--crashes", type=int, default=4_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--ingest-only", action="store_true")
    parser.add_argument("--growth", default="10000,100000,1000000", help="numbers of reports; empty: none")
    parser.add_argument("--growth-only", action="store_true")
    arguments = parser.parse_args()
    # On SIGTERM, exit as usual, so that the exit handlers end the child processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    binaries = arguments.binaries.resolve()
    with tempfile.TemporaryDirectory(prefix="service-") as name:
        folder = pathlib.Path(name)
        (folder / "run").mkdir()
        (folder / "state").mkdir(mode=0o700)
        try:
            rings = make_rings(binaries, folder)
            rate = measure_ingest(binaries, folder, rings, arguments.crashes, arguments.clients)
            isListed = not arguments.ingest_only and not arguments.growth_only
            times = measure_list(binaries, folder, arguments.reports, arguments.runs) if isListed else {}
            sizes = [] if arguments.ingest_only or not arguments.growth else [int(n) for n in arguments.growth.split(",")]
            if sizes and isListed:
                (folder / "grown").mkdir()
                (folder / "grown/run").mkdir()
                (folder / "grown/state").mkdir(mode=0o700)
            grown = folder / "grown" if isListed else folder
            worse = measure_growth(binaries, grown, rings, sizes, arguments.runs) if sizes else []
        finally:
            for process in Daemon.running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
    wrong = worse + ([f"{rate:.0f} crashes a second"] if rate < 500 else [])
    wrong += [f"{name}: {value:.0f} ms" for name, value in times.items() if value > 100 and "--all" not in name]
    print("missed: " + ", ".join(wrong) if wrong else "all of it as promised")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
