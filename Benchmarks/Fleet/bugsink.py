"""Measures how many events Bugsink, another crash server, stores and groups per second. fleet.py compares crash-fleet
with it.

Bugsink runs as its own template for one server sets it up, with gunicorn, its workers and SQLite. Only its limits of
events are higher here, because they would end the run after a thousand events. The events are those that crash-forward
sends to Sentry for the crash of fleet.py.
"""

import http.client
import http.server
import json
import multiprocessing
import os
import pathlib
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import programs

LIMITS = [f"MAX_EVENTS_{scope}" for scope in (
    "PER_PROJECT_PER_5_MINUTES", "PER_PROJECT_PER_HOUR", "PER_PROJECT_PER_MONTH", "PER_5_MINUTES", "PER_HOUR",
    "PER_MONTH")]


def envelope(binaries, directory):
    """Returns the headers and the event of the envelope that crash-forward sends for one crash."""
    received, whole = [], threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
            whole.set()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = {"CRASH_FORWARD_SENTRY_DSN": f"http://key@127.0.0.1:{server.server_port}/1"}
    with programs.host(binaries, directory, "sentry", settings) as environment:
        subprocess.run(
            [binaries / "crash-maker", "array-index", "--wait-attached"], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=60)
        if not whole.wait(30):
            sys.exit("bugsink.py: crash-forward sent no event")
    server.shutdown()
    header, item, event = received[0].split(b"\n")[:3]
    return json.loads(header), json.loads(item), json.loads(event)


def body(parts, number, groups):
    """Returns an envelope with an id and a group of its own."""
    header, item, event = parts
    identifier = f"{number:032x}"
    event = event | {"event_id": identifier, "fingerprint": [f"{number * 7919 % groups:016x}"]}
    payload = json.dumps(event, separators=(",", ":")).encode()
    item = {key: value for key, value in item.items() if key != "length"} | {"length": len(payload)}
    return b"\n".join([json.dumps(header | {"event_id": identifier}).encode(), json.dumps(item).encode(), payload, b""])


def send(port, key, bodies, start):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"X-Sentry-Auth": f"Sentry sentry_key={key}, sentry_version=7", "Content-Type": "application/x-sentry-envelope"}
    start.wait()
    for one in bodies:
        connection.request("POST", "/api/1/envelope/", one, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            sys.exit(f"bugsink.py: {response.status} {answer[:200]!r}")


class Bugsink:
    def __init__(self, venv, directory):
        self.binaries, self.directory = pathlib.Path(venv).resolve() / "bin", pathlib.Path(directory)
        self.environment = os.environ | {"DJANGO_SETTINGS_MODULE": "bugsink_conf"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command("bugsink-create-conf", "--template=singleserver", "--host=127.0.0.1", f"--base-dir={directory}")
        with open(self.directory / "bugsink_conf.py", "a") as conf:
            conf.write(f"\nBUGSINK['BASE_URL'] = 'http://127.0.0.1:{self.port}'\nBUGSINK['PHONEHOME'] = False\n")
            conf.write("ALLOWED_HOSTS = ['127.0.0.1']\nUSE_X_REAL_IP = False\n")
            conf.writelines(f"BUGSINK['{limit}'] = 10**9\n" for limit in LIMITS)
        self.command("bugsink-manage", "migrate")
        self.command("bugsink-manage", "migrate", "snappea", "--database=snappea")
        self.key = self.command(
            "bugsink-manage", "shell", "--no-imports", "-c",
            "from projects.models import Project\n"
            "p = Project.objects.create(name='bench', retention_max_event_count=10**9)\n"
            "print(p.sentry_key.hex)").split()[-1]
        log = open(self.directory / "log", "w")
        self.processes = [
            subprocess.Popen([self.binaries / name, *arguments], cwd=directory, env=self.environment, stdout=log, stderr=log)
            for name, *arguments in (
                ("gunicorn", "--workers=2", f"--bind=127.0.0.1:{self.port}", "bugsink.wsgi"), ("bugsink-runsnappea",))]
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.1)
        sys.exit("bugsink.py: gunicorn does not listen")

    def command(self, name, *arguments):
        run = subprocess.run(
            [self.binaries / name, *arguments], cwd=self.directory, env=self.environment, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"bugsink.py: {name}: {run.stderr[-400:]}")
        return run.stdout

    def stored(self):
        with sqlite3.connect(f"file:{self.directory}/db.sqlite3?mode=ro", uri=True) as database:
            return database.execute("select count(*) from events_event").fetchone()[0]

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


def measure(venv, binaries, events, clients, groups):
    """Returns the number of events per second, from the first request until the last event is in the database."""
    with tempfile.TemporaryDirectory(prefix="bench-bugsink.") as directory:
        parts = envelope(binaries, directory)
        bugsink = Bugsink(venv, directory)
        try:
            start = multiprocessing.Barrier(clients + 1)
            each = events // clients
            processes = [
                multiprocessing.Process(target=send, args=(
                    bugsink.port, bugsink.key, [body(parts, client * each + n + 1, groups) for n in range(each)], start))
                for client in range(clients)]
            for process in processes:
                process.start()
            start.wait()
            begin = time.monotonic()
            for process in processes:
                process.join()
                if process.exitcode:
                    sys.exit("bugsink.py: a client failed")
            # Bugsink stores events after it has answered.
            while (stored := bugsink.stored()) < each * clients:
                if time.monotonic() - begin > 600:
                    sys.exit(f"bugsink.py: only {stored} events after 600 s; see {directory}/log")
                time.sleep(0.1)
            return each * clients / (time.monotonic() - begin), len(body(parts, 1, groups))
        finally:
            bugsink.stop()
