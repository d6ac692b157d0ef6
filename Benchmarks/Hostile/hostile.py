#!/usr/bin/env python3
"""Measures the cost of hostile input for crashd, as a ratio to plain input of the same size, and the effect of hostile
clients on other users.

Usage: hostile.py BINARIES [--calls N] [--seed N] [--only NAME,...]

BINARIES contains crashd, crash-analyse and crash-maker. Prints one line for each parser of untrusted input: the most
expensive hostile input, its CPU time per KiB, and the ratio of this time to that of a plain input. A ratio above 20
fails. The parser of images is a separate process, whose start is included in both of its times, as in production.

calls: mutates the most expensive calls at random, N times. A watchdog compares the CPU time of each batch with 50 ms
per KiB.
crowd: 64 clients of one user send the most expensive calls continuously. A crash of another user must be stored in at
most three times its undisturbed time. This test requires root, in order to act as both users.
"""

import argparse
import array
import os
import pathlib
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Service"))
import images  # noqa: E402
import service  # noqa: E402

RATIO_LIMIT = 20
CALL_MS_PER_KIB = 50
CALL_BYTES = 15_000
CROWD, CROWD_UID, VICTIM_UID = 64, 65_534, 1_000
CROWD_RATIO, CROWD_RUNS = 3, 9
REPEATS = 3


