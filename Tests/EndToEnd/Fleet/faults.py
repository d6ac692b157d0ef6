#!/usr/bin/env python3
"""Breaks the database and the services of a fleet while hosts send, and counts what is lost or counted twice.

Usage: faults.py CRASH_FLEET [--leader-kills N] [--service-kills N] [--reports N] [--table FILE]

Needs root. The program runs itself in namespaces of its own for processes, mounts and the network, so nothing survives it.

Three PostgreSQL servers have a network namespace each, and commits wait for ANY 1 standby. Two crash-fleets serve four
hosts. A host behaves as crash-forward does: it repeats a batch until an answer says that it is committed. In addition, it
sends every batch twice, and some batches torn: a part first, or without waiting for the answer. The clock of one host is
an hour ahead.

Faults: the leader ends by SIGKILL, and the standby with the latest log is promoted. The leader is cut off from the
network, a standby is promoted, and the old leader comes back before it is stopped. The leader's disk is full. A crash-fleet
ends by SIGKILL at random moments.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOSTS, BATCH, GROUPS = 4, 20, 20
NAMES = "ANY 1 (n0, n1, n2)"
POSTGRES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))[-1]


def run(*command, check=True, **options):
    return subprocess.run([str(word) for word in command], check=check, capture_output=True, text=True, **options)


class Node:
    """One PostgreSQL server in a network namespace, with a file system of its own."""

    def __init__(self, number, directory):
        self.number, self.name, self.address = number, f"n{number}", f"10.77.0.1{number + 1}"
        self.directory, self.data = directory / self.name, directory / self.name / "data"
        self.process = None
        self.directory.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", self.directory)
        run("chown", "nobody", self.directory)
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", f"v{number}", "master", "br0", "up")
        for words in (["address", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                      ["link", "set", "lo", "up"]):
            run("ip", "-n", self.name, *words)

    def inside(self, *command):
        return ["ip", "netns", "exec", self.name, "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                "--reset-env", *map(str, command)]

    def start(self):
        log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(
            self.inside(POSTGRES / "postgres", "-D", self.data, "-c", "listen_addresses=*", "-c",
                        f"unix_socket_directories={self.directory}", "-c", "max_connections=100", "-c",
                        f"synchronous_standby_names={NAMES}", "-c", "wal_keep_size=512MB"),
            stdout=log, stderr=log, cwd=self.directory)
        self.wait()

    def wait(self):
        while run(*self.inside(POSTGRES / "pg_isready", "-h", self.directory), check=False).returncode != 0:
            if self.process.poll() is not None:
                sys.exit(f"faults: {self.name} does not start: {(self.directory / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def sql(self, text):
        return run(*self.inside(POSTGRES / "psql", "-h", self.directory, "-U", "postgres", "-XqAtc", text, "postgres")
                   ).stdout.strip()

    def initialize(self):
        run(*self.inside(POSTGRES / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust"), cwd=self.directory)
        with open(self.data / "pg_hba.conf", "a") as file:
            file.write("host all all 10.77.0.0/24 trust\nhost replication all 10.77.0.0/24 trust\n")

    def copy(self, leader):
        """Becomes a standby of the leader, from nothing."""
        run("rm", "-rf", self.data)
        run(*self.inside(POSTGRES / "pg_basebackup", "-h", leader.address, "-U", "postgres", "-D", self.data, "-R",
                         "-X", "stream", "-c", "fast"), cwd=self.directory)
        self.start()
        self.follow(leader)

    def follow(self, leader):
        self.sql(f"alter system set primary_conninfo = 'host={leader.address} user=postgres application_name={self.name}"
                 " connect_timeout=2'")
        self.sql("select pg_reload_conf()")

    def kill(self):
        # The server processes end only some time after their postmaster, so kill all of them.
        children = run("pgrep", "-P", self.process.pid, check=False).stdout.split()
        for pid in [self.process.pid, *map(int, children)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def link(self, state):
        run("ip", "link", "set", f"v{self.number}", state)

    def position(self):
        high, low = self.sql("select pg_last_wal_receive_lsn()").split("/")
        return int(high, 16) << 32 | int(low, 16)


class Cluster:
    def __init__(self, directory):
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "br0", "type", "bridge")
        run("ip", "address", "add", "10.77.0.1/24", "dev", "br0")
        run("ip", "link", "set", "br0", "up")
        self.nodes = [Node(number, directory) for number in range(3)]
        self.leader = self.nodes[0]
        self.leader.initialize()
        self.leader.start()
        for node in self.nodes[1:]:
            node.copy(self.leader)
        self.connection = f"host={','.join(node.address for node in self.nodes)} user=postgres dbname=postgres connect_timeout=2"

    def promote(self):
        """Promotes the standby with the latest log. Commits that an answer confirmed are in this log."""
        old, standbys = self.leader, [node for node in self.nodes if node is not self.leader]
        self.leader = max(standbys, key=Node.position)
        self.leader.sql("select pg_promote()")
        for node in standbys:
            if node is not self.leader:
                node.follow(self.leader)
        return old

    def kill_leader(self):
        self.leader.kill()
        begin = time.monotonic()
        old = self.promote()
        taken = time.monotonic() - begin
        time.sleep(1)
        old.copy(self.leader)
        return taken

    def cut_off_leader(self):
        self.leader.link("down")
        time.sleep(1)
        old = self.promote()
        time.sleep(2)
        # The old primary is running again, and still acts as the primary. No standby replicates from it, so it cannot
        # commit.
        old.link("up")
        time.sleep(3)
        old.kill()
        old.copy(self.leader)

    def fill_disk(self):
        filler = self.leader.directory / "filler"
        step = 1 << 20
        with open(filler, "wb") as file, contextlib.suppress(OSError):
            for start in itertools.count(0, step):
                os.posix_fallocate(file.fileno(), start, step)
        time.sleep(3)
        filler.unlink()
        if self.leader.process.poll() is not None:
            (self.leader.data / "postmaster.pid").unlink(missing_ok=True)
            self.leader.start()


class Service:
    def __init__(self, program, cluster, port):
        self.program, self.port, self.process = program, port, None
        self.environment = os.environ | {
            "CRASH_FLEET_CONFIG": "/dev/null", "CRASH_FLEET_LISTEN_PORT": str(port),
            "CRASH_FLEET_DATABASE_CONNECTION": cluster.connection, "CRASH_FLEET_LOG_LEVEL": "error"}

    def call(self, *arguments):
        return run(self.program, *arguments, env=self.environment).stdout.strip()

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "serve"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def keep(self):
        """Starts the service again if it ended, as systemd does."""
        if self.process.poll() is not None:
            self.start()


def batch(host, number):
    clock = time.time() + (3600 if host == 3 else 0)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(clock))
    lines = []
    for index in range(BATCH):
        identity = host << 64 | number << 16 | index
        lines.append({"revision": 1, "report": {
            "id": f"{identity:032x}", "time": stamp, "process": {"name": "shop", "buildID": f"b{number // 500}"},
            "signal": {"name": "SIGILL"}, "diagnosis": {"cause": "trap"},
            "group": {"key": f"g{(number + index) % GROUPS}", "title": "t", "version": 1},
            "machine": {"id": f"{host:032x}", "host": f"web-{host}"}, "threads": ["x" * 1000]}})
    sender = {"machine": f"{host:032x}", "name": f"web-{host}"}
    lines.append({"host": sender, "count": {
        "program": "shop", "build": "b0", "group": {"key": f"g{host}", "title": "t", "version": 1},
        "hour": int(clock) // 3600, "run": int(clock) // 3600, "crashes": number + 1}})
    lines.append({"host": sender, "position": {"stream": "s", "cursor": f"c{number}", "time": int(clock * 1e6)}})
    return [json.dumps(line).encode() for line in lines], int(clock) // 3600


def post(port, token, body, wait=True):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/v1/reports", body, {"Authorization": f"Bearer {token}"})
        if not wait:
            return False
        response = connection.getresponse()
        return response.status == 200 and json.loads(response.read()).get("committed") is True
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def host(number, ports, token, stop, least, results):
    """Sends batches until `stop` is set and `least` batches are committed."""
    choice, sent, longest, repeats, hours = random.Random(number), 0, 0.0, 0, {}
    while not (stop.is_set() and sent >= least):
        lines, hour = batch(number, sent)
        hours[hour] = sent + 1
        body, begin = b"\n".join(lines), time.monotonic()
        if choice.random() < 0.2:
            post(choice.choice(ports), token, b"\n".join(lines[:choice.randrange(1, BATCH)]))
        if choice.random() < 0.1:
            post(choice.choice(ports), token, body, wait=False)
        while not post(choice.choice(ports), token, body):
            repeats += 1
            time.sleep(0.05)
        post(choice.choice(ports), token, body)
        longest = max(longest, time.monotonic() - begin)
        sent += 1
    results.put((number, sent, longest, repeats, sum(hours.values())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--leader-kills", type=int, default=5)
    parser.add_argument("--service-kills", type=int, default=200)
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--table", type=pathlib.Path, help="replace the table of this page")
    options = parser.parse_args()
    if not os.environ.get("FLEET_FAULTS_INSIDE"):
        os.execvpe("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                               sys.executable, *sys.argv], os.environ | {"FLEET_FAULTS_INSIDE": "1"})
    directory = pathlib.Path(tempfile.mkdtemp(prefix="crash-fleet-faults.", dir="/tmp"))
    directory.chmod(0o755)
    try:
        execute(options, directory)
    finally:
        for number in range(3):
            run("umount", "-l", directory / f"n{number}", check=False)
        run("rm", "-rf", directory)


def execute(options, directory):
    pathlib.Path("/run/netns").mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    cluster = Cluster(directory)
    services = [Service(options.program.resolve(), cluster, port) for port in (8321, 8322)]
    services[0].call("migrate")
    token = services[0].call("token", "add", "shop")
    for service in services:
        service.start()
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    least = -(-options.reports // (HOSTS * BATCH))
    ports = [service.port for service in services]
    hosts = [multiprocessing.Process(target=host, args=(number, ports, token, stop, least, results))
             for number in range(HOSTS)]
    for process in hosts:
        process.start()
    begin, done, kills = time.monotonic(), threading.Event(), 0
    promotions = []

    failures = []

    def break_leader():
        try:
            break_servers()
        except Exception as problem:  # noqa: BLE001 - the main thread reports it
            failures.append(problem)
        done.set()

    def break_servers():
        for _ in range(options.leader_kills):
            time.sleep(random.uniform(2, 4))
            promotions.append(cluster.kill_leader())
        time.sleep(2)
        cluster.cut_off_leader()
        time.sleep(2)
        cluster.fill_disk()

    breaker = threading.Thread(target=break_leader)
    breaker.start()
    while kills < options.service_kills or not done.is_set():
        time.sleep(random.uniform(0.1, 0.5))
        for service in services:
            service.keep()
        if kills < options.service_kills:
            random.choice(services).process.kill()
            kills += 1
    breaker.join()
    if failures:
        sys.exit(f"faults: {failures[0]}")
    stop.set()
    outcomes = []
    while len(outcomes) < HOSTS:
        for service in services:
            service.keep()
        try:
            outcomes.append(results.get(timeout=0.2))
        except Exception:  # noqa: BLE001 - multiprocessing's queue.Empty; the services are kept running meanwhile
            if not any(process.is_alive() for process in hosts) and results.empty():
                sys.exit("faults: a host ended")
    seconds = time.monotonic() - begin
    report(options, cluster, outcomes, promotions, kills, seconds)


def report(options, cluster, outcomes, promotions, kills, seconds):
    leader = cluster.leader
    sent = sum(batches for _, batches, _, _, _ in outcomes) * BATCH
    counted = sum(last for _, _, _, _, last in outcomes)
    lost = 0
    for number, batches, _, _, _ in outcomes:
        found = int(leader.sql(f"select count(distinct r.id) from report r join host h on h.id = r.host where h.machine = '{number:032x}'::uuid"))
        lost += batches * BATCH - found
    rows = int(leader.sql("select count(*) from report"))
    sums = [int(leader.sql(f"select coalesce(sum(crashes), 0) from {table}")) for table in ("counter", "alias_hour", "issue")]
    whole = int(leader.sql("select sum(crashes) from counter where run = 0"))
    positions = leader.sql("select count(*) from host_cursor")
    lines = [
        "| what | figure |", "|---|---|",
        f"| reports that hosts sent, each at least twice | {sent:,} |",
        f"| leader SIGKILLs, partitions with fencing, full disks | {len(promotions)}, 1, 1 |",
        f"| crash-fleet SIGKILLs | {kills} |",
        f"| batches that hosts had to repeat | {sum(repeats for _, _, _, repeats, _ in outcomes):,} |",
        f"| longest wait of a host for a commit | {max(longest for _, _, longest, _, _ in outcomes):.1f} s |",
        f"| longest promotion | {max(promotions):.2f} s |",
        f"| reports lost | {lost} |",
        f"| reports stored twice | {rows - sent + lost} |",
        f"| whole reports counted twice | {whole - rows} |",
        f"| difference of counted crashes (counters, hours, issues) | {', '.join(str(total - rows - counted) for total in sums)} |",
    ]
    print("\n".join(lines))
    print(f"{seconds:.0f} s, positions of {positions} hosts")
    if options.table:
        before, rest = options.table.read_text().split("<!-- faults -->\n")
        after = rest.split("<!-- end of faults -->\n")[1]
        table = "<!-- faults -->\n" + "\n".join(lines) + "\n<!-- end of faults -->\n"
        options.table.write_text(before + table + after)
    if lost or rows != sent or whole != rows or any(total != rows + counted for total in sums):
        sys.exit("faults: FAILED")


if __name__ == "__main__":
    main()
