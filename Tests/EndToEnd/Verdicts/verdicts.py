#!/usr/bin/env python3
"""Measures how often crashd diagnoses a use of freed memory: in crashes that used freed memory, and in controls.

Usage: verdicts.py BINARIES [--slice] [--crash-maker PROGRAM]... [--keep DIRECTORY] [--all] [--only TEXT]
                   [--seed NUMBER] [--rounds NUMBER]

BINARIES is a directory with crashd, crashctl, crash-analyse and crash-maker. The script builds the programs beside this
file without and with optimization. They crash under libcrashshield.so: with each kind of fault, in each state of the
heap, with several seeds. The controls are crashes that do not use freed memory. They include scenarios of crash-maker.

  --slice   run a few crashes only, which takes seconds
  --all     print a line for each crash
  --only    run only the crashes whose line contains the text
  --keep    the directory that keeps the built programs, which later runs use again
  --seed    a number that is added to each seed, for different heaps
  --rounds  the number of seeds for each kind of freed memory in each state (2 by default)

The script fails in these cases:
- The diagnosis of a control is "dangling" with confidence 1.
- The diagnosis of more than 1 % of the controls (3 % in a slice) is "dangling" with a lower confidence.
- A crash has no report.
- Of the uses of freed blocks that were not allocated again, less than RECALL_GOAL have the diagnosis "dangling".
A block that was allocated again and overwritten leaves little evidence. The script counts such uses separately.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import queue
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 120
ADDRESS_SPACE_BYTES = 8 << 30
SURVIVED = 4
PROBABLE_LIMIT = 0.01
RECALL_GOAL = 0.85
# The limits for --slice are less strict, because one of its few crashes changes a share by several percent.
SLICE_PROBABLE_LIMIT = 0.03
SLICE_RECALL_GOAL = 0.5
CONTROL_STATES = ("fresh", "churned", "freed", "patterned", "registers")
FREED_AGES = ("fresh", "full", "reused", "aged")
# With these ages, the program uses the freed block before the allocator reuses its memory.
KEPT_AGES = ("fresh", "full")
# These scenarios access freed memory.
CRASH_MAKER_FREED = {"use-after-free-call", "c-callback-context", "unowned-dangling", "double-free"}
# These scenarios do not end by a crash of their own, or their report describes another process.
CRASH_MAKER_OTHERS = {
    "abort-as-pid-1", "crash-in-user-callback", "double-fork-reattached", "fatal-error-as-pid-1",
    "fork-child-restarted", "handler-chained-before", "kill-over-namespace", "pid-namespace", "posix_spawn-child",
    "sa-onstack-missing", "trap-as-pid-1"}
# The second build of the Swift programs, in which the quarantine protects their classes.
QUARANTINE = "swift-quarantine"
# The message of glibc about a double free counts as a correct diagnosis.
TWICE = "double free"


@dataclasses.dataclass
class Case:
    """One crash: a program, a kind of fault, a state of the heap and a seed."""
    program: str
    build: str
    command: list[str]
    name: str
    state: str
    is_freed: bool
    # Whether the freed objects enter the quarantine, and the quarantine evicts them before the program uses them.
    has_quarantine: bool = False


@dataclasses.dataclass
class Verdict:
    case: Case
    survived: bool = False
    problem: str = ""
    cause: str = ""
    rule: str = ""
    confidence: float = 0
    sentence: str = ""
    class_name: str = ""

    @property
    def is_dangling(self) -> bool:
        return self.cause == "dangling"

    @property
    def is_found(self) -> bool:
        return self.is_dangling or TWICE in self.sentence

    @property
    def text(self) -> str:
        case = self.case
        what = self.problem or f"{self.rule} {self.confidence}: {self.sentence}"
        return f"{case.program} {case.build} {' '.join(case.command[1:])}: {what}"


class Daemon:
    """A private crashd, and a subscriber that reads its reports."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path):
        self.attach = str(folder / "run" / "attach")
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(str(folder / "notify"))
        notify.settimeout(PATIENCE_S)
        self.process = subprocess.Popen(
            # This setting makes crashd wait for symbols before it sends a report. Therefore a report is complete when
            # it arrives, even on a busy machine.
            [binaries / "crashd", "--runtime-directory", folder / "run", "--state-directory", folder / "state",
             "--set", "limits.symbol-wait=600s"],
            env=os.environ | {"NOTIFY_SOCKET": str(folder / "notify")}, stderr=open(folder / "crashd.log", "w"))
        while b"READY=1" not in notify.recv(4096):
            pass
        self.follower = subprocess.Popen(
            [binaries / "crashctl", "varlink", "call", "--more", "--json=short", "--socket",
             folder / "run" / "io.crashshield.Crashd", "Subscribe"], stdout=subprocess.PIPE, text=True)
        # After this line of output, the subscriber receives every crash. Without the wait, the subscriber could miss
        # the first crashes.
        ready = self.follower.stdout.readline()
        if not json.loads(ready or "{}").get("ready"):
            self.stop()
            raise RuntimeError(f"no stream of crashes: {ready!r}")
        self.reports: dict[int, dict] = {}
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.follower.stdout:
            report = json.loads(line)["report"]
            with self.changed:
                # Uses only the first event of a crash: later events only add threads to the same report.
                self.reports.setdefault(self.identity(report), report)
                self.changed.notify_all()

    def identity(self, report: dict):
        """The value that identifies the crash of a report."""
        return report["process"]["pid"]

    def report(self, identity) -> dict | None:
        with self.changed:
            self.changed.wait_for(lambda: identity in self.reports, PATIENCE_S)
            return self.reports.pop(identity, None)

    def stop(self):
        for process in (self.follower, self.process):
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


