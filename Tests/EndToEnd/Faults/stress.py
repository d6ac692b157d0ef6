#!/usr/bin/env python3
"""Tests crashd under unusual load and failures. Each part prints its counts and fails if something is lost.

Usage: stress.py BINARIES [--processes N] [--rate N] [--seconds S] [--part NAME]...

BINARIES is a directory with crashd, crash-analyse and crash-maker. It must be a release build, because crashd's memory
is measured. The parts:

  idle      N attached processes do nothing: measures crashd's descriptors and memory, and crashes beside the processes
  rate      N crashes a second arrive at the attach socket for S seconds. One subscriber never reads, and a collector
            ends and returns. Each crash is stored or refused, and another subscriber receives each stored crash.
  clock     crashd's real-time clock jumps by years forward and back: no report is removed or missing
  disk      the state directory's file system is full while processes crash: reports wait and are stored later
            (root only, because the test mounts a small file system)
  readonly  the state directory is read-only for a time while processes crash
  corrupt   overwrites pages of the database: crashd sets it aside while processes crash, and restores readable reports
"""

import argparse
import array
import contextlib
import ctypes
import json
import mmap
import multiprocessing
import os
import pathlib
import queue
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "Benchmarks" / "Service"))
import service  # noqa: E402

PATIENCE_S = 600
IDLE_MIB, BUSY_MIB = 40, 150
DESCRIPTORS_A_PROCESS = 3
YEAR_S = 365 * 24 * 3600
# The offset of the image count in a ring, and the size of the ring's header, as in cs_ring.h.
IMAGE_COUNT_OFFSET, HEADER_BYTES = 56, 4096
CLIENTS = 4
# These constants are CLONE_NEWNS from <sched.h>, and MS_REC, MS_PRIVATE and MNT_DETACH from <sys/mount.h>.
NEW_MOUNTS, RECURSIVE, PRIVATE, DETACH = 0x00020000, 0x4000, 1 << 18, 2
OUTAGE_RATE, OUTAGE_S = 40, 5


class Checks:
    failed = 0

    @classmethod
    def check(cls, what: str, is_good: bool, details=""):
        cls.failed += not is_good
        print(f"{'ok' if is_good else 'FAILED'}: {what}{f' ({details})' if details != '' else ''}", flush=True)


class Daemon:
    """A crashd process in its own directories."""

    running: list[subprocess.Popen] = []

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, settings: list[str],
                 environment: dict[str, str] | None = None, configuration: str = "", exists: bool = False):
        for name, mode in (("run", 0o755), ("state", 0o700)):
            (folder / name).mkdir(mode=mode, parents=True, exist_ok=exists)
        (folder / "notify").unlink(missing_ok=True)
        (folder / "crashd.yaml").write_text(configuration)
        self.varlink, self.attach = str(folder / "run/io.crashshield.Crashd"), str(folder / "run/attach")
        self.log = folder / "crashd.log"
        words = [binaries / "crashd", "--runtime-directory", folder / "run", "--state-directory", folder / "state",
                 "--config", folder / "crashd.yaml", "--log-level", "warning"]
        for setting in ["retention.reports-per-group=1000000", "retention.keep-free=0", "retention.bytes=100GiB",
                        *settings]:
            words += ["--set", setting]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, open(self.log, "ab") as log:
            path = folder / "notify"
            notify.bind(str(path))
            notify.settimeout(PATIENCE_S)
            self.process = subprocess.Popen(
                words, env=os.environ | {"NOTIFY_SOCKET": str(path)} | (environment or {}), stderr=log)
            Daemon.running.append(self.process)
            while b"READY=1" not in notify.recv(4096):
                pass

    def status(self) -> dict:
        return service.call(self.varlink, "Status", {})

    def counted(self) -> int:
        return sum(group["count"] for group in service.call(self.varlink, "Groups", {"limit": 1000})["groups"])

    def memory_mib(self, field: str) -> float:
        """Returns crashd's current (VmRSS) or peak (VmHWM) resident memory."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def processor_s(self) -> float:
        words = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


def await_true(what: str, condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not {what} within {PATIENCE_S} s")
        time.sleep(0.05)


def real_rings(binaries: pathlib.Path, folder: pathlib.Path) -> list:
    """Returns the spooled rings of real crashes, each with its id."""
    spool = folder / "left"
    spool.mkdir()
    environment = os.environ | {"SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": str(folder / "absent"),
                                "CRASHSHIELD_SPOOL": str(spool)}
    for scenario in service.SCENARIOS:
        subprocess.run([binaries / "crash-maker", scenario], env=environment, stderr=subprocess.DEVNULL)
    rings = [(path.stem, service.pieces(path)) for path in sorted(spool.glob("*.ring"))]
    if len(rings) != len(service.SCENARIOS):
        raise RuntimeError(f"{len(rings)} of {len(service.SCENARIOS)} crashes left their ring")
    return rings


def hello(rings: list) -> bytes:
    version = struct.unpack_from("<I", rings[0][1][1][0][1], service.RING_VERSION_OFFSET)[0]
    text = struct.pack("<QIIQiI", service.ATTACH_MAGIC, service.ATTACH_VERSION, version, rings[0][1][0], os.getpid(), 0)
    return text + bytes(service.HELLO_BYTES - len(text))


def attach(path: str, message: bytes, memory: int, crashes: bool) -> tuple[socket.socket, bool]:
    """Returns a connection, and whether crashd has accepted it. Closes the memory file."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.connect(path)
        connection.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [memory]))])
        try:
            if crashes:
                connection.send(service.CRASHED)
            reply = connection.recv(1024)
        except (ConnectionResetError, BrokenPipeError):
            # crashd has refused the process. It closed the socket while the socket had unread data, so the kernel has
            # discarded crashd's reply.
            reply = b""
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(memory)
    return connection, len(reply) >= 16 and not any(struct.unpack_from("<I", reply, service.REPLY_STATUS_OFFSET))


