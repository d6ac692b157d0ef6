#!/usr/bin/env python3
"""Measures how well crashd's groups of reports agree with the defects of programs.

Usage: grouping.py BINARIES OPTIMIZED [--slice] [--only TEXT] [--all] [--keep DIRECTORY] [--reports FILE] [--page FILE]

BINARIES is a directory with crashd, crashctl, crash-analyse and a crash-maker of a debug build. OPTIMIZED is a
crash-maker of a release build. The script builds the generated program of shop.py in several ways. It runs each defect
in each build, and compares the groups of the reports with the defects. A label names the defect of a crash;
docs/measurements/grouping.md has the rule for labels. The script fails if a goal is missed, or if a baseline (another
way to group) is better.

  --slice    run two builds and a part of the defects only, which takes less than a minute
  --only     run only the crashes whose label contains the text
  --all      print the defects that have several groups, and the groups that have several defects
  --keep     the directory that keeps the programs and the daemon's files
  --reports  the file for the reports, one line of JSON per crash; with an existing file and --again, crash nothing
  --again    read the reports of an earlier run from the file of --reports
  --page     write the tables to this page
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Verdicts"))
import baselines
import page
import scores
import shop
import verdicts

PRECISION_GOAL, RECALL_GOAL, IMPURE_LIMIT, RECALL_AT_1_GOAL = 0.995, 0.95, 0.01, 0.9
CRASHES = 3_000
# The share of the crashes that may have no report, because a scenario can end before its process is attached.
MISSING_LIMIT = 0.01
PATIENCE_S = 90
THREADS = ("main", "dispatch", "task", "pthread")
DEPTHS = (1, 2, 5, 17, 40, 700)
TURNS = 2
DEMO_PATHS = ("/cart/array-index", "/user/force-unwrap", "/native/null-write", "/catalog/stack-overflow")
DEMO_TURNS = 10
MAKER_THREADS = ("main", "dispatch", "task", "pthread", "small-stack")
SLICE = {"array-index", "force-unwrap", "null-write", "abort", "async-throwing", "integer-overflow"}
SLICE_VARIANTS = {"lines-debug", "closures-optimized"}
# These scenarios use memory or processor time until a limit kills them.
HEAVY = {"oom-kill", "uninterruptible-thread", "full-disk"}
WAITS = {f"main-waits-{name}" for name in ("pause", "read", "futex", "cond-wait", "epoll-wait")}
# Scenarios that fault at the same source line, and so have one label.
SAME = {
    "crash-in-our-handler": "null-write", "crash-in-user-callback": "null-write",
    "sigaltstack-owned-by-app": "stack-overflow-small-thread"}
WRONG_THREAD = 2


@dataclasses.dataclass
class Run:
    """One crash to make."""
    label: str
    build: str
    command: list[str]
    is_preloaded: bool
    # The path of the request that crashes a server; None for a program that crashes without a request.
    path: str | None = None
    # The release in the report, which identifies the run. A pid would not suffice, because the kernel can reuse it.
    release: str = ""


class Daemon(verdicts.Daemon):
    """A private crashd, whose reports are found by their release."""

    def identity(self, report: dict) -> str:
        return report.get("release") or ""


def limit():
    verdicts.limit_memory()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def crash(run: Run, daemon, variables: dict[str, str], library: pathlib.Path) -> dict | None:
    """Returns the report of a crash; None when the scenario does not run on this thread, hangs, or left no record."""
    preloaded = {"LD_PRELOAD": str(library)} if run.is_preloaded else {}
    process = subprocess.Popen(
        run.command, env=variables | preloaded | {"CRASHSHIELD_RELEASE": run.release},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if run.path else subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=limit, start_new_session=True)
    try:
        if run.path:
            request(process, run.path)
        status = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # A scenario can leave children behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if status >= 0:
        return None
    found = daemon.report(run.release)
    return None if found is None or found.get("death") else found


def request(server: subprocess.Popen, path: str):
    """Sends a request to the server, which prints its port in its first line."""
    port = int(server.stdout.readline().decode().rsplit(":", 1)[-1])
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            while connection.recv(4096):
                pass


def demo_runs(program: pathlib.Path, is_slice: bool) -> list[Run]:
    return [Run(f"demo.{path}", "demo-debug", [str(program)], False, path)
            for path in DEMO_PATHS for _ in range(1 if is_slice else DEMO_TURNS)]


def maker_label(name: str) -> str:
    for start in ("main-waits-", "simultaneous-"):
        if name.startswith(start):
            return f"crash-maker.{start.rstrip('-')}"
    return f"crash-maker.{SAME.get(name, name)}"


def maker_runs(programs: dict[str, pathlib.Path], is_slice: bool) -> list[Run]:
    listed = subprocess.run([programs["debug"], "--list"], check=True, capture_output=True, text=True).stdout
    names = [line.split("\t")[0] for line in listed.splitlines() if line.split("\t")[1] != "-"]
    names = [name for name in names if name not in verdicts.CRASH_MAKER_OTHERS | HEAVY
             and (not name.startswith("main-waits-") or name in WAITS) and (not is_slice or name in SLICE)]
    return [Run(maker_label(name), f"crash-maker-{build}", [str(program), name, "--thread", thread, "--wait-attached"], False)
            for name in names for thread in MAKER_THREADS for build, program in programs.items()]


def shop_runs(programs: dict[str, pathlib.Path], is_slice: bool) -> list[Run]:
    runs = []
    for number, defect in enumerate(shop.defects()):
        if is_slice and number % 6:
            continue
        for position, (build, program) in enumerate(programs.items()):
            for turn in range(TURNS):
                step = position * TURNS + turn
                runs.append(Run(defect.label, build, [
                    str(program), defect.routes[step % len(defect.routes)], THREADS[(number + step) % len(THREADS)],
                    str(defect.numbers[(step + number) % len(defect.numbers)]), str(DEPTHS[(step + number) % len(DEPTHS)])],
                    True))
    return runs


def crashes(options, folder: pathlib.Path) -> tuple[list[dict], int]:
    """Makes all crashes; returns what is known of each, and the number of crashes without a report."""
    binaries = options.binaries.resolve()
    variants = [variant for variant in shop.VARIANTS if not options.slice or variant.name in SLICE_VARIANTS]
    library = folder / "libcrashshield.so"
    root = pathlib.Path(__file__).resolve().parents[3]
    subprocess.run([root / "scripts" / "build" / "preload", library], check=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = dict(zip((variant.name for variant in variants),
                            pool.map(lambda variant: shop.build(variant, folder / "shop"), variants)))
    runs = shop_runs(programs, options.slice) + maker_runs(
        {"debug": binaries / "crash-maker", "optimized": options.optimized.resolve()}, options.slice)
    runs += demo_runs(binaries / "DemoServer", options.slice)
    runs = [run for run in runs if options.only in run.label]
    for number, run in enumerate(runs):
        run.release = f"run-{number}"
    daemon = Daemon(binaries, folder)
    variables = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ} | {
        "CRASHSHIELD_SOCKET": daemon.attach, "CRASHSHIELD_SPOOL": str(folder), "SWIFT_BACKTRACE": "enable=no"}

    def one(run: Run) -> dict | None:
        report = crash(run, daemon, variables, library)
        return None if report is None else {
            "label": run.label, "build": run.build, "command": run.command[1:], "report": baselines.trimmed(report)}

    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(one, runs))
    finally:
        daemon.stop()
    # Runs of crash-maker do not count as missing, because not every scenario runs on every thread and in every build.
    missing = sum(1 for run, crash in zip(runs, found) if crash is None and (run.is_preloaded or run.path))
    for run, crash_ in zip(runs, found):
        if crash_ is None and (run.is_preloaded or run.path):
            print(f"no report: {run.build} {run.label} {' '.join(run.command[1:])}")
    return [crash_ for crash_ in found if crash_], missing


def results(found: list[dict]) -> dict[str, scores.Scores]:
    """The figures of crashd and of each baseline, from the same reports."""
    ways = {"crashd": lambda report: (report["group"]["key"], report["group"].get("coarse") or "")} | baselines.WAYS
    figures = {}
    for name, way in ways.items():
        keys = [way(crash["report"]) for crash in found]
        figures[name] = scores.score(
            [(crash["label"], key) for crash, (key, _) in zip(found, keys)],
            scores.recall_at_1([(crash["label"], crash["build"], *key) for crash, key in zip(found, keys)]))
    return figures


def show_errors(found: list[dict]):
    by_label: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    by_group: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for crash in found:
        group = crash["report"]["group"]
        name = f"{group['key'][:6]} {group['title']}"
        by_label[crash["label"]][name] += 1
        by_group[name.split()[0]][crash["label"]] += 1
    for label, groups in sorted(by_label.items()):
        if len(groups) > 1:
            print(f"several groups: {label}: {', '.join(f'{name} ×{count}' for name, count in groups.most_common())}")
    for group, labels in sorted(by_group.items()):
        if len(labels) > 1:
            print(f"several defects: {group}: {', '.join(f'{name} ×{count}' for name, count in labels.most_common())}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("optimized", type=pathlib.Path)
    for name in ("slice", "all", "again"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", default="")
    for name in ("keep", "reports", "page"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    options = parser.parse_args()
    missing = 0
    if options.again:
        found = [json.loads(line) for line in options.reports.read_text().splitlines()]
    else:
        with tempfile.TemporaryDirectory(prefix="grouping-") as temporary:
            folder = options.keep or pathlib.Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            found, missing = crashes(options, folder)
        if options.reports:
            options.reports.write_text("".join(json.dumps(crash) + "\n" for crash in found))
    if options.all:
        show_errors(found)
    figures = results(found)
    text = page.tables(found, figures)
    print(text)
    failures = faults(figures)
    if missing > MISSING_LIMIT * len(found):
        failures.append(f"{missing} crashes have no report")
    if not options.slice and not options.only and len(found) < CRASHES:
        failures.append(f"there are fewer than {CRASHES:,} crashes")
    if options.page:
        page.write(options.page, text)
    if failures:
        sys.exit("\n".join(f"grouping: {failure}" for failure in failures))


def faults(figures: dict[str, scores.Scores]) -> list[str]:
    own = figures["crashd"]
    failures = [f"{name} is {value:.4f}, and the goal is {goal}" for name, value, goal in (
        ("precision", own.precision, PRECISION_GOAL), ("recall", own.recall, RECALL_GOAL),
        ("Recall@1", own.recall_at_1, RECALL_AT_1_GOAL)) if value < goal]
    if own.largest_impure > IMPURE_LIMIT:
        failures.append(f"a group with several defects has {own.largest_impure:.2%} of the crashes")
    return failures + [
        f"{name} is ahead" for name, other in figures.items()
        if name != "crashd" and (other.f1 >= own.f1 or other.b_cubed_f1 >= own.b_cubed_f1)]


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
