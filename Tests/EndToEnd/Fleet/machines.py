"""Machines of a test of the fleet: network namespaces on one bridge, with a file system of their own."""

import os
import pathlib
import subprocess
import sys
import tempfile

POSTGRES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))[-1]
SUBNET = "10.77.0.0/24"


def run(*command, check=True, **options):
    return subprocess.run([str(word) for word in command], check=check, capture_output=True, text=True, **options)


def alone(marker):
    """Runs this program again, in namespaces of its own for processes, mounts and the network. Nothing survives it."""
    if not os.environ.get(marker):
        # The shell is the namespace's first process. It reaps processes whose parents have ended.
        os.execvpe("unshare", ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash",
                               "-c", '"$@" & wait $!', "bash", sys.executable, *sys.argv], os.environ | {marker: "1"})


def with_machines(body):
    """Calls the body with a bridge and an empty directory, which is removed at the end."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="crash-fleet-faults.", dir="/tmp"))
    directory.chmod(0o755)
    pathlib.Path("/run/netns").mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "br0", "type", "bridge")
    run("ip", "address", "add", "10.77.0.1/24", "dev", "br0")
    run("ip", "link", "set", "br0", "up")
    try:
        body(directory)
    finally:
        for place in directory.iterdir():
            run("umount", "-l", place, check=False)
        run("rm", "-rf", directory)


class Machine:
    """A network namespace and a file system. Its programs run without privileges."""

    def __init__(self, number, directory):
        self.number, self.name, self.address = number, f"n{number}", f"10.77.0.1{number + 1}"
        self.directory, self.data = directory / self.name, directory / self.name / "data"
        self.directory.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", self.directory)
        run("chown", "65534", self.directory)
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", f"v{number}", "master", "br0", "up")
        for words in (["address", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                      ["link", "set", "lo", "up"]):
            run("ip", "-n", self.name, *words)

    def inside(self, *command):
        return ["ip", "netns", "exec", self.name, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                "--reset-env", *map(str, command)]

    def spawn(self, *command):
        """Starts a program that logs to a file of the machine."""
        with open(self.directory / "log", "ab") as log:
            return subprocess.Popen(self.inside(*command), stdout=log, stderr=log, cwd=self.directory)

    def sql(self, text):
        return run(*self.inside(POSTGRES / "psql", "-h", self.directory, "-U", "postgres", "-XqAtc", text, "postgres")
                   ).stdout.strip()

    def link(self, state):
        run("ip", "link", "set", f"v{self.number}", state)

    def log(self):
        return (self.directory / "log").read_text(errors="replace")[-4000:]
