#!/usr/bin/env python3
"""Measures what queries and pages cost in databases with more and more stored reports, side by side.

Usage: growth.py CRASH_FLEET BINARIES [--stored N,N,...] [--runs N]

scripts/fleet/postgres runs this program beside a private PostgreSQL. Each number of stored reports has a database of
its own, with 1,000 issues, 1,000 hosts and 20 builds, whose reports are spread over 30 days. The rows are those that
crash-fleet stores, except that only the newest report of each issue is whole. The others are short, and no page opens
them. pgbench runs each query with random parameters, in turns over the databases. The program fails if, from the
smallest database to the largest, a median time grows by more than the square root of the factor by which the number of
reports grows.

Pages: a reader opens the pages of `crash-fleet web` of each database, with random issues, reports and hosts, in turns.
The time of a page ends with its last byte.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import fleet
import pages

ISSUES, HOSTS, BUILDS, WHOLE = 1_000, 1_000, 20, 1_000

FILL = f"""
insert into tenant (name) values ('bench');
insert into host (tenant, machine, name)
  select 1, lpad(to_hex(n), 32, '0')::uuid, 'web-' || n from generate_series(1, {HOSTS}) n;
insert into build (tenant, program, build) select 1, 'shop', 'b' || n from generate_series(1, {BUILDS}) n;
insert into issue (tenant, program, title, cause, signal)
  select 1, 'shop', 'title of ' || n, 'null-pointer', 'SIGSEGV' from generate_series(1, {ISSUES}) n;
insert into alias (tenant, program, key, version, issue)
  select 1, 'shop', 'k' || n, 1, n from generate_series(1, {ISSUES}) n;
insert into host_cursor (host, stream, position) select n, 's@e', 'e.' || n from generate_series(1, {HOSTS}) n;
insert into report (tenant, id, day, revision, alias, host, build, time, signal, cause, unit, body)
  select 1, lpad(to_hex(n), 32, '0')::uuid, time::date, 1, 1 + n % {ISSUES}, 1 + (n / {ISSUES} * 7 + n) % {HOSTS},
    1 + n / 7 % {BUILDS}, time, 'SIGSEGV', 'null-pointer', 'shop.service',
    convert_to(case when n <= {WHOLE} then :'report' else '{{"id":' || n || '}}' end, 'UTF8')
  from (
    select n, now() - case when n <= {WHOLE} then interval '1 hour' * random()
      else interval '1 hour' + interval '30 days' * random() end time
    from generate_series(1, :stored) n) i;
insert into counter (alias, host, build, hour, run, crashes)
  select alias, host, build, date_trunc('hour', time), 0, count(*) from report group by 1, 2, 3, 4;
insert into alias_hour (alias, build, hour, crashes)
  select alias, build, hour, sum(crashes) from counter group by 1, 2, 3;
insert into alias_build select alias, build, sum(crashes), min(hour), max(hour) from alias_hour group by 1, 2;
insert into alias_hour_sum select alias, hour, sum(crashes) from alias_hour group by 1, 2;
insert into program_hour select 1, 'shop', hour, 0, sum(crashes) from alias_hour group by 3;
insert into alias_host (alias, host, crashes) select alias, host, sum(crashes) from counter group by 1, 2;
update issue set crashes = c.crashes, hosts = c.hosts, first_seen = c.first, last_seen = c.last, first_build = 1,
    last_build = {BUILDS}
  from (
    select alias, sum(crashes) crashes, count(distinct host) hosts, min(hour) first, max(hour) last
    from counter group by 1) c
  where c.alias = issue.id;