def crash_at_rate(path: str, rings: list, rate: float, count: int, offset: int, results):
    """One client: sends `rate` crashes a second, each on its own connection, and counts the accepted crashes."""
    message, accepted, begin = hello(rings), 0, time.monotonic()
    for index in range(count):
        time.sleep(max(0.0, begin + index / rate - time.monotonic()))
        name, ring = rings[(offset + index) % len(rings)]
        connection, is_accepted = attach(path, message, service.memory_file(ring, name), True)
        connection.close()
        accepted += is_accepted
    results.put((accepted, time.monotonic() - begin))


def crash(daemon: Daemon, rings: list, rate: float, seconds: float) -> tuple[int, int, float]:
    """Sends crashes. Returns how many were sent, how many of them were accepted, and the time that it took."""
    results = multiprocessing.Queue()
    count = int(rate * seconds / CLIENTS)
    clients = [multiprocessing.Process(
        target=crash_at_rate, args=(daemon.attach, rings, rate / CLIENTS, count, index, results), daemon=True)
        for index in range(CLIENTS)]
    for client in clients:
        client.start()
    answers = []
    while len(answers) < len(clients):
        try:
            answers.append(results.get(timeout=1))
        except queue.Empty:
            if any(client.exitcode for client in clients):
                raise RuntimeError("a client failed") from None
    for client in clients:
        client.join()
    return count * CLIENTS, sum(accepted for accepted, _ in answers), max(took for _, took in answers)


class Subscriber:
    """A subscriber that records the ids of the reports that it receives."""

    def __init__(self, daemon: Daemon):
        self.ids: set[str] = set()
        self.lost = 0
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(daemon.varlink)
        subscribe(self.socket)
        self.is_ready = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()
        if not self.is_ready.wait(PATIENCE_S):
            raise RuntimeError("a subscriber gets no answer")

    def run(self):
        rest = b""
        with contextlib.suppress(OSError):
            while piece := self.socket.recv(1 << 20):
                *messages, rest = (rest + piece).split(b"\0")
                for message in messages:
                    event = json.loads(message)["parameters"]
                    self.is_ready.set()
                    if "report" in event:
                        self.ids.add(event["report"]["id"])
                        self.lost += event.get("lost") or 0


def subscribe(connection: socket.socket):
    call = {"method": "io.crashshield.Crashd.Subscribe", "parameters": {}, "more": True}
    connection.sendall(json.dumps(call).encode() + b"\0")


class Collector:
    """Receives forwarded events until `die`, and again after `begin`."""

    def __init__(self, path: str):
        self.path, self.ids = path, set()
        self.begin()

    def begin(self):
        self.is_dead = False
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(4)
        self.thread = threading.Thread(target=self.run, args=(self.listener,), daemon=True)
        self.thread.start()

    def run(self, listener: socket.socket):
        while not self.is_dead:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
                for line in lines:
                    event = json.loads(line)
                    if self.is_dead:
                        break
                    self.ids.add(event["report"]["id"])
                    connection.sendall(json.dumps({"ack": event["cursor"]}).encode() + b"\n")

    def die(self):
        self.is_dead = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        os.unlink(self.path)


