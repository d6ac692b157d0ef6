"""Three PostgreSQL servers, of which a script promotes one."""

import contextlib
import itertools
import os
import signal
import sys
import time

from machines import POSTGRES, SUBNET, Machine, run

NAMES = "ANY 1 (n0, n1, n2)"


class Node(Machine):
    """A machine with a PostgreSQL server."""

    process = None

    def start(self):
        self.process = self.spawn(
            POSTGRES / "postgres", "-D", self.data, "-c", "listen_addresses=*", "-c",
            f"unix_socket_directories={self.directory}", "-c", "max_connections=100", "-c",
            f"synchronous_standby_names={NAMES}", "-c", "wal_keep_size=512MB")
        self.wait()

    def wait(self):
        while run(*self.inside(POSTGRES / "pg_isready", "-h", self.directory), check=False).returncode != 0:
            if self.process.poll() is not None:
                sys.exit(f"faults: {self.name} does not start: {self.log()}")
            time.sleep(0.05)

    def initialize(self):
        run(*self.inside(POSTGRES / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust"), cwd=self.directory)
        with open(self.data / "pg_hba.conf", "a") as file:
            file.write(f"host all all {SUBNET} trust\nhost replication all {SUBNET} trust\n")

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

    def position(self):
        high, low = self.sql("select pg_last_wal_receive_lsn()").split("/")
        return int(high, 16) << 32 | int(low, 16)


class Cluster:
    def __init__(self, directory):
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
        # The old primary, which was cut off, still acts as the primary. No standby replicates from it, so it cannot
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