def build(folder: pathlib.Path, is_slice: bool) -> dict[str, dict[str, pathlib.Path]]:
    """Builds the programs and returns their paths by name and build."""
    folder.mkdir(parents=True, exist_ok=True)
    c_flags = ["-g", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra"]
    heap = folder / "heap.o"
    # Without -fno-builtin, the compiler recognizes malloc and removes allocations of blocks that are never read.
    subprocess.run(["clang", *c_flags, "-O1", "-fno-builtin", "-c", HERE / "heap.c", "-o", heap], check=True)
    programs: dict[str, dict[str, pathlib.Path]] = collections.defaultdict(dict)
    for name in ("controls", "freed"):
        for kind, level in (("debug", "-O0"), ("release", "-O2")):
            commands = {
                "c": ["clang", *c_flags, "-fno-builtin", level, "-Wl,--build-id", HERE / f"{name}.c", heap, "-pthread"],
                "c++": ["clang++", "-g", "-std=c++17", "-Wall", "-Wextra", level, "-Wl,--build-id",
                        HERE / f"{name}.cpp", heap],
                "swift": ["swiftc", "-g", "-swift-version", "6", "-import-objc-header", HERE / "heap.h",
                          HERE / f"{name}.swift", heap]
                + (["-Onone"] if kind == "debug" else ["-O", "-static-stdlib"]),
            }
            for language, command in commands.items():
                path = folder / f"{name}-{language}-{kind}"
                if not path.exists():
                    subprocess.run([*command, "-o", path], check=True)
                programs[f"{name}-{language}"][kind] = path
                if language != "swift":
                    continue
                # The second build links the Swift library dynamically, because the quarantine finds the runtime's
                # functions only in the dynamic library. The second build takes a long time. Therefore a slice omits it.
                if "-static-stdlib" in command:
                    if is_slice:
                        continue
                    path = folder / f"{name}-{QUARANTINE}-{kind}"
                    command = [part for part in command if part != "-static-stdlib"]
                    if not path.exists():
                        subprocess.run([*command, "-o", path], check=True)
                programs[f"{name}-{QUARANTINE}"][kind] = path
    return programs


def quarantine_library(path: pathlib.Path) -> pathlib.Path:
    """Builds a libcrashshield.so that contains the quarantine."""
    sources = HERE.parents[2] / "CShim"
    files = [file for pattern in ("Preload/*.c", "Handler/S*/*/*.c", "Ring/*.c", "Quarantine/**/*.c", "Quarantine/**/*.S")
             for file in sorted(sources.glob(pattern))]
    includes = [f"-I{sources / part / 'include'}" for part in ("Ring", "Handler", "Quarantine")]
    subprocess.run(
        ["clang", "-std=gnu17", "-D_GNU_SOURCE", "-DCS_PRELOAD", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-shared",
         *includes, *files, HERE / "quarantine.c", "-o", path], check=True)
    return path


def listed(program: pathlib.Path) -> list[str]:
    return subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.split()


def cases(programs, rounds: int, seed: int) -> list[Case]:
    found = []
    for name, builds in programs.items():
        is_freed = name.startswith("freed")
        for kind, program in builds.items():
            for way in listed(program):
                for state in FREED_AGES if is_freed else CONTROL_STATES:
                    # Each control runs with one seed in each state of the heap.
                    for _ in range(rounds if is_freed else 1):
                        command = [str(program), way, state, str(seed + len(found) + 1)]
                        found.append(Case(name, kind, command, way, state, is_freed, name.endswith(QUARANTINE)))
    return found


def scenarios(program: pathlib.Path) -> list[Case]:
    """Returns crash-maker's scenarios without freed memory, on each of their threads."""
    table = subprocess.run([program, "--table"], check=True, capture_output=True, text=True).stdout
    found = []
    for line in table.splitlines():
        name, _, _, _, _, threads = line.split("\t")
        if name in CRASH_MAKER_FREED | CRASH_MAKER_OTHERS:
            continue
        for thread in threads.split(","):
            command = [str(program), name, "--thread", thread]
            found.append(Case("crash-maker", program.parent.name, command, name, "fresh", False))
    return found


def limit_memory():
    # Limit the address space, because a program with a corrupted heap can allocate without end.
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))