def idle(binaries: pathlib.Path, folder: pathlib.Path, rings: list, arguments: argparse.Namespace):
    count = arguments.processes
    daemon = Daemon(binaries, folder / "idle", [f"limits.processes={count + 16}", f"limits.rings={count + 64}"])
    service.settled(daemon)
    before, memory = daemon.descriptors(), daemon.memory_mib("VmRSS")
    Checks.check(f"an idle crashd uses at most {IDLE_MIB} MiB", memory <= IDLE_MIB, f"{memory:.1f} MiB")
    # Creates a ring without images and without a crash.
    name, (size, parts) = rings[0]
    header = bytearray(parts[0][1][:HEADER_BYTES])
    struct.pack_into("<II", header, IMAGE_COUNT_OFFSET, 0, 0)
    empty = (size, [(0, bytes(header))])
    message, connections, refused = hello(rings), [], 0
    begin = time.monotonic()
    for _ in range(count):
        connection, is_accepted = attach(daemon.attach, message, service.memory_file(empty, name), False)
        connections.append(connection)
        refused += not is_accepted
    took = time.monotonic() - begin
    Checks.check(f"{count} processes attach", refused == 0, f"{refused} refused, {took:.1f} s")
    await_true("known", lambda: daemon.status()["processes"] >= count - refused)
    each = (daemon.descriptors() - before) / count
    Checks.check(f"each process uses at most {DESCRIPTORS_A_PROCESS} descriptors of crashd",
                 each <= DESCRIPTORS_A_PROCESS, f"{each:.3f}")
    memory = daemon.memory_mib("VmHWM")
    Checks.check(f"crashd with these processes uses at most {BUSY_MIB} MiB", memory <= BUSY_MIB, f"{memory:.1f} MiB")
    used = daemon.processor_s()
    time.sleep(arguments.seconds)
    print(f"  the idle processes cost {(daemon.processor_s() - used) / arguments.seconds * 100:.2f} % of a processor",
          flush=True)
    sent, accepted, _ = crash(daemon, rings, 8, 1)
    await_true("stored", lambda: daemon.status()["reports"] >= accepted)
    Checks.check("crashes beside idle processes are stored", sent == accepted and daemon.counted() == sent,
                 f"{accepted}")
    for connection in connections:
        connection.close()
    await_true("detached", lambda: daemon.status()["processes"] == 0)
    # Wait for the unwind cross-checks, which keep the descriptors of the rings open.
    service.settled(daemon)
    left = daemon.descriptors() - before
    # Allows up to 16 more descriptors, because the store opens database connections on demand and keeps them open.
    Checks.check("crashd closes the descriptors of ended processes", left <= 16, f"{left} more than before")
    Checks.check("crashd stops with status 0", daemon.stop() == 0)


def rate(binaries: pathlib.Path, folder: pathlib.Path, rings: list, arguments: argparse.Namespace):
    place = folder / "rate"
    path = str(folder / "collector")
    collector = Collector(path)
    daemon = Daemon(binaries, place, [], configuration=f"forward: [{{path: {path}, acknowledge: true, scrub: false}}]\n")
    # Cause one crash before the measurement, so that crashd has already read the symbols.
    crash(daemon, rings, 50, 1)
    service.settled(daemon)
    before = daemon.status()["reports"]
    subscriber, deaf = Subscriber(daemon), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deaf.connect(daemon.varlink)
    subscribe(deaf)
    killer = threading.Timer(arguments.seconds / 3, collector.die)
    killer.start()
    sent, accepted, took = crash(daemon, rings, arguments.rate, arguments.seconds)
    killer.join()
    print(f"  {sent} crashes in {took:.1f} s: {sent / took:.0f} a second, {accepted} accepted", flush=True)
    begin = time.monotonic()
    await_true("stored", lambda: daemon.status()["reports"] >= before + accepted)
    print(f"  all stored {time.monotonic() - begin:.1f} s later", flush=True)
    status, counted = daemon.status(), daemon.counted()
    refused = status["refusals"].get("attach", 0)
    Checks.check("each crash is stored and counted, or refused and counted",
                 counted == before + accepted and refused == sent - accepted and status["losses"] == {},
                 f"{counted - before} counted, {refused} refused, losses {status['losses']}")
    await_true("received by the subscriber", lambda: len(subscriber.ids) >= accepted)
    Checks.check("a subscriber receives each crash while another subscriber never reads",
                 len(subscriber.ids) == accepted, f"{len(subscriber.ids)}, {subscriber.lost} lost")
    heard = len(collector.ids)
    collector.begin()
    await_true("received by the collector", lambda: len(collector.ids) >= before + accepted)
    Checks.check("a collector that was away receives each crash when it is back",
                 len(collector.ids) == before + accepted, f"{heard} before, {len(collector.ids)} in all")
    memory = daemon.memory_mib("VmHWM")
    Checks.check(f"crashd's peak memory is at most {BUSY_MIB} MiB", memory <= BUSY_MIB, f"{memory:.1f} MiB")
    deaf.close()
    Checks.check("crashd stops with status 0", daemon.stop() == 0)


