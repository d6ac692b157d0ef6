#!/usr/bin/env python3
"""Shows that Patroni automatically replaces the leader of a fleet, while hosts send.

Usage: patroni.py CRASH_FLEET [--reports N] [--table FILE]

Needs root, and Debian's packages patroni and etcd-server. The program runs itself in namespaces of its own.

Three machines each run etcd, Patroni and a PostgreSQL server. With Patroni's `synchronous_mode_strict`, each commit
waits for one standby. First all programs on the leader's machine end by SIGKILL, and start again when another server
leads. Then the leader's machine loses its network, and gets it back when another server leads and the old leader has
stopped itself. Hosts send as in faults.py, through two crash-fleets.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import signal
import sys
import time

from load import Balance, Load, publish
from machines import POSTGRES, SUBNET, Machine, alone, run, with_machines

CONFIGURATION = """
scope: fleet
name: {name}
restapi: {{listen: '0.0.0.0:8008', connect_address: '{address}:8008'}}
etcd: {{hosts: [{etcds}]}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {{use_pg_rewind: true, parameters: {{max_connections: 100, wal_keep_size: 512MB, wal_log_hints: 'on'}}}}
  initdb: [{{encoding: UTF8}}, {{auth: trust}}]
postgresql:
  listen: '0.0.0.0:5432'
  connect_address: '{address}:5432'
  data_dir: {data}
  bin_dir: {bin}
  pgpass: {directory}/pgpass
  parameters: {{unix_socket_directories: '{directory}'}}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust,
    host all all {subnet} trust, host replication all {subnet} trust]
  authentication:
    superuser: {{username: postgres}}
    replication: {{username: postgres}}
    rewind: {{username: postgres}}
"""


class Server(Machine):
    """A machine with etcd, Patroni and PostgreSQL."""

    def prepare(self, servers):
        self.members = ",".join(f"{server.name}=http://{server.address}:2380" for server in servers)
        (self.directory / "patroni.yml").write_text(CONFIGURATION.format(
            name=self.name, address=self.address, data=self.data, directory=self.directory, bin=POSTGRES,
            subnet=SUBNET, etcds=", ".join(f"'{server.address}:2379'" for server in servers)))

    def start(self):
        # If a member of the cluster comes back, its data directory names the cluster, and etcd ignores these initial
        # settings.
        self.processes = [
            self.spawn("etcd", "--enable-v2", "--name", self.name, "--data-dir", self.directory / "etcd",
                       "--listen-peer-urls", f"http://{self.address}:2380",
                       "--initial-advertise-peer-urls", f"http://{self.address}:2380",
                       "--listen-client-urls", f"http://{self.address}:2379",
                       "--advertise-client-urls", f"http://{self.address}:2379",
                       "--initial-cluster", self.members, "--initial-cluster-state", "new"),
            self.spawn("patroni", self.directory / "patroni.yml")]

    def kill(self):
        """Ends all programs of the machine, as a loss of power does."""
        for pid in run("ip", "netns", "pids", self.name).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        for process in self.processes:
            process.wait()
        # Removes the server's pid file and its socket. A restart of a real machine empties the socket's directory.
        for file in [self.data / "postmaster.pid", *self.directory.glob(".s.PGSQL*")]:
            file.unlink(missing_ok=True)

    def patroni(self, path):
        connection = http.client.HTTPConnection(self.address, 8008, timeout=2)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()

    def serves(self):
        return run(*self.inside(POSTGRES / "pg_isready", "-h", self.directory), check=False).returncode == 0

    def leads(self):
        return self.patroni("/primary")[0] == 200


class Cluster:
    def __init__(self, directory):
        self.servers = [Server(number, directory) for number in range(3)]
        for server in self.servers:
            server.prepare(self.servers)
            server.start()
        self.leader = self.wait_for_leader(self.servers)
        self.wait_for_standbys()
        addresses = ",".join(server.address for server in self.servers)
        self.connection = f"host={addresses} user=postgres dbname=postgres connect_timeout=2"

    def wait(self, what, found, seconds=180):
        """Patroni gives no event, so this asks it ten times a second."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if result := found():
                return result
            time.sleep(0.1)
        logs = "\n".join(f"== {server.name}\n{server.log()}" for server in self.servers)
        sys.exit(f"patroni: {what} in {seconds} s\n{logs}")

    def wait_for_leader(self, servers):
        return self.wait("no server leads", lambda: next((server for server in servers if server.leads()), None))

    def wait_for_standbys(self):
        """Waits until both other servers stream the log, and one of them confirms commits."""
        def ready():
            members = self.leader.patroni("/cluster")[1].get("members", [])
            states = [member.get("state") for member in members if member.get("role") != "leader"]
            roles = [member.get("role") for member in members]
            return len(members) == 3 and set(states) <= {"streaming", "running"} and "sync_standby" in roles
        self.wait("the standbys do not stream", ready)

    def replace(self, harm, repair):
        """Harms the leader's machine, and repairs it after the fail-over. Returns the seconds without a leader."""
        old, begin = self.leader, time.monotonic()
        harm(old)
        self.leader = self.wait_for_leader([server for server in self.servers if server is not old])
        taken = time.monotonic() - begin
        self.wait("the old leader does not stop", lambda: not old.serves())
        repair(old)
        self.wait_for_standbys()
        return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--reports", type=int, default=20_000)
    parser.add_argument("--table", type=pathlib.Path, help="replace the table of this page")
    options = parser.parse_args()
    alone("FLEET_PATRONI_INSIDE")
    with_machines(lambda directory: execute(options, directory))


def execute(options, directory):
    cluster = Cluster(directory)
    load = Load(options.program, cluster.connection, options.reports)
    time.sleep(3)  # Hosts send for a while before the first harm.
    killed = cluster.replace(Server.kill, Server.start)
    cut_off = cluster.replace(lambda server: server.link("down"), lambda server: server.link("up"))
    balance = Balance(cluster.leader.sql, load.finish())
    lines = [
        "| what | figure |", "|---|---|",
        f"| reports that hosts sent, each at least twice | {balance.sent:,} |",
        f"| from the end of the leader's machine to the next leader | {killed:.0f} s |",
        f"| from the loss of the leader's network to the next leader | {cut_off:.0f} s |",
        f"| longest wait of a host for a commit | {balance.longest:.0f} s |",
        f"| batches that hosts had to repeat | {balance.repeats:,} |",
        *balance.lines(),
    ]
    print("\n".join(lines))
    if options.table:
        publish(options.table, "patroni", lines)
    if not balance.is_right():
        sys.exit("patroni: FAILED")


if __name__ == "__main__":
    main()