def crash(daemon: Daemon, libraries: dict[bool, pathlib.Path], case: Case) -> Verdict:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    variables = kept | {
        "SWIFT_BACKTRACE": "enable=no", "CRASHSHIELD_SOCKET": daemon.attach,
        "LD_PRELOAD": str(libraries[case.has_quarantine])}
    with tempfile.TemporaryDirectory() as folder:
        # The program gets its own session, so that one kill also ends the processes that the scenario leaves behind.
        child = subprocess.Popen(
            case.command, env=variables, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit_memory)
        try:
            status = child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return Verdict(case, problem="the program hangs")
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
    if status >= 0:
        return Verdict(case, survived=status == SURVIVED, problem="" if status == SURVIVED else f"exit {status}")
    report = daemon.report(child.pid)
    if report is None:
        return Verdict(case, problem="no report")
    diagnosis = report["diagnosis"]
    return Verdict(
        case, cause=diagnosis["cause"], rule=diagnosis["rule"], confidence=diagnosis["confidence"],
        sentence=diagnosis["sentence"], class_name=diagnosis.get("className") or "")


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def interval(part: int, whole: int) -> str:
    """Returns Wilson's 95 % confidence interval."""
    if not whole:
        return "none"
    z = 1.96
    center = (part + z * z / 2) / (whole + z * z)
    half = z / (whole + z * z) * math.sqrt(part * (whole - part) / whole + z * z / 4)
    return f"{100 * max(0, center - half):.1f}–{100 * min(1, center + half):.1f} %"