"""

# Queries of FleetStore, and those of an issue's page.
QUERIES = {
    "issues, the last seen 100":
        "select id, program, title, state, crashes, hosts from issue where tenant = 1 and crashes > 0"
        " order by last_seen desc, id desc limit 100",
    "one report": "select body from report where tenant = 1 and id = lpad(to_hex(:report::bigint), 32, '0')::uuid",
    "newest 50 reports of an issue":
        # A plain join would read all reports of the issue: 130 ms for 10,000 reports. This join merges the indexes of
        # the partitions instead.
        "select r.id, r.time, h.name from alias a cross join lateral ("
        "select id, least(time, received) time, host from report where alias = a.id order by 2 desc, id desc limit 50) r"
        " join host h on h.id = r.host where a.issue = :issue::bigint order by r.time desc limit 50",
    "crashes of an issue by day":
        "select date_trunc('day', hour), sum(crashes) from alias a join alias_hour_sum h on h.alias = a.id"
        " where a.issue = :issue::bigint and hour > now() - interval '30 days' group by 1 order by 1",
    "crashes of an issue by build":
        "select build, crashes from alias a join alias_build h on h.alias = a.id where a.issue = :issue::bigint"
        " order by 2 desc limit 20",
    "hosts of an issue":
        "select h.name, h.last_seen from alias a join alias_host x on x.alias = a.id join host h on h.id = x.host"
        " where a.issue = :issue::bigint order by 2 desc limit 50",
    "position of a host":
        "select position from host_cursor c join host h on h.id = c.host where h.tenant = 1"
        " and h.machine = lpad(to_hex(:host::bigint), 32, '0')::uuid and c.stream = 's@e'",
}

# The paths of the web pages. read() replaces the names in braces.
PAGES = {
    "issues": "/issues",
    "issues with the most crashes": "/issues?sort=count",
    "issues of a build": "/issues?q=build:b{build}",
    "an issue": "/issues/{issue}",
    "crashes": "/events",
    "crashes of a host": "/events?q=host:web-{host}",
    "crashes of a build": "/events?q=build:b{build}",
    "crashes of an issue": "/events?q=group:{issue}",
    "a crash": "/events/{report:032x}",
    "timeline": "/timeline",
    "timeline of an issue": "/timeline?q=group:{issue}",
    "builds": "/builds",
    "builds of an issue": "/builds?q=group:{issue}",
    "health": "/health",
}


def environment(database):
    return os.environ | {
        "CRASH_FLEET_CONFIG": "/dev/null",
        "CRASH_FLEET_DATABASE_CONNECTION": f"host={os.environ['PGHOST']} user={os.environ['PGUSER']} dbname={database}"}


def fill(program, database, stored, report):
    subprocess.run(["createdb", database], check=True)
    subprocess.run([program, "migrate"], env=environment(database), check=True, stdout=subprocess.DEVNULL)
    psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", database]
    variables = ["-v", f"stored={stored}", "-v", f"report={json.dumps(report)}"]
    subprocess.run([*psql, *variables], input=FILL, text=True, check=True)
    subprocess.run([*psql, "-c", "vacuum analyze", "-c", "checkpoint"], check=True)


def run(database, stored, sql, runs, directory):
    """Returns the times of the query in milliseconds, sorted."""
    script = pathlib.Path(directory, "query.sql")
    script.write_text(
        f"\\set report random(1, {stored})\n\\set issue random(1, {ISSUES})\n\\set host random(1, {HOSTS})\n{sql};\n")
    pgbench = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]
    log = ["-l", f"--log-prefix={directory}/times"]
    subprocess.run(
        [pgbench, "-n", "-M", "prepared", "-t", str(runs), *log, "-f", script, database],
        check=True, capture_output=True)
    times = []
    for log in pathlib.Path(directory).glob("times*"):
        times += [int(line.split()[2]) / 1e3 for line in log.read_text().splitlines()]
        log.unlink()
    return sorted(times)


def read(reader, path):
    """Opens a page with random fields, and returns its time in milliseconds."""
    path = path.format(
        issue=random.randint(1, ISSUES), host=random.randint(1, HOSTS), build=random.randint(1, BUILDS),
        report=random.randint(1, WHOLE))
    begin = time.monotonic()
    reader.get(path)
    return (time.monotonic() - begin) * 1e3


def table(kind, items, databases, measure):
    """Prints the median and the p99 of each item in each database.

    Returns the highest p99, and the highest ratio of the medians of the largest database and the smallest.
    """
    print(f"| {kind} | " + " | ".join(f"{stored:,} reports: p50, p99" for stored in databases) + " | growth |")
    print("|---" * (len(databases) + 2) + "|")
    slowest = highest = 0
    for title, item in items.items():
        times = {stored: [] for stored in databases}
        for _ in range(4):
            for stored in databases:
                times[stored] += measure(stored, item)
        ordered = [sorted(times[stored]) for stored in databases]
        medians = [fleet.percentile(values, 0.5) for values in ordered]
        slowest = max([slowest] + [fleet.percentile(values, 0.99) for values in ordered])
        # Takes times below 1 ms as 1 ms, because they depend more on the caches than on the number of rows.
        growth = max(medians[-1], 1) / max(medians[0], 1)
        highest = max(highest, growth)
        cells = [f"{median:.2f} ms, {fleet.percentile(v, 0.99):.2f} ms" for median, v in zip(medians, ordered)]
        print(f"| {title} | " + " | ".join(cells) + f" | {growth:.1f} |", flush=True)
    return slowest, highest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--stored", type=lambda text: [int(n) for n in text.split(",")], default=[10**5, 10**6, 10**7])
    parser.add_argument("--runs", type=int, default=400)
    options = parser.parse_args()
    names = {stored: f"stored{stored}" for stored in options.stored}
    report = fleet.report(options.binaries)
    for stored, name in names.items():
        fill(options.program.resolve(), name, stored, report)
        print(f"{name}: filled, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        queries = table(
            "query", QUERIES, names,
            lambda stored, sql: run(names[stored], stored, sql, options.runs // 4, directory))
    program = options.program.resolve()
    readers = {stored: pages.Reader(program, "bench", environment(name)) for stored, name in names.items()}
    opened = table(
        "page", PAGES, names, lambda stored, path: [read(readers[stored], path) for _ in range(options.runs // 4)])
    slowest, highest = (max(pair) for pair in zip(queries, opened))
    print(f"slowest p99 {slowest:.0f} ms, highest growth {highest:.1f}, load {os.getloadavg()[0]:.1f}")
    # The time of a query that reads every row grows as the number of reports does, and that of a good query hardly. The
    # square root is far from both.
    if highest > (options.stored[-1] / options.stored[0]) ** 0.5:
        sys.exit(f"growth.py: a median grows by {highest:.1f}")


if __name__ == "__main__":
    main()
