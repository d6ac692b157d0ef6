"""held_server.py serve | signals | orphan | load PORT DEATHS CLIENTS: a server on inherited sockets, and its clients.

serve    answers one connection after the other with the server's pid; "die N" ends the server by signal N
signals  prints the name of each signal; SIGTERM then ends the server with status 9
orphan   leaves a process without a parent, which prints its pid and its new parent; then does as `signals`
load     connects without a pause until the server died DEATHS times, and prints the results of the connections
"""

import collections
import os
import resource
import signal
import socket
import sys
import threading

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
FORWARDED = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]


def say(*words):
    print(*words, flush=True)


def serve():
    assert int(os.environ["LISTEN_PID"]) == os.getpid()
    count = int(os.environ["LISTEN_FDS"])
    sockets = [socket.socket(fileno=3 + index) for index in range(count)]
    say("sockets", os.environ["LISTEN_FDNAMES"], *(held.family.name for held in sockets))
    while True:
        connection, _ = sockets[0].accept()
        words = connection.recv(100).split()
        if words[0] == b"die":
            os.kill(os.getpid(), int(words[1]))
        connection.sendall(b"%d" % os.getpid())
        connection.close()


def signals():
    say("ready", os.getpid())
    while True:
        number = signal.sigwait(FORWARDED)
        say(signal.Signals(number).name)
        if number == signal.SIGTERM:
            os._exit(9)


def orphan():
    child = os.fork()
    if child == 0:
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                os.sched_yield()
            say("orphan", os.getpid(), os.getppid())
        os._exit(0)
    os.waitpid(child, 0)


def exchange(port, message):
    """Returns the result of one connection: the answer of the server, or the name of the error."""
    try:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(message)
            return connection.recv(100).decode() or "closed"
    except OSError as error:
        return type(error).__name__


def load(port, deaths, clients):
    results, is_over = collections.Counter(), threading.Event()
    lock = threading.Lock()

    def client():
        while not is_over.is_set():
            answer = exchange(port, b"hello")
            with lock:
                results[answer] += 1

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    fatal = [signal.SIGILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGTRAP, signal.SIGKILL]
    ends = collections.Counter()
    for index in range(deaths):
        # Requests the next crash only when the restarted server has answered a connection.
        exchange(port, b"hello")
        answer = exchange(port, b"die %d" % fatal[index % len(fatal)])
        ends["answered" if answer.isdigit() else "lost"] += 1
    exchange(port, b"hello")
    is_over.set()
    for thread in threads:
        thread.join()
    servers = [answer for answer in results if answer.isdigit()]
    lost = {answer: count for answer, count in results.items() if not answer.isdigit()}
    say("served", sum(results[answer] for answer in servers), "lost", sum(lost.values()), "deaths", ends["lost"], lost)


if sys.argv[1] == "serve":
    serve()
elif sys.argv[1] == "load":
    load(*map(int, sys.argv[2:]))
else:
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    if sys.argv[1] == "orphan":
        orphan()
    signals()