def judge(verdicts: list[Verdict], least_controls: int, probable_limit: float, recall_goal: float) -> bool:
    problems = [verdict for verdict in verdicts if verdict.problem]
    crashed = [verdict for verdict in verdicts if not verdict.problem and not verdict.survived]
    controls = [verdict for verdict in crashed if not verdict.case.is_freed]
    freed = [verdict for verdict in crashed if verdict.case.is_freed]
    certain = [verdict for verdict in controls if verdict.is_dangling and verdict.confidence >= 1]
    probable = [verdict for verdict in controls if verdict.is_dangling and verdict.confidence < 1]
    found = [verdict for verdict in freed if verdict.is_found]

    for title, some in (("no diagnosis", problems), ("WRONG, certain", certain), ("WRONG, probable", probable)):
        for verdict in some:
            print(f"{title}: {verdict.text}")
    for key in ("state", "program", "build", "name"):
        groups = collections.defaultdict(list)
        for verdict in freed:
            groups[getattr(verdict.case, key)].append(verdict)
        print(f"freed memory by {key}: " + "; ".join(
            f"{name} {share(sum(verdict.is_found for verdict in group), len(group))} of {len(group)}"
            for name, group in groups.items()))
    causes = collections.Counter(verdict.rule for verdict in freed if not verdict.is_found)
    print("freed memory with another rule: " + ", ".join(f"{cause} {count}" for cause, count in causes.most_common()))

    for title, has_quarantine in (("not protected", False), ("protected and evicted from the quarantine", True)):
        swift = [verdict for verdict in freed
                 if verdict.case.program.startswith("freed-swift") and verdict.case.has_quarantine == has_quarantine]
        for states in [(state,) for state in FREED_AGES] + [FREED_AGES[:2], FREED_AGES[2:], FREED_AGES]:
            some = [verdict for verdict in swift if verdict.case.state in states]
            called = sum(verdict.is_found for verdict in some)
            named = sum(verdict.class_name != "" for verdict in some)
            print(f"Swift's objects, {title}, {' and '.join(states)}: {share(called, len(some))} of {len(some)} "
                  f"({interval(called, len(some))}), {share(named, len(some))} by their class")
    kept = [verdict for verdict in freed if verdict.case.state in KEPT_AGES]
    kept_found = [verdict for verdict in kept if verdict.is_found]
    programs = len({(verdict.case.program, verdict.case.build) for verdict in controls})
    print(
        f"verdicts: {len(controls)} controls of {programs} programs: {len(certain)} surely dangling, {len(probable)} "
        f"probably ({share(len(probable), len(controls))}, {interval(len(probable), len(controls))}, limit "
        f"{probable_limit:.0%}); of {len(kept)} uses of freed and not reused memory "
        f"{share(len(kept_found), len(kept))} dangling (goal {recall_goal:.0%}); of {len(freed) - len(kept)} uses of "
        f"reused memory {share(len(found) - len(kept_found), len(freed) - len(kept))}")
    return (
        not problems and not certain and len(controls) >= least_controls
        and len(probable) <= probable_limit * len(controls) and len(kept_found) >= recall_goal * len(kept))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--crash-maker", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    binaries = options.binaries.resolve()
    with tempfile.TemporaryDirectory(prefix="verdicts-") as name:
        folder = pathlib.Path(name)
        programs = build((options.keep or folder / "programs").resolve(), options.slice)
        library = folder / "libcrashshield.so"
        subprocess.run([HERE.parents[2] / "scripts" / "build" / "preload", library], check=True)
        libraries = {False: library, True: quarantine_library(folder / "libquarantine.so")}
        wanted = cases(programs, 1 if options.slice else options.rounds, options.seed)
        if options.slice:
            # The step is a prime number, so that the selection has every kind of crash and every state of the heap.
            wanted = wanted[::11]
        else:
            for program in [binaries / "crash-maker", *options.crash_maker]:
                wanted += scenarios(program.resolve())
        wanted = [case for case in wanted if options.only in " ".join([case.program, case.build, *case.command[1:]])]
        start = time.monotonic()
        daemon = Daemon(binaries, folder)
        try:
            verdicts = []
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
                for verdict in pool.map(lambda case: crash(daemon, libraries, case), wanted):
                    verdicts.append(verdict)
                    if options.all:
                        print(("survived: " if verdict.survived else "") + verdict.text, flush=True)
        finally:
            daemon.stop()
        print(f"{len(wanted)} runs in {time.monotonic() - start:.0f} s")
    if options.slice:
        is_good = judge(verdicts, 50, SLICE_PROBABLE_LIMIT, SLICE_RECALL_GOAL)
    else:
        is_good = judge(verdicts, 1_000, PROBABLE_LIMIT, RECALL_GOAL)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