def clock(binaries: pathlib.Path, folder: pathlib.Path, rings: list, _arguments: argparse.Namespace):
    library, shift = folder / "clock.so", folder / "shift"
    subprocess.run([os.environ.get("CLANG", "clang"), "-O1", "-fPIC", "-shared",
                    str(pathlib.Path(__file__).with_name("clock.c")), "-o", library], check=True)
    shift.write_bytes(bytes(8))
    daemon = Daemon(binaries, folder / "clock", ["retention.age=30d"],
                    {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)})
    subscriber = Subscriber(daemon)
    with open(shift, "r+b") as file:
        seconds = mmap.mmap(file.fileno(), 8)
        total = 0
        for years in (0, 10, -10, 20, 0):
            struct.pack_into("<q", seconds, 0, years * YEAR_S)
            sent, accepted, _ = crash(daemon, rings, 20, 2)
            total += sent
            await_true("stored", lambda: daemon.counted() >= total)
            status = daemon.status()
            Checks.check(f"with the clock off by {years} years no crash is lost and no report is removed",
                         status["reports"] == total and accepted == sent and status["losses"] == {},
                         f"{status['reports']} of {total}")
    await_true("received by the subscriber", lambda: len(subscriber.ids) >= total)
    Checks.check("the subscriber has received each crash", len(subscriber.ids) == total and subscriber.lost == 0)
    Checks.check("crashd logs the jumps of the clock", daemon.log.read_text().count("the clock jumped forward") >= 2)
    Checks.check("crashd stops with status 0", daemon.stop() == 0)


@contextlib.contextmanager
def small_file_system(place: pathlib.Path, size: str):
    """Mounts a file system of this size, which only this process and its children can use."""
    library = ctypes.CDLL(None, use_errno=True)
    for what, result in (
            ("unshare", lambda: library.unshare(NEW_MOUNTS)),
            ("make mounts private", lambda: library.mount(b"none", b"/", None, RECURSIVE | PRIVATE, None)),
            ("mount", lambda: library.mount(b"small", str(place).encode(), b"tmpfs", 0, f"size={size}".encode()))):
        if result() != 0:
            raise OSError(ctypes.get_errno(), f"cannot {what}: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        library.umount2(str(place).encode(), DETACH)


def outage(daemon: Daemon, rings: list, begin, end, stored: int = 0):
    """Sends crashes before, during and after an outage of the store, which had `stored` reports before."""
    subscriber, total = Subscriber(daemon), stored
    for step in (None, begin, end):
        if step:
            step()
        sent, accepted, _ = crash(daemon, rings, OUTAGE_RATE, OUTAGE_S)
        total += sent
        Checks.check("every crash is accepted", accepted == sent, f"{accepted} of {sent}")
        if step == begin:
            await_true("held", lambda: daemon.status()["held"] > 0)
            status = daemon.status()
            Checks.check("during the outage reports are held, none is lost, and crashd's status names the failure",
                         status["losses"] == {} and len(status["trouble"]) > 0,
                         f"{status['held']} held: {status['trouble'][0] if status['trouble'] else ''}")
    await_true("stored", lambda: daemon.status()["held"] == 0 and daemon.status()["reports"] >= total)
    status = daemon.status()
    Checks.check("after the outage each report is stored", daemon.counted() == total and status["losses"] == {},
                 f"{total}")
    await_true("received by the subscriber", lambda: len(subscriber.ids) >= total - stored)
    Checks.check("the subscriber has received each crash",
                 len(subscriber.ids) == total - stored and subscriber.lost == 0)
    memory = daemon.memory_mib("VmHWM")
    Checks.check(f"crashd's peak memory is at most {BUSY_MIB} MiB", memory <= BUSY_MIB, f"{memory:.1f} MiB")
    Checks.check("crashd stops with status 0", daemon.stop() == 0)


def disk(binaries: pathlib.Path, folder: pathlib.Path, rings: list, _arguments: argparse.Namespace):
    place = folder / "disk"
    (place / "state").mkdir(mode=0o700, parents=True)
    with small_file_system(place / "state", "96m"):
        os.chmod(place / "state", 0o700)
        daemon = Daemon(binaries, place, [], exists=True)
        # Cause one crash while there is still disk space, so that crashd has already read the symbols.
        before, accepted, _ = crash(daemon, rings, 20, 1)
        await_true("stored", lambda: daemon.status()["reports"] >= accepted)
        service.settled(daemon)
        filler = place / "state" / "filler"

        def fill():
            with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1 << 12)):
                    pass

        outage(daemon, rings, fill, filler.unlink, before)