class Daemon(service.Daemon):
    def cpu_s(self) -> float:
        """Returns the CPU time of all threads of crashd, including ended threads, and of its children."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def least(measure, *arguments) -> float:
    """Returns the minimum of several runs, because other work on the machine only adds time."""
    return min(measure(*arguments) for _ in range(REPEATS))


def send_calls(path: str, frames: list[bytes]) -> None:
    """Sends each call on a separate connection, because crashd closes the connection of an invalid call."""
    for frame in frames:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(path)
            connection.settimeout(service.PATIENCE_S)
            try:
                connection.sendall(frame + b"\0")
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                continue


def with_parameter(value: str) -> bytes:
    return f'{{"method":"a.b","parameters":{{"a":{value}}}}}'.encode()


def call_shapes() -> dict[str, bytes]:
    def items(text: str) -> str:
        return ",".join([text] * (CALL_BYTES // (len(text) + 1)))

    def nested(depth: int, text: str) -> str:
        return "[" * depth + text + "]" * depth

    return {
        "objects 500 deep": with_parameter(nested(500, items("{}"))),
        "numbers 500 deep": with_parameter(nested(500, items("1"))),
        "objects as deep as they may": with_parameter(nested(6, items("{}"))),
        "numbers": with_parameter(f"[{items('1')}]"),
        "long numbers": with_parameter(f"[{items('1.2345678901234567890e-300')}]"),
        "many keys": with_parameter("{" + ",".join(f'"{n}":[]' for n in range(1600)) + "}"),
        "rows of marks": with_parameter('{"' + ("a" + "\u0345\u0316" * 15) * 240 + '":1}'),
        "escapes": with_parameter('"' + "\\u00e9" * 2500 + '"'),
        "only brackets": b"[" * CALL_BYTES,
        "a filter of marks": ('{"method":"io.crashshield.Crashd.List","parameters":{"name":"'
                              + ("a" + "\u0345\u0316" * 15) * 240 + '"}}').encode(),
    }


def cost_of_calls(daemon: Daemon, frame: bytes, count: int = 100) -> float:
    before = daemon.cpu_s()
    send_calls(daemon.varlink, [frame] * count)
    return (daemon.cpu_s() - before) / count / (len(frame) / 1024)


def measure_calls(daemon: Daemon, report) -> None:
    plain = least(cost_of_calls, daemon, with_parameter('"' + "x" * CALL_BYTES + '"'))
    report("Varlink call", plain, {name: least(cost_of_calls, daemon, frame) for name, frame in call_shapes().items()})


def attach(daemon: Daemon, hello: bytes, descriptors: list[int], messages: list[bytes] = ()) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(daemon.attach)
        connection.settimeout(service.PATIENCE_S)
        try:
            connection.sendmsg(
                [hello], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else [])
            for message in messages:
                connection.send(message)
            connection.recv(1024)
        except (BrokenPipeError, ConnectionResetError):
            pass


def hello_of(ring) -> bytes:
    version = struct.unpack_from("<I", ring[1][0][1], service.RING_VERSION_OFFSET)[0]
    hello = struct.pack("<QIIQiI", service.ATTACH_MAGIC, service.ATTACH_VERSION, version, ring[0], os.getpid(), 0)
    return hello + bytes(service.HELLO_BYTES - len(hello))


def cost_of_attach(daemon: Daemon, hello: bytes, make, messages: list[bytes], kib: float, count: int = 40) -> float:
    before = daemon.cpu_s()
    for _ in range(count):
        descriptors = make()
        attach(daemon, hello, descriptors, messages)
        for number in descriptors:
            os.close(number)
    # Waits for the report of the last ring: crashd reads a ring only after the client has closed its connection.
    service.call(daemon.varlink, "AwaitProcess", {"pid": os.getpid(), "timeout_ms": 600_000})
    service.settled(daemon)
    return (daemon.cpu_s() - before) / count / kib


def measure_hellos(daemon: Daemon, name: str, ring, report) -> None:
    kib, hello = service.HELLO_BYTES / 1024, hello_of(ring)
    rng = random.Random(1)
    null = lambda: [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)]  # noqa: E731
    whole = lambda: [service.memory_file(ring, name)]  # noqa: E731
    plain = least(cost_of_attach, daemon, hello, whole, [], kib)
    report("hello", plain, {
        "random bytes": least(cost_of_attach, daemon, rng.randbytes(len(hello)), null, [], kib),
        "no ring": least(cost_of_attach, daemon, hello, null, [], kib),
        "253 descriptors": least(cost_of_attach, daemon, hello, lambda: whole() + null() * 1 + [os.dup(0) for _ in range(251)],
                                 [], kib),
    })
    report("control message", plain, {
        "random bytes": least(cost_of_attach, daemon, hello, whole, [rng.randbytes(400)], kib),
        "wake-ups without news": least(cost_of_attach, daemon, hello, whole, [service.CRASHED] * 8, kib),
    })


def damaged(ring, fill) -> tuple[int, list[tuple[int, bytes]]]:
    """Returns the ring with all bytes except the first 4 KiB replaced. Holes of the sparse file stay holes."""
    size, parts = ring
    first = parts[0][1]
    return size, [(parts[0][0], first[:4096] + fill(len(first) - 4096))] + [(at, fill(len(data))) for at, data in parts[1:]]


def measure_rings(daemon: Daemon, name: str, ring, report) -> None:
    kib, hello = sum(len(data) for _, data in ring[1]) / 1024, hello_of(ring)
    rng = random.Random(2)
    small = struct.Struct("<Q")
    shapes = {
        "random bytes": lambda count: rng.randbytes(count),
        "ones": lambda count: b"\xff" * count,
        "small numbers": lambda count: b"".join(small.pack(rng.randrange(64)) for _ in range(count // 8 + 1))[:count],
    }
    crashed = [service.CRASHED]
    plain = least(cost_of_attach, daemon, hello, lambda: [service.memory_file(ring, name)], crashed, kib)
    costs = {}
    for shape, fill in shapes.items():
        bad = damaged(ring, fill)
        costs[shape] = least(cost_of_attach, daemon, hello, lambda: [service.memory_file(bad, name)], crashed, kib)
    report("ring", plain, costs)


def cost_of_spool(daemon: Daemon, folder: pathlib.Path, ring, name: str, count: int = 20) -> float:
    before = daemon.cpu_s()
    for _ in range(count):
        number = service.memory_file(ring, name)
        identity = os.pread(number, 1 << 12, 0)
        partial = folder / f"{os.urandom(16).hex()}.partial"
        partial.write_bytes(os.pread(number, ring[0], 0))
        os.chmod(partial, 0o600)
        begin = ring[1][0][1].index(bytes.fromhex(name))
        partial.rename(folder / f"{identity[begin:begin + 16].hex()}.ring")
        os.close(number)
    deadline = time.monotonic() + service.PATIENCE_S
    while any(folder.glob("*.ring")) and time.monotonic() < deadline:
        time.sleep(0.02)
    service.settled(daemon)
    return (daemon.cpu_s() - before) / count / (sum(len(data) for _, data in ring[1]) / 1024)


def measure_spool(daemon: Daemon, folder: pathlib.Path, name: str, ring, report) -> None:
    rng = random.Random(3)
    bad = {"random bytes": damaged(ring, rng.randbytes), "ones": damaged(ring, lambda count: b"\xff" * count)}
    report("spool file", cost_of_spool(daemon, folder, ring, name),
           {shape: cost_of_spool(daemon, folder, each, name) for shape, each in bad.items()})


def cost_of_job(binaries: pathlib.Path, verb: str, image: bytes, folder: pathlib.Path) -> float:
    path = folder / "image"
    path.write_bytes(image)
    with open(path, "rb") as file, open(folder / "output", "wb") as output:
        pid = os.posix_spawn(
            str(binaries / "crash-analyse"), ["crash-analyse", verb, "--build-id", images.BUILD_ID], {},
            file_actions=[(os.POSIX_SPAWN_DUP2, file.fileno(), 0), (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                          (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    _, _, usage = os.wait4(pid, 0)
    return (usage.ru_utime + usage.ru_stime) / (len(image) / 1024)


def measure_images(binaries: pathlib.Path, folder: pathlib.Path, report) -> None:
    for parser, verb in (("ELF image", "build-cache"), ("unwind tables", "unwind-tables")):
        worst: dict[str, float] = {}
        plain = 1.0
        for name, image in images.bombs():
            own_plain = least(cost_of_job, binaries, verb, images.plain(len(image)), folder)
            cost = least(cost_of_job, binaries, verb, image, folder)
            if not worst or cost / own_plain > max(worst.values()) / plain:
                worst, plain = {name: cost}, own_plain
        report(parser, plain, worst)


def cost_of_settings(binaries: pathlib.Path, folder: pathlib.Path, text: str) -> float:
    path = folder / "crashd.yaml"
    path.write_text(text)
    pid = os.posix_spawn(str(binaries / "crashd"), ["crashd", "--check-config", "--config", str(path)], {"HOME": "/"},
                         file_actions=[(os.POSIX_SPAWN_OPEN, n, "/dev/null", os.O_RDWR, 0) for n in (0, 1, 2)])
    _, _, usage = os.wait4(pid, 0)
    return (usage.ru_utime + usage.ru_stime) / (len(text) / 1024)


def measure_settings(binaries: pathlib.Path, folder: pathlib.Path, report) -> None:
    size = 60_000
    plain = "privacy:\n  annotations:\n" + "    - abcdefgh\n" * (size // 16)
    report("settings", least(cost_of_settings, binaries, folder, plain), {
        "nested lists": least(cost_of_settings, binaries, folder, "a: " + "[" * (size // 2) + "]" * (size // 2)),
        "aliases": least(cost_of_settings, binaries, folder, "a: &a [1]\n" + "b: [*a, *a, *a, *a]\n" * (size // 20)),
        "many keys": least(cost_of_settings, binaries, folder, "".join(f"k{n}: 1\n" for n in range(size // 9))),
    })


def fuzz(daemon: Daemon, count: int, rng: random.Random) -> None:
    """Sends mutated calls. Fails if a batch takes more CPU time per KiB than the limit."""
    seeds = list(call_shapes().values()) + [with_parameter("1"), b'{"method":"io.crashshield.Crashd.Status"}']
    done, worst_ms = 0, 0.0
    while done < count:
        frames = []
        for _ in range(min(100, count - done)):
            frame = bytearray(rng.choice(seeds))
            if rng.random() < 0.5:
                frame = bytearray(rng.choice(seeds)[:rng.randrange(1, len(frame) + 1)] + frame)[:CALL_BYTES]
            for _ in range(rng.randrange(4)):
                place = rng.randrange(len(frame))
                frame[place:place + rng.randrange(3)] = rng.choice(
                    [b"[", b"]", b"{", b"}", b'"', b"\\", b",", b":", b"0", b"e", b"\xff", b"\xcd\x85", bytes([rng.randrange(1, 256)])])
            frames.append(bytes(frame).replace(b"\0", b"0"))
        before = daemon.cpu_s()
        send_calls(daemon.varlink, frames)
        # Measures batches of many calls, because the kernel counts CPU time in units of 10 ms.
        spent_ms = max(0.0, (daemon.cpu_s() - before) * 1000 - 10)
        per_kib = spent_ms / (sum(map(len, frames)) / 1024)
        worst_ms = max(worst_ms, per_kib)
        if per_kib > CALL_MS_PER_KIB:
            raise SystemExit(f"hostile: FAILED: {len(frames)} calls took {per_kib:.1f} ms of CPU time per KiB")
        done += len(frames)
    print(f"fuzzed calls: {done}, the worst hundred {worst_ms:.2f} ms of CPU time per KiB (at most {CALL_MS_PER_KIB})")


def crowd_member(path: str, frames: list[bytes]) -> None:
    while True:
        send_calls(path, frames)


def crowd(daemon: Daemon) -> list[int]:
    expensive = [call_shapes()["numbers"], call_shapes()["objects as deep as they may"], call_shapes()["objects 500 deep"],
                 b'{"method":"io.crashshield.Crashd.List","parameters":{"limit":1000,"count":true}}',
                 b'{"method":"io.crashshield.Crashd.Metrics"}']
    pids = []
    for number in range(CROWD):
        pid = os.fork()
        if pid == 0:
            os.setgid(CROWD_UID)
            os.setuid(CROWD_UID)
            os.nice(5)
            crowd_member(daemon.varlink, expensive[number % len(expensive):] + expensive)
        pids.append(pid)
    return pids


def crash_ms(daemon: Daemon, name: str, ring, events) -> float:
    """Wakes a process of another user, which then crashes. Returns the time until the event of its report."""
    reader, writer = os.pipe()
    number = service.memory_file(ring, name)
    identity = os.pread(number, 16, ring[1][0][1].index(bytes.fromhex(name))).hex()
    pid = os.fork()
    if pid == 0:
        os.setgid(VICTIM_UID)
        os.setuid(VICTIM_UID)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(daemon.attach)
            connection.sendmsg([hello_of(ring)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [number]))])
            os.write(writer, struct.pack("d", time.monotonic()))
            connection.send(service.CRASHED)
            connection.recv(1024)
            signal.pause()
    begin = struct.unpack("d", os.read(reader, 8))[0]
    # Skips events about updates of earlier reports.
    while identity not in events.next():
        pass
    took = (time.monotonic() - begin) * 1000
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    for each in (reader, writer, number):
        os.close(each)
    return took


class Events:
    def __init__(self, path: str):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.settimeout(service.PATIENCE_S)
        self.socket.sendall(b'{"method":"io.crashshield.Crashd.Subscribe","more":true}\0')
        self.rest = b""
        self.next()

    def next(self) -> str:
        while b"\0" not in self.rest:
            piece = self.socket.recv(1 << 20)
            if not piece:
                raise ConnectionError("crashd has closed the connection")
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return message.decode()


def measure_crowd(daemon: Daemon, name: str, ring) -> bool:
    events = Events(daemon.varlink)
    for _ in range(3):
        crash_ms(daemon, name, ring, events)
    service.settled(daemon)
    alone = statistics.median(crash_ms(daemon, name, ring, events) for _ in range(CROWD_RUNS))
    pids = crowd(daemon)
    try:
        time.sleep(2)
        beside = statistics.median(crash_ms(daemon, name, ring, events) for _ in range(CROWD_RUNS))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)
    ratio = beside / alone
    print(f"a crash of another user beside {CROWD} hostile clients: {beside:.1f} ms, alone {alone:.1f} ms: "
          f"{ratio:.1f} times (at most {CROWD_RATIO})", flush=True)
    return ratio <= CROWD_RATIO


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="calls,hellos,rings,spool,images,settings,fuzz,crowd")
    arguments = parser.parse_args()
    binaries, only = arguments.binaries.resolve(), arguments.only.split(",")
    failed = []

    def report(parser: str, plain: float, costs: dict[str, float]) -> None:
        shape, worst = max(costs.items(), key=lambda item: item[1])
        ratio = worst / max(plain, 1e-9)
        print(f"{parser:16} {worst * 1000:8.3f} ms per KiB, {ratio:5.1f} times a plain one: {shape}", flush=True)
        if ratio > RATIO_LIMIT:
            failed.append(parser)

    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        folder.chmod(0o755)
        left = folder / "left"
        left.mkdir()
        subprocess.run([binaries / "crash-maker", "array-index"], stderr=subprocess.DEVNULL, env=os.environ | {
            "SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": str(folder / "absent"), "CRASHSHIELD_SPOOL": str(left)})
        path = next(left.glob("*.ring"))
        name, ring = path.stem, service.pieces(path)
        daemon = Daemon(binaries, folder)
        try:
            if "calls" in only:
                measure_calls(daemon, report)
            if "hellos" in only:
                measure_hellos(daemon, name, ring, report)
            if "rings" in only:
                measure_rings(daemon, name, ring, report)
            if "spool" in only:
                measure_spool(daemon, folder / "run/spool", name, ring, report)
            if "images" in only:
                measure_images(binaries, folder, report)
            if "settings" in only:
                measure_settings(binaries, folder, report)
            if "fuzz" in only:
                fuzz(daemon, arguments.calls, random.Random(arguments.seed))
            if "crowd" in only and os.geteuid() == 0 and not measure_crowd(daemon, name, ring):
                failed.append("crowd")
        finally:
            daemon.process.kill()
    if failed:
        print(f"hostile: FAILED: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
