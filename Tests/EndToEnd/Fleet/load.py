"""The load for tests of the fleet: crash-fleet processes, and hosts that send to them as crash-forward does."""

import http.client
import json
import multiprocessing
import os
import queue
import random
import subprocess
import sys
import time

from machines import run

HOSTS, BATCH, GROUPS = 4, 20, 20
# The tables of the fleet's database that count all crashes, so that their sums must be equal.
TABLES = ("counter", "alias_hour", "alias_hour_sum", "alias_build", "alias_host", "program_hour", "issue")


class Service:
    def __init__(self, program, connection, port):
        self.program, self.port, self.process = program, port, None
        self.environment = os.environ | {
            "CRASH_FLEET_CONFIG": "/dev/null", "CRASH_FLEET_LISTEN_PORT": str(port),
            "CRASH_FLEET_DATABASE_CONNECTION": connection, "CRASH_FLEET_LOG_LEVEL": "error"}

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


class Load:
    """Two crash-fleets and the hosts that send to them."""

    def __init__(self, program, connection, reports):
        self.services = [Service(program.resolve(), connection, port) for port in (8321, 8322)]
        self.services[0].call("migrate")
        token = self.services[0].call("token", "add", "shop")
        for service in self.services:
            service.start()
        self.stop, self.results = multiprocessing.Event(), multiprocessing.Queue()
        least = -(-reports // (HOSTS * BATCH))
        ports = [service.port for service in self.services]
        self.hosts = [multiprocessing.Process(target=host, args=(number, ports, token, self.stop, least, self.results))
                      for number in range(HOSTS)]
        for process in self.hosts:
            process.start()

    def keep(self):
        for service in self.services:
            service.keep()

    def finish(self):
        """Waits until each host has sent its last batch, and returns what the hosts counted."""
        self.stop.set()
        outcomes = []
        while len(outcomes) < HOSTS:
            self.keep()
            try:
                outcomes.append(self.results.get(timeout=0.2))
            except queue.Empty:
                if not any(process.is_alive() for process in self.hosts) and self.results.empty():
                    sys.exit("load: a host ended")
        return outcomes


class Balance:
    """Compares what the hosts have sent with what the database has."""

    def __init__(self, sql, outcomes):
        self.sent = sum(batches for _, batches, _, _, _ in outcomes) * BATCH
        self.repeats = sum(repeats for _, _, _, repeats, _ in outcomes)
        self.longest = max(longest for _, _, longest, _, _ in outcomes)
        counted = sum(last for _, _, _, _, last in outcomes)
        self.lost = 0
        for number, batches, _, _, _ in outcomes:
            found = int(sql("select count(distinct r.id) from report r join host h on h.id = r.host "
                            f"where h.machine = '{number:032x}'::uuid"))
            self.lost += batches * BATCH - found
        self.rows = int(sql("select count(*) from report"))
        self.whole = int(sql("select sum(crashes) from counter where run = 0"))
        self.differences = [int(sql(f"select coalesce(sum(crashes), 0) from {table}")) - self.rows - counted
                            for table in TABLES]

    def lines(self):
        return [
            f"| reports lost | {self.lost} |",
            f"| reports stored twice | {self.rows - self.sent + self.lost} |",
            f"| whole reports counted twice | {self.whole - self.rows} |",
            f"| difference of counted crashes in {len(TABLES)} tables | {', '.join(map(str, self.differences))} |",
        ]

    def is_right(self):
        return not self.lost and self.rows == self.sent and self.whole == self.rows and not any(self.differences)


def publish(page, name, lines):
    """Replaces the table between two marks of a page."""
    before, rest = page.read_text().split(f"<!-- {name} -->\n")
    after = rest.split(f"<!-- end of {name} -->\n")[1]
    table = f"<!-- {name} -->\n" + "\n".join(lines) + f"\n<!-- end of {name} -->\n"
    page.write_text(before + table + after)
