#!/usr/bin/env python3
"""Breaks the database and the services of a fleet while hosts send, and counts what is lost or counted twice.

Usage: faults.py CRASH_FLEET [--leader-kills N] [--service-kills N] [--reports N] [--table FILE]

Needs root. The program runs itself in namespaces of its own for processes, mounts and the network, so nothing survives it.

Three PostgreSQL servers have a network namespace each. A commit waits until one of the two standbys confirms it (ANY
1). Two crash-fleets serve four hosts. A host behaves as crash-forward does: it repeats a batch until an answer says
that it is committed. In addition, it sends every batch twice. Before some batches, it sends a part of the batch, or the
batch without waiting for the answer. The clock of one host is an hour ahead.

Faults: the leader (the primary server) ends by SIGKILL, and the standby with the latest log is promoted. The leader is
cut off from the network, a standby is promoted, and the old leader comes back to the network before it is stopped. The
leader's disk is full. A crash-fleet ends by SIGKILL at random moments.
"""

import argparse
import pathlib
import random
import sys
import threading
import time

from load import Balance, Load, publish
from machines import alone, with_machines
from servers import Cluster


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--leader-kills", type=int, default=5)
    parser.add_argument("--service-kills", type=int, default=200)
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--table", type=pathlib.Path, help="replace the table of this page")
    options = parser.parse_args()
    alone("FLEET_FAULTS_INSIDE")
    with_machines(lambda directory: execute(options, directory))


def execute(options, directory):
    cluster = Cluster(directory)
    load = Load(options.program, cluster.connection, options.reports)
    begin, done, kills = time.monotonic(), threading.Event(), 0
    promotions, failures = [], []

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
        load.keep()
        if kills < options.service_kills:
            random.choice(load.services).process.kill()
            kills += 1
    breaker.join()
    if failures:
        sys.exit(f"faults: {failures[0]}")
    outcomes = load.finish()
    seconds = time.monotonic() - begin
    report(options, cluster, Balance(cluster.leader.sql, outcomes), promotions, kills, seconds)


def report(options, cluster, balance, promotions, kills, seconds):
    positions = cluster.leader.sql("select count(*) from host_cursor")
    lines = [
        "| what | figure |", "|---|---|",
        f"| reports that hosts sent, each at least twice | {balance.sent:,} |",
        f"| leader SIGKILLs, partitions with fencing, full disks | {len(promotions)}, 1, 1 |",
        f"| crash-fleet SIGKILLs | {kills} |",
        f"| batches that hosts had to repeat | {balance.repeats:,} |",
        f"| longest wait of a host for a commit | {balance.longest:.1f} s |",
        f"| longest promotion | {max(promotions):.2f} s |",
        *balance.lines(),
    ]
    print("\n".join(lines))
    print(f"{seconds:.0f} s, positions of {positions} hosts")
    if options.table:
        publish(options.table, "faults", lines)
    if not balance.is_right():
        sys.exit("faults: FAILED")


if __name__ == "__main__":
    main()