def readonly(binaries: pathlib.Path, folder: pathlib.Path, rings: list, _arguments: argparse.Namespace):
    place, library, switch = folder / "readonly", folder / "readonly.so", folder / "switch"
    subprocess.run([os.environ.get("CLANG", "clang"), "-O1", "-D_GNU_SOURCE", "-fPIC", "-shared",
                    str(pathlib.Path(__file__).with_name("readonly.c")), "-o", library], check=True)
    switch.write_bytes(bytes(8))
    daemon = Daemon(binaries, place, [], {"LD_PRELOAD": str(library), "READONLY_SWITCH": str(switch),
                                          "READONLY_DIRECTORY": str(place / "state")})
    with open(switch, "r+b") as file:
        word = mmap.mmap(file.fileno(), 8)
        outage(daemon, rings, lambda: struct.pack_into("<q", word, 0, 1), lambda: struct.pack_into("<q", word, 0, 0))


def corrupt(binaries: pathlib.Path, folder: pathlib.Path, rings: list, _arguments: argparse.Namespace):
    place = folder / "corrupt"
    daemon = Daemon(binaries, place, [])
    sent, accepted, _ = crash(daemon, rings, 100, 5)
    await_true("stored", lambda: daemon.status()["reports"] >= accepted)
    Checks.check("crashd stops with status 0", daemon.stop() == 0)
    database = place / "state" / "reports.sqlite"
    pages = database.stat().st_size // 4096
    with open(database, "r+b") as file:
        # Overwrites pages in the middle of the file, where the reports are.
        for page in range(pages // 2, pages // 2 + 16):
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)
    daemon = Daemon(binaries, place, [], exists=True)
    more, more_accepted, _ = crash(daemon, rings, OUTAGE_RATE, OUTAGE_S)
    await_true("named in the status", lambda: daemon.status()["trouble"])
    await_true("stored", lambda: daemon.counted() >= more)
    # Each overwritten page belongs to at most one report, but it can make a neighboring page of the B-tree unreadable.
    await_true("rescued", lambda: daemon.counted() >= more + sent // 2)
    status = daemon.status()
    Checks.check("all crashes during the repair are stored", more == more_accepted and status["losses"] == {},
                 f"{more}")
    print(f"  {daemon.counted() - more} of {sent} reports were rescued: {status['trouble'][0]}", flush=True)
    memory = daemon.memory_mib("VmHWM")
    Checks.check(f"crashd's peak memory is at most {BUSY_MIB} MiB", memory <= BUSY_MIB, f"{memory:.1f} MiB")
    Checks.check("crashd stops with status 0", daemon.stop() == 0)


PARTS = {"idle": idle, "rate": rate, "clock": clock, "readonly": readonly, "corrupt": corrupt, "disk": disk}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--processes", type=int, default=5_000)
    parser.add_argument("--rate", type=float, default=1_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--part", action="append", choices=PARTS)
    arguments = parser.parse_args()
    # On SIGTERM, exit as usual, so that the `finally` block kills all processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    binaries = arguments.binaries.resolve()
    with tempfile.TemporaryDirectory(prefix="stress-") as name:
        folder = pathlib.Path(name)
        try:
            rings = real_rings(binaries, folder)
            for part in arguments.part or PARTS:
                print(f"{part}:", flush=True)
                PARTS[part](binaries, folder, rings, arguments)
        finally:
            for process in Daemon.running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
    print("all checks passed" if Checks.failed == 0 else f"{Checks.failed} checks failed")
    return 1 if Checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
