#!/usr/bin/env python3
"""Kills crashd at random moments while processes crash, and checks that each crash is reported exactly once.

Usage: faults.py BINARIES [--kills N] [--seconds S] [--seed N] [--processes N] [--attached] [--plain] [--deaths]
                 [--keep DIRECTORY]

BINARIES is a directory with crashd, crash-analyse and crash-maker. crashd runs under a service manager that does what
systemd does: it holds the two sockets and crashd's stored descriptors (FDSTORE=1), and restarts crashd. Two named
subscribers acknowledge their events. crashd also forwards each event to a collector, which breaks its connection
sometimes.

  --plain     run without the service manager, so that nothing holds sockets and descriptors while crashd is away
  --attached  let each process wait until crashd has accepted it; by default about half of them crash at once
  --seconds   the time after which no new kill begins
  --deaths    also kill some processes by SIGKILL, which no handler can catch
  --keep      the directory that keeps all files

Each process has a unique name (CRASHSHIELD_NAME), by which the script finds its report. The script fails in these
cases: a crash is neither stored nor counted in its group; a crash has two reports; a subscriber or the collector does
not receive a crash; a report belongs to no process of the script.
"""

import argparse
import array
import collections
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import random
import resource
import select
import signal
import socket
import sys
import tempfile
import threading
import time

# The time limit for each wait, in seconds. Only a failing run reaches the limit.
PATIENCE_S = 120
# The maximum number of crashes that a subscriber or the collector has not received yet. While there are more, no new
# process starts, so that the last deliveries at the end of the test do not take long.
UNDER_WAY = 40
# The maximum time in seconds by which undelivered reports delay the start of a process. The delay needs a limit,
# because the report of a lost crash is never delivered.
HOLD_S = 2
SCENARIOS = {"array-index": signal.SIGILL, "force-unwrap": signal.SIGILL, "null-write": signal.SIGSEGV,
             "abort": signal.SIGABRT, "raise": signal.SIGSEGV, "divide-by-zero": signal.SIGILL}
DEATH = "sigkill"
MESSAGE_BYTES = 1 << 16
DESCRIPTORS = 64


def spawn(words: list[str], environment: dict[str, str], descriptors: dict[int, int] | None = None,
          log: str = "/dev/null") -> int:
    """Starts a program. `descriptors` maps its descriptor numbers to ours."""
    # Duplicate the descriptors to numbers that are not targets, because dup2 would close a descriptor whose number is
    # another target.
    free = max(descriptors or {}, default=2) + 1
    high = {target: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, free) for target, source in (descriptors or {}).items()}
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 0, 1),
               (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]
    actions += [(os.POSIX_SPAWN_DUP2, source, target) for target, source in high.items()]
    try:
        return os.posix_spawn(words[0], words, environment, file_actions=actions)
    finally:
        for number in high.values():
            os.close(number)


def wait(pid: int, pidfd: int, what: str) -> int:
    """Waits for a child and returns its status. Kills the child and raises an error after PATIENCE_S."""
    ends = select.poll()
    ends.register(pidfd, select.POLLIN)
    has_ended = ends.poll(PATIENCE_S * 1000)
    if not has_ended:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not has_ended:
        raise RuntimeError(f"{what} does not end")
    return status


