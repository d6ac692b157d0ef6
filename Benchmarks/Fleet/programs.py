"""Programs that a benchmark starts, and that end with it, also if a signal ends it."""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time


def start(command, environment, awaited=None, stream="stderr"):
    """Starts a program. Returns it, and the first line of its log that contains the text `awaited`.

    The log is what it writes to `stream`.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if awaited is not None:
        streams[stream] = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, text=True, **streams)
    atexit.register(stop, process)
    if awaited is None:
        return process, ""
    log = getattr(process, stream)
    for line in log:
        if awaited in line:
            # Reads the rest of the log, because a full pipe would stop the program.
            threading.Thread(target=log.read, daemon=True).start()
            return process, line
    sys.exit(f"{os.path.basename(command[0])} ended before its log had '{awaited}'")


def stop(process):
    process.terminate()
    process.wait()


@contextlib.contextmanager
def host(binaries, directory, sink, settings):
    """Runs crashd and crash-forward with one sink. Yields the environment of programs that report to this crashd."""
    environment = os.environ | {
        "CRASHD_SOCKET": f"{directory}/run/io.crashshield.Crashd", "CRASHSHIELD_SOCKET": f"{directory}/run/attach",
        "SWIFT_BACKTRACE": "enable=no"} | settings
    daemon, _ = start(
        [binaries / "crashd", "--runtime-directory", f"{directory}/run", "--state-directory", f"{directory}/state"],
        environment, awaited="listening")
    forward, _ = start([binaries / "crash-forward", "--config", "/dev/null"], environment)
    # crash-forward receives only crashes after its subscription, which no event announces, so this polls the list of
    # subscribers.
    for _ in range(600):
        listed = subprocess.run([binaries / "crashctl", "subscribers"], env=environment, capture_output=True, text=True)
        if sink in listed.stdout:
            break
        time.sleep(0.1)
    else:
        sys.exit(f"crash-forward did not subscribe in a minute: {listed.stdout}{listed.stderr}")
    try:
        yield environment
    finally:
        stop(forward)
        stop(daemon)
