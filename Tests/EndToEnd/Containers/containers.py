#!/usr/bin/env python3
"""Crashes a server in containers, and checks the reports.

Usage: containers.py PACKAGES [--folder FOLDER] [--programs BINARIES]

PACKAGES is the directory of the packages of `make deb`, or of `make deb-fleet`. FOLDER keeps the images between runs
(.build-containers).

  --programs   run the programs of a debug build in place of those in the images

The containers have a read-only root, no capability, the default seccomp profile and the uid 10001. Their control
groups have kubelet's names.

  sidecars     two pods, each with its own crashd, in separate pid, network and mount namespaces
  daemonset    a crashd in the machine's pid namespace, and containers of two pods
  alone        `crashctl run` as the first process of a container
  one          crashd and `crashctl serve` under tini, in one container
  words        the last words in a bind-mounted /dev/termination-log, with and without crashd
  confined     a seccomp profile without seccomp(2): crashd reads no symbols, and says so
  fleet        with the packages of `make deb-fleet`: crash-fleet, with a PostgreSQL of the machine

Needs root, podman, buildah, crun and debootstrap; the fleet needs PostgreSQL. Ends with "N passed, N failed".
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import traceback

from engine import Engine, PACKAGING, PATIENCE_S, ROOT, TOOLCHAIN, enter_namespace

RESTRICTED = ["--read-only", "--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
UIDS = ("0ec2f1a4-52b3-4c69-9f7e-1d8c5a3b7e01", "7b9d4e62-8f10-4a5d-b3c8-6e2f9a1d4c02")
FUNCTION = "faultArrayIndex()"
COUNTS = {True: 0, False: 0}


def check(what: str, is_right: bool, detail: str = ""):
    COUNTS[bool(is_right)] += 1
    print(f"{'ok' if is_right else 'FAILED'}   {what}" + ("" if is_right else f": {detail}"), flush=True)


class Node:
    """What a machine gives to its containers: directories, control groups and, with --programs, the programs."""

    def __init__(self, engine: Engine, programs: pathlib.Path | None):
        self.engine = engine
        self.folder = engine.folder / "node"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.group = f"/crashshield-{os.getpid()}/kubepods/burstable"
        self.programs = programs
        self.debug = self.directory("debug", 0o755)

    def directory(self, name: str, mode: int, owner: int = 0) -> pathlib.Path:
        """Mounts a file system in memory, like an emptyDir volume with the medium Memory."""
        path = self.folder / name
        path.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode={mode:o},uid={owner},gid={owner}", "memory", str(path)],
                       check=True)
        return path

    def options(self, uid: str, *more: str) -> list[str]:
        found = [*RESTRICTED, "--cgroup-parent", f"{self.group}/pod{uid}", *more]
        if self.programs:
            found += ["--volume", f"{self.programs.parents[1]}:{self.programs.parents[1]}:ro",
                      "--volume", f"{TOOLCHAIN}:{TOOLCHAIN}:ro", "--env", f"PATH={self.programs}:/usr/bin:/bin"]
        return found

    @property
    def server(self) -> str:
        return str(self.programs / "crash-maker") if self.programs else "server"

    def remove_groups(self):
        top = self.group.split("/")[1]
        for controller in pathlib.Path("/sys/fs/cgroup").iterdir():
            if controller.name == "unified":
                continue
            for folder, _, _ in os.walk(controller / top, topdown=False):
                os.rmdir(folder)


class Crashd:
    """A container of crashd, whose log is read as it is written."""

    def __init__(self, node: Node, name: str, uid: str, runtime: pathlib.Path, state: pathlib.Path, *options: str,
                 image: str = "crashd", words: tuple[str, ...] = ()):
        self.node, self.name, self.runtime, self.image, self.words = node, name, runtime, image, words
        self.options = node.options(
            uid, "--volume", f"{runtime}:/run/crashd", "--volume", f"{state}:/var/lib/crashd",
            "--volume", f"{node.debug}:/usr/lib/debug:ro", *options)

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(self.node.engine.container(self.name, self.image, *self.words, options=self.options))
        self.log = self.node.engine.logs(self.name)
        self.stack.callback(self.end_log)
        self.lines: list[str] = []
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.await_lines("listening in", 1)
        return self

    def __exit__(self, *error):
        self.stack.close()

    def end_log(self):
        self.log.kill()
        self.log.wait()

    def read(self):
        for line in self.log.stdout:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()

    def await_lines(self, word: str, count: int):
        def is_there() -> bool:
            return sum(word in line for line in self.lines) >= count
        with self.news:
            if not self.news.wait_for(is_there, PATIENCE_S):
                raise RuntimeError(f"{self.name} does not log '{word}' {count} times: {''.join(self.lines)}")

    def reports(self, count: int) -> list[dict]:
        self.await_lines("info: stored", count)
        listed = json.loads(self.node.engine.execute(self.name, "crashctl", "list", "--all", "--json=short"))
        return [json.loads(self.node.engine.execute(self.name, "crashctl", "show", one["id"], "--json=short"))
                for one in listed]


def crash(node: Node, crashd: Crashd, uid: str, name: str, scenario: str, *options: str) -> tuple[int, str]:
    """Runs a server that crashes. Returns its exit status and the id of its container."""
    file = node.folder / f"{name}.cid"
    done = node.engine.run(
        "shop", node.server, scenario, "--wait-attached",
        options=["--rm", "--cidfile", str(file), *node.options(
            uid, "--volume", f"{crashd.runtime}:/run/crashd", "--env", f"CRASHSHIELD_POD={name}",
            "--env", "CRASHSHIELD_NAMESPACE=prod", *options)])
    if "accept" in done.stderr:
        raise RuntimeError(f"{name}: {done.stderr}{''.join(crashd.lines)}")
    return done.returncode, file.read_text().strip()


def check_report(what: str, report: dict, container: str, uid: str, pod: str):
    found = report.get("container", {})
    frames = report["threads"][0]["frames"]
    check(f"{what}: the report has the container's id", found.get("id") == container, f"{found}, not {container}")
    check(f"{what}: the report has the pod's uid", found.get("podUID") == uid, f"{found}, not {uid}")
    check(f"{what}: the report has the pod's name", found.get("pod") == pod and found.get("namespace") == "prod",
          f"{found}")
    check(f"{what}: the report has function and line", any(
        frame.get("function") == FUNCTION and frame.get("line") for frame in frames), f"{frames[:4]}")
    check(f"{what}: the process has a pid", report["process"]["pid"] > 0)


def sidecars(node: Node):
    pods = []
    with contextlib.ExitStack() as stack:
        for number, uid in enumerate(UIDS, 1):
            # kubelet creates an emptyDir volume in the same way: root owns the directory, and all users can write into
            # it.
            runtime, state = (node.directory(f"sidecar-{number}/{kind}", 0o777) for kind in ("run", "state"))
            crashd = stack.enter_context(Crashd(node, f"crashd-{number}", uid, runtime, state))
            status, container = crash(node, crashd, uid, f"shop-{number}", "array-index", "--pid",
                                      f"container:{crashd.name}")
            check(f"sidecar {number}: the server ends by SIGILL", status == 132, str(status))
            pods.append((crashd, container, uid))
        for number, (crashd, container, uid) in enumerate(pods, 1):
            reports = crashd.reports(1)
            check(f"sidecar {number}: there is one report", len(reports) == 1, str(len(reports)))
            check_report(f"sidecar {number}", reports[0], container, uid, f"shop-{number}")


def daemonset(node: Node):
    # In the cluster, the init container `directories` gives the node's directories this owner and these permissions.
    runtime, state = node.directory("run", 0o755, 10001), node.directory("state", 0o700, 10001)
    with Crashd(node, "crashd-node", UIDS[0], runtime, state, "--pid", "host") as crashd:
        expected = {}
        for number, uid in enumerate(UIDS, 1):
            status, container = crash(node, crashd, uid, f"node-{number}", "array-index", "--user", f"{20000 + number}")
            check(f"daemonset, pod {number}: the first process ends by SIGILL", status == 132, str(status))
            expected[container] = (f"node-{number}", uid)
        status, _ = crash(node, crashd, UIDS[0], "node-3", "abort")
        check("daemonset: abort() in a first process ends it by SIGSEGV, as without the shield", status == 139,
              str(status))
        reports = crashd.reports(3)
        check("daemonset: there are three reports", len(reports) == 3, str(len(reports)))
        for report in reports:
            container = report.get("container", {}).get("id")
            if container in expected:
                pod, uid = expected.pop(container)
                check_report(f"daemonset, {pod}", report, container, uid, pod)
            else:
                check("daemonset: the report of abort() is about SIGABRT", report["signal"]["name"] == "SIGABRT",
                      str(report["signal"]))
        check("daemonset: both pods have a report", not expected, str(expected))


def alone(node: Node):
    def run(*words: str) -> subprocess.CompletedProcess:
        return node.engine.run("alone", *words, options=["--rm", *node.options(UIDS[0])])

    done = run(node.server, "array-index")
    check("alone: crashctl run exits with 128 + SIGILL", done.returncode == 132, str(done.returncode))
    check("alone: the report is on standard error",
          "Index out of range" in done.stderr and FUNCTION in done.stderr, done.stderr)
    done = run("sh", "-c", "exit 7")
    check("alone: crashctl run keeps the exit status", done.returncode == 7, f"{done.returncode} {done.stderr}")
    # The inner shell, which starts `true` and prints its pid, exits, so PID 1 of the container becomes the parent of
    # `true`. The loop ends when PID 1 has reaped `true`.
    done = run("sh", "-c", "orphan=$(sh -c '(true & echo $!)'); while [ -d /proc/$orphan ]; do :; done; echo reaped")
    check("alone: crashctl run reaps orphans", done.stdout == "reaped\n", f"{done.stdout}{done.stderr}")
    with node.engine.container("alone", "alone", "sh", "-c",
                               "trap 'exit 9' TERM; echo ready; while :; do :; done",
                               options=node.options(UIDS[0])) as name:
        log = node.engine.logs(name)
        for line in log.stdout:
            if "ready" in line:
                break
        node.engine.call("podman", "kill", "--signal", "TERM", name)
        status = node.engine.call("podman", "wait", name).stdout.strip()
        log.kill()
        log.wait()
        check("alone: crashctl run forwards SIGTERM", status == "9", status)


def one(node: Node):
    """Tests crashd and a server in one container. The server crashes only in its first run."""
    server = f"mkdir /run/crashd/crashed && exec {node.server} array-index --wait-attached || exec tail -f /dev/null"
    script = f'crashd & exec crashctl serve --listen 8080 -- sh -c "{server}"'
    runtime, state = node.directory("one/run", 0o777), node.directory("one/state", 0o777)
    with Crashd(node, "one", UIDS[0], runtime, state, "--entrypoint", "tini", image="alone",
                words=("--", "sh", "-c", script)) as crashd:
        reports = crashd.reports(1)
        check("one: crashd under tini stores the crash of the server that crashctl serve restarts",
              len(reports) == 1 and reports[0]["signal"]["name"] == "SIGILL", str(reports))


# Each row has a scenario of crash-maker, its signal, and the exit status if crash-maker is PID 1 of its container.
LAST_WORDS = (("array-index", "SIGILL", 132), ("null-write", "SIGSEGV", 139), ("abort", "SIGABRT", 139),
              ("int3", "SIGTRAP", 133), ("float-divide", "SIGFPE", 136), ("bus-truncated-mmap", "SIGBUS", 135),
              ("seccomp-sys", "SIGSYS", 159))


def words(node: Node):
    """Tests last words without crashd and spool directory, in a bind-mounted file, as kubelet mounts it."""
    def run(scenario: str, file: pathlib.Path, mode: str = "rw") -> int:
        return node.engine.run("shop", node.server, scenario, options=[
            "--rm", *node.options(UIDS[0], "--volume", f"{file}:/dev/termination-log:{mode}")]).returncode

    for scenario, name, status in LAST_WORDS:
        file = node.folder / f"{scenario}.log"
        file.touch()
        file.chmod(0o666)
        found = run(scenario, file)
        text = file.read_text()
        check(f"words: {scenario} as a first process exits with {status}", found == status, str(found))
        check(f"words: {scenario} leaves {name}", name in text.partition("\n")[0] and len(text) <= 4096, text)
        check(f"words: {scenario} leaves at most 1 KiB in a line",
              all(len(line) < 1024 for line in text.encode().splitlines()), text)
    full = node.directory("full", 0o777)
    subprocess.run(["mount", "-o", "remount,size=4k", str(full)], check=True)
    file = full / "log"
    file.write_bytes(b"x" * 4096)
    file.chmod(0o666)
    check("words: a full file changes nothing else", run("array-index", file) == 132)
    check("words: a read-only file changes nothing else", run("array-index", file, "ro") == 132)


def confined(node: Node):
    profile = json.loads(pathlib.Path("/usr/share/containers/seccomp.json").read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name != "seccomp"]
    file = node.folder / "no-seccomp.json"
    file.write_text(json.dumps(profile))
    runtime, state = node.directory("confined/run", 0o777), node.directory("confined/state", 0o777)
    with Crashd(node, "crashd-confined", UIDS[0], runtime, state, "--security-opt", f"seccomp={file}") as crashd:
        crash(node, crashd, UIDS[0], "confined", "array-index", "--pid", f"container:{crashd.name}")
        report = crashd.reports(1)[0]
        names = [frame.get("function") for frame in report["threads"][0]["frames"]]
        check("confined: the report has no names, because crash-analyse cannot confine itself",
              FUNCTION not in names, str(names))
        check("confined: crashd's log says so", any("confine" in line for line in crashd.lines), "".join(crashd.lines))


def fleet(node: Node):
    """Tests the commands of packaging/container/fleet-compose.yaml; its service answers in its own network namespace."""
    database = node.folder / "postgres"
    database.mkdir()
    # The user of the container connects to the server's socket, so the socket is writable for all users. Only root can
    # enter its directory.
    server = subprocess.Popen([ROOT / "scripts/fleet/postgres", database, "sh", "-c", "echo ready && cat"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"POSTGRES_OPTIONS": "-c unix_socket_permissions=0777"})
    try:
        if server.stdout.readline() != "ready\n":
            raise RuntimeError("PostgreSQL did not start")
        connection = "CRASH_FLEET_DATABASE_CONNECTION=host=/database user=postgres dbname=postgres"
        options = [*RESTRICTED, "--volume", f"{database}:/database", "--env", connection]
        done = node.engine.run("crash-fleet", "crash-fleet", "migrate", options=["--rm", *options])
        check("fleet: migrate creates the schema", done.returncode == 0, done.stderr)
        with node.engine.container("fleet", "crash-fleet", options=options) as name:
            log = node.engine.logs(name)
            line = next((line for line in log.stdout if "listening" in line), "")
            check("fleet: the service listens on every address", "[::]:8320" in line, line)
            request = 'exec 3<>/dev/tcp/127.0.0.1/8320; printf "GET /healthz HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3'
            answer = node.engine.execute(name, "bash", "-c", request, may_fail=True)
            check("fleet: the service reaches the database", '"ok"' in answer, answer)
            token = node.engine.execute(name, "crash-fleet", "token", "add", "shop")
            check("fleet: the image prints a token", token.startswith("cft_"), token)
            log.kill()
            log.wait()
    finally:
        server.stdin.close()
        server.wait(PATIENCE_S)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / ".build-containers")
    parser.add_argument("--programs", type=pathlib.Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("containers.py: needs root")
    enter_namespace()
    engine = Engine(options.folder.resolve())
    engine.build_base()
    engine.build_crashd(options.packages)
    engine.build_server()
    engine.build_alone()
    images, scenarios = ["crashd", "shop", "shop-debug", "alone"], [sidecars, daemonset, alone, one, words, confined]
    if any(options.packages.glob("swift-crash-shield-fleet_*.deb")):
        engine.build("crash-fleet", PACKAGING / "fleet.Dockerfile", options.packages, BASE="localhost/base")
        images, scenarios = [*images, "crash-fleet"], [*scenarios, fleet]
    else:
        print("without the image of crash-fleet: make containers-fleet checks it", flush=True)
    check("the images build", all(map(engine.has, images)))
    node = Node(engine, options.programs and options.programs.resolve())
    try:
        engine.run("shop-debug", options=["--rm", "--volume", f"{node.debug}:/usr/lib/debug"], may_fail=False)
        check("the image of the debug file fills the volume", any(node.debug.glob(".build-id/*/*.debug")))
        for scenario in scenarios:
            try:
                scenario(node)
            except (RuntimeError, subprocess.SubprocessError, OSError, ValueError, LookupError):
                check(f"{scenario.__name__} runs to its end", False, traceback.format_exc())
    finally:
        # After a failed check, remove the containers that still exist.
        engine.call("podman", "rm", "--all", "--force", "--time", "5", may_fail=True)
        node.remove_groups()
    print(f"{COUNTS[True]} passed, {COUNTS[False]} failed")
    return 1 if COUNTS[False] else 0


if __name__ == "__main__":
    sys.exit(main())