class ServiceManager:
    """Replaces systemd for crashd: Type=notify, two listening sockets, FileDescriptorStoreMax=."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path, is_plain: bool):
        self.binaries, self.folder, self.is_plain = binaries, folder, is_plain
        (folder / "run").mkdir(mode=0o755)
        (folder / "state").mkdir(mode=0o700)
        self.attach = str(folder / "run" / "attach")
        self.varlink = str(folder / "run" / "io.crashshield.Crashd")
        self.listeners = []
        if not is_plain:
            for kind, path in ((socket.SOCK_SEQPACKET, self.attach), (socket.SOCK_STREAM, self.varlink)):
                listener = socket.socket(socket.AF_UNIX, kind)
                listener.bind(path)
                listener.listen(1024)
                self.listeners.append(listener)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(folder / "notify"))
        # The descriptors that crashd has stored, by name, in the order of their arrival.
        self.kept: dict[str, list[int]] = collections.OrderedDict()
        # The device and inode of each descriptor's file; None for a pidfd, because a pidfd never counts as a duplicate.
        self.identities: dict[int, tuple[int, int] | None] = {}
        self.kept_at_once = 0
        self.changed = threading.Condition()
        self.ready = self.barriers = 0
        self.pid = 0
        self.pidfd = -1
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            bytes_, ancillary, _, _ = self.notify.recvmsg(
                MESSAGE_BYTES, socket.CMSG_SPACE(DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC)
            descriptors = array.array("i")
            for level, kind, data in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(data[:len(data) - len(data) % descriptors.itemsize])
            lines = bytes_.decode().split("\n")
            values = dict(line.split("=", 1) for line in lines if "=" in line)
            with self.changed:
                name = values.get("FDNAME", "stored")
                if values.get("FDSTORE") == "1":
                    for number in descriptors:
                        self.keep(name, number)
                    self.kept_at_once = max(self.kept_at_once, len(self.kept))
                else:
                    for number in descriptors:
                        os.close(number)
                if values.get("FDSTOREREMOVE") == "1":
                    self.let_go(name)
                if values.get("READY") == "1":
                    self.ready += 1
                if "X_BARRIER" in values:
                    self.barriers += 1
                self.changed.notify_all()

    def keep(self, name: str, number: int):
        # Stores each file only once, even under different names, as systemd does. Each pidfd counts as a different
        # file.
        identity = None
        if "pidfd" not in os.readlink(f"/proc/self/fd/{number}"):
            status = os.fstat(number)
            identity = (status.st_dev, status.st_ino)
            if identity in self.identities.values():
                os.close(number)
                return
        self.identities[number] = identity
        self.kept.setdefault(name, []).append(number)

    def let_go(self, name: str):
        for number in self.kept.pop(name, []):
            self.identities.pop(number)
            os.close(number)

    def take_all(self):
        """Waits until all messages that were sent before this call are processed."""
        with self.changed:
            wanted = self.barriers + 1
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"X_BARRIER=1", str(self.folder / "notify"))
            if not self.changed.wait_for(lambda: self.barriers >= wanted, PATIENCE_S):
                raise RuntimeError("the notification socket is not read")

    def start(self):
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
        environment |= {"SWIFT_BACKTRACE": "enable=no", "NOTIFY_SOCKET": str(self.folder / "notify")}
        command = [str(self.binaries / "crashd"), "--runtime-directory", str(self.folder / "run"), "--state-directory",
                   str(self.folder / "state"), "--analyse-path", str(self.binaries / "crash-analyse"), "--config",
                   str(self.folder / "crashd.yaml")]
        with self.changed:
            self.ready = 0
            passed = [("crashd", listener.fileno()) for listener in self.listeners]
            if not self.is_plain:
                passed += [(name, number) for name, numbers in self.kept.items() for number in numbers]
                environment["CRASHD_DESCRIPTOR_STORE"] = "1"
                environment["LISTEN_FDS"] = str(len(passed))
                environment["LISTEN_FDNAMES"] = ":".join(name for name, _ in passed)
            # LISTEN_PID must be the child's pid. Only the child knows it before it executes crashd.
            self.pid = spawn(["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", *command], environment,
                             {3 + index: number for index, (_, number) in enumerate(passed)},
                             str(self.folder / "crashd.log"))
            self.pidfd = os.pidfd_open(self.pid)

    def await_ready(self):
        deadline = time.monotonic() + PATIENCE_S
        with self.changed:
            while self.ready == 0:
                if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    raise RuntimeError(f"crashd ended by itself:\n{self.last_lines()}")
                if time.monotonic() > deadline:
                    raise RuntimeError("crashd does not get ready")
                self.changed.wait(0.1)

    def last_lines(self) -> str:
        return "".join((self.folder / "crashd.log").read_text(errors="replace").splitlines(True)[-8:])

    def end(self, number: int) -> int:
        signal.pidfd_send_signal(self.pidfd, number)
        try:
            status = wait(self.pid, self.pidfd, "crashd")
        finally:
            os.close(self.pidfd)
            self.pidfd = -1
        self.take_all()
        return status


class Audience:
    """A receiver of events, with the crashes that it has received."""

    def __init__(self, name: str, news: threading.Condition):
        self.name, self.news = name, news
        # Errors in what the receiver received.
        self.errors: list[str] = []
        # The report ids by process name, and all events.
        self.ids: dict[str, set[str]] = collections.defaultdict(set)
        self.events: set[tuple[str, str]] = set()
        self.again = self.lost = 0

    def heard(self, cursor: str, report: dict, lost: int):
        with self.news:
            event = (cursor, report["id"])
            self.again += event in self.events
            self.events.add(event)
            self.lost += lost
            self.ids[report["process"]["name"]].add(report["id"])
            self.news.notify_all()


class Varlink:
    def __init__(self, path: str):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        self.rest = b""

    def send(self, method: str, parameters: dict, more: bool = False):
        call = {"method": f"io.crashshield.Crashd.{method}", "parameters": parameters} | ({"more": True} if more else {})
        self.socket.sendall(json.dumps(call).encode() + b"\0")

    def receive(self) -> dict:
        while b"\0" not in self.rest:
            piece = self.file.read1(MESSAGE_BYTES)
            if not piece:
                raise ConnectionError("closed")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        reply = json.loads(message)
        if "error" in reply:
            raise RuntimeError(f"{reply['error']} {reply.get('parameters')}")
        return reply.get("parameters", {})

    def call(self, method: str, parameters: dict) -> dict:
        self.send(method, parameters)
        return self.receive()

    def close(self):
        self.file.close()
        self.socket.close()


class Subscriber(Audience):
    """A named subscriber, which acknowledges every event or one of every few events."""

    def __init__(self, name: str, path: str, news: threading.Condition, every: int):
        super().__init__(name, news)
        self.path, self.every = path, every
        self.is_known = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                self.follow()
            except OSError:
                # Polls, because with --plain nothing announces the next crashd.
                time.sleep(0.02)
            except (ValueError, KeyError, RuntimeError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                time.sleep(0.02)

    def follow(self):
        stream, acknowledgements, count = Varlink(self.path), Varlink(self.path), 0
        try:
            stream.send("Subscribe", {"subscriber": self.name}, more=True)
            while True:
                event = stream.receive()
                if "report" not in event:
                    # This is the first reply: crashd has accepted the subscription.
                    self.is_known.set()
                    continue
                self.heard(event["cursor"], event["report"], event.get("lost") or 0)
                count += 1
                if count % self.every == 0:
                    acknowledgements.call("Ack", {"subscriber": self.name, "cursor": event["cursor"]})
        finally:
            stream.close()
            acknowledgements.close()


class Collector(Audience):
    """Receives forwarded events at its socket, acknowledges most of them, and sometimes breaks the connection."""

    def __init__(self, path: str, news: threading.Condition, chance: random.Random):
        super().__init__("collector", news)
        self.chance = chance
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(8)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            try:
                with connection, connection.makefile("rb") as lines:
                    for line in lines:
                        if not line.endswith(b"\n"):
                            break
                        event = json.loads(line)
                        self.heard(event["cursor"], event["report"], event.get("lost") or 0)
                        if self.chance.random() < 0.02:
                            break
                        connection.sendall(json.dumps({"ack": event["cursor"]}).encode() + b"\n")
            except OSError:
                pass
            except (ValueError, KeyError) as error:
                self.errors.append(f"{type(error).__name__}: {error}")


@dataclasses.dataclass
class Crash:
    name: str
    scenario: str
    options: list[str]
    life: int = 0
    status: int = 0


class Load:
    """Starts processes that crash: a fixed number at once, each replaced by another when it has ended."""

    def __init__(self, manager: ServiceManager, binaries: pathlib.Path, arguments: argparse.Namespace,
                 audiences: list[Audience], news: threading.Condition):
        self.manager, self.program, self.audiences, self.news = manager, str(binaries / "crash-maker"), audiences, news
        self.scenarios = sorted(SCENARIOS) + ([DEATH] if arguments.deaths else [])
        self.is_always_attached = arguments.attached
        self.pidfds: set[int] = set()
        self.crashes: dict[str, Crash] = {}
        self.wrong: list[Crash] = []
        self.life = 0
        self.is_ending = False
        self.threads = [
            threading.Thread(target=self.run, args=(number, random.Random(f"{arguments.seed} {number}")), daemon=True)
            for number in range(arguments.processes)]
        for thread in self.threads:
            thread.start()

    def run(self, number: int, chance: random.Random):
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
        environment |= {"SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": self.manager.attach}
        count = 0
        while not self.is_ending:
            with self.news:
                self.news.wait_for(lambda: self.is_ending or self.under_way() < UNDER_WAY, HOLD_S)
            count += 1
            scenario = chance.choice(self.scenarios)
            # A process that the test will kill by SIGKILL waits until it is attached: crashd cannot detect the SIGKILL
            # of an unattached process.
            waits = scenario == DEATH or self.is_always_attached or chance.random() < 0.5
            options = ["--wait-attached"] if waits else []
            crash = Crash(f"fault-{number}-{count}", scenario, options)
            with self.news:
                if self.is_ending:
                    return
                pid = spawn([self.program, scenario, *options], environment | {"CRASHSHIELD_NAME": crash.name})
                pidfd = os.pidfd_open(pid)
                self.pidfds.add(pidfd)
            with contextlib.suppress(RuntimeError):  # the status of a hanging process stays 0, which is unexpected
                crash.status = wait(pid, pidfd, crash.name)
            crash.life = self.life
            expected = signal.SIGKILL if scenario == DEATH else SCENARIOS[scenario]
            with self.news:
                self.pidfds.remove(pidfd)
                os.close(pidfd)
                if os.WIFSIGNALED(crash.status) and os.WTERMSIG(crash.status) == expected:
                    self.crashes[crash.name] = crash
                else:
                    self.wrong.append(crash)

    def under_way(self) -> int:
        return len(self.crashes) - min(len(audience.ids) for audience in self.audiences)

    def stop(self):
        with self.news:
            self.is_ending = True
            self.news.notify_all()
        for thread in self.threads:
            thread.join(PATIENCE_S)
            if thread.is_alive():
                raise RuntimeError("a process does not crash")

    def kill(self):
        """Kills all running processes."""
        with self.news:
            self.is_ending = True
            self.news.notify_all()
            for pidfd in self.pidfds:
                with contextlib.suppress(ProcessLookupError):  # the process has just ended
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, what: str, wrong: list, known: dict[str, Crash] | None = None):
        if not wrong:
            self.passed += 1
            print(f"ok: {what}")
            return
        self.failed += 1
        print(f"FAILED: {what}: {len(wrong)}")
        for item in wrong[:20]:
            print(f"  {known[item] if known and isinstance(item, str) else item}")


def await_all(load: Load, audiences: list[Audience], news: threading.Condition, patience_s: float):
    """Waits until every audience (the subscribers and the collector) has every crash. Gives up if no audience has
    received a missing crash for patience_s."""
    def missing():
        return sum(len(load.crashes.keys() - audience.ids.keys()) for audience in audiences)
    with news:
        deadline = time.monotonic() + patience_s
        before = missing()
        while before > 0 and time.monotonic() < deadline:
            news.wait(1)
            now = missing()
            if now < before:
                deadline = time.monotonic() + patience_s
            before = now


def stored(client: Varlink) -> dict[str, list[str]]:
    """Returns the ids of the stored reports by the name of their process."""
    result: dict[str, list[str]] = collections.defaultdict(list)
    before = None
    while True:
        page = client.call("List", {"limit": 500} | ({"before": before} if before else {}))["reports"]
        if not page:
            return result
        for report in page:
            result[report["name"]].append(report["id"])
        before = page[-1]["cursor"]


def kill_often(manager: ServiceManager, load: Load, chance: random.Random, kills: int, seconds: float | None) -> list:
    begin, moments = time.monotonic(), []
    while len(moments) < kills and (seconds is None or time.monotonic() - begin < seconds):
        manager.start()
        load.life += 1
        # Kills crashd after a random time. One of four kills occurs while crashd starts.
        is_early = chance.random() < 0.25
        if not is_early:
            manager.await_ready()
        pause_ms = chance.randrange(150 if is_early else 400)
        time.sleep(pause_ms / 1000)
        status = manager.end(signal.SIGKILL)
        if not os.WIFSIGNALED(status):
            raise RuntimeError(f"crashd ended by itself:\n{manager.last_lines()}")
        moments.append((is_early, pause_ms))
    return moments


def run(arguments: argparse.Namespace, folder: pathlib.Path) -> int:
    print(f"seed {arguments.seed}", flush=True)
    binaries = arguments.binaries.resolve()
    manager = ServiceManager(binaries, folder, arguments.plain)
    news = threading.Condition(threading.RLock())
    path = str(folder / "collector")
    (folder / "crashd.yaml").write_text(f"forward: [{{path: {path}, acknowledge: true, scrub: false}}]\n")
    collector = Collector(path, news, random.Random(f"{arguments.seed} collector"))
    # Registers the subscribers before the first crash, because a new subscriber receives only later events.
    manager.start()
    manager.await_ready()
    subscribers = [Subscriber("quick", manager.varlink, news, 1), Subscriber("slow", manager.varlink, news, 8)]
    for subscriber in subscribers:
        if not subscriber.is_known.wait(PATIENCE_S):
            raise RuntimeError("a subscriber gets no answer")
    audiences = [*subscribers, collector]
    manager.end(signal.SIGKILL)
    load = Load(manager, binaries, arguments, audiences, news)
    try:
        return judge(arguments, folder, manager, load, audiences, news)
    finally:
        load.kill()
        if manager.pidfd >= 0:
            manager.end(signal.SIGKILL)


def judge(arguments: argparse.Namespace, folder: pathlib.Path, manager: ServiceManager, load: Load,
          audiences: list[Audience], news: threading.Condition) -> int:
    begin = time.monotonic()
    moments = kill_often(manager, load, random.Random(arguments.seed), arguments.kills, arguments.seconds)
    manager.start()
    manager.await_ready()
    load.stop()
    took_s = time.monotonic() - begin
    await_all(load, audiences, news, arguments.patience)

    client = Varlink(manager.varlink)
    client.socket.settimeout(PATIENCE_S)
    reports = stored(client)
    counted = sum(group["count"] for group in client.call("Groups", {"limit": 1000})["groups"])
    status = client.call("Status", {})
    client.close()
    end = manager.end(signal.SIGTERM)
    with news:
        names, ids = load.crashes.keys(), collections.defaultdict(set)
        for audience in audiences:
            for name, some in audience.ids.items():
                ids[name] |= some
        for name, some in reports.items():
            ids[name] |= set(some)
        early = sum(is_early for is_early, _ in moments)
        print(f"{len(moments)} kills ({early} while it started) in {took_s:.0f} s, {len(names)} crashes of "
              f"{arguments.processes} processes at once, {sum(map(len, reports.values()))} reports stored, {counted} "
              f"counted; stored descriptors: {manager.kept_at_once} at most, {len(manager.kept)} at the end")
        for audience in audiences:
            print(f"{audience.name}: {len(audience.events)} events, {audience.again} repeated, {audience.lost} lost")
        print(f"losses {status['losses']}, refusals {status['refusals']}, held {status['held']}")
        checks = Checks()
        checks.check("every process ended by its own crash", load.wrong)
        checks.check("every crash is stored, or its group counts it", sorted(names - ids.keys()), load.crashes)
        checks.check("the groups count every crash once", [] if counted == len(names) else [counted, len(names)])
        checks.check("no crash has two reports", sorted(n for n in names if len(ids[n]) > 1), load.crashes)
        checks.check("each report belongs to a process", sorted(ids.keys() - names))
        for audience in audiences:
            checks.check(f"{audience.name} received every crash", sorted(names - audience.ids.keys()), load.crashes)
            checks.check(f"{audience.name} received only events", audience.errors)
        checks.check("crashd stops with status 0", [] if end == 0 else [end])
        checks.check("the spool is empty", os.listdir(folder / "run" / "spool"))
    print(f"{checks.passed} passed, {checks.failed} failed", flush=True)
    return 1 if checks.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--patience", type=float, default=PATIENCE_S)
    parser.add_argument("--attached", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--deaths", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    # On SIGTERM, exit as usual, so that the `finally` blocks kill all processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if arguments.keep:
        arguments.keep.mkdir(parents=True)
        return run(arguments, arguments.keep)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        return run(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
