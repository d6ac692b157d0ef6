"""Builds the images of packaging/container and runs them with podman, without a registry.

The base of all images is a Debian tree of debootstrap. The storage is in a directory of its own. buildah isolates its
steps by chroot. The caller must be root, in a mount namespace of its own (`enter_namespace`).
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGING = ROOT / "packaging/container"
TOOLCHAIN = pathlib.Path(os.environ.get("TOOLCHAIN", "/opt/swift"))
# The time limits in seconds: for a build, and for any other command. Only a failing run waits until a limit.
BUILD_PATIENCE_S = 900
PATIENCE_S = 120


def enter_namespace():
    """Continues in a new mount namespace, in which mounts of this program are invisible to other processes."""
    if os.environ.get("CONTAINERS_NAMESPACE") != "1":
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv],
                   os.environ | {"CONTAINERS_NAMESPACE": "1"})
    # crun fails on a machine that mounts control groups of both versions (v1 and v2).
    unified = pathlib.Path("/sys/fs/cgroup/unified")
    if unified.is_mount():
        subprocess.run(["umount", str(unified)], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", str(unified)], check=True)


class Engine:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        storage = folder / "storage.conf"
        storage.write_text('[storage]\ndriver = "overlay"\n'
                           f'graphroot = "{folder}/store"\nrunroot = "{folder}/runroot"\n')
        self.environment = os.environ | {"CONTAINERS_STORAGE_CONF": str(storage)}

    def call(self, *words: str, patience_s: int = PATIENCE_S, may_fail: bool = False, stdin: int = subprocess.DEVNULL
             ) -> subprocess.CompletedProcess:
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, timeout=patience_s,
                              errors="replace", stdin=stdin)
        if done.returncode != 0 and not may_fail:
            raise RuntimeError(f"{' '.join(words[:6])} … refused with {done.returncode}: {done.stdout[-2000:]}"
                               f"{done.stderr[-2000:]}")
        return done

    def has(self, image: str) -> bool:
        return self.call("podman", "image", "exists", f"localhost/{image}", may_fail=True).returncode == 0

    def build(self, tag: str, file: pathlib.Path, context: pathlib.Path, *options: str, **arguments: str):
        """Builds an image; `arguments` are the build arguments."""
        values = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        self.call("buildah", "build", "--isolation", "chroot", "--layers", "--pull-never", *values, *options,
                  "--file", str(file), "--tag", f"localhost/{tag}", str(context), patience_s=BUILD_PATIENCE_S)

    def build_base(self):
        if self.has("base"):
            return
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        self.call("debootstrap", "--variant=minbase", "bookworm", str(tree), patience_s=BUILD_PATIENCE_S)
        self.call("tar", "-C", str(tree), "-cf", f"{tree}.tar", ".", patience_s=BUILD_PATIENCE_S)
        self.call("podman", "import", f"{tree}.tar", "localhost/base", patience_s=BUILD_PATIENCE_S)
        shutil.rmtree(tree)
        os.unlink(f"{tree}.tar")

    def build_crashd(self, packages: pathlib.Path):
        self.build("crashd", PACKAGING / "crashd.Dockerfile", packages, BASE="localhost/base")

    def build_server(self):
        """Builds crash-maker from the last commit's sources: the image of the server, and that of its debug file."""
        nothing, sources = self.folder / "nothing", self.folder / "sources"
        nothing.mkdir(exist_ok=True)
        self.build("builder", pathlib.Path(__file__).parent / "builder.Dockerfile", nothing, BASE="localhost/base")
        shutil.rmtree(sources, ignore_errors=True)
        sources.mkdir()
        archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", "HEAD"], stdout=subprocess.PIPE)
        self.call("tar", "-x", "-C", str(sources), stdin=archive.stdout)
        if archive.wait() != 0:
            raise RuntimeError("git archive failed")
        for tag, target in (("shop", "server"), ("shop-debug", "debug")):
            self.build(tag, PACKAGING / "server.Dockerfile", sources, "--volume", f"{TOOLCHAIN}:/opt/swift:ro",
                       "--target", target, SWIFT="localhost/builder", BASE="localhost/base", PRODUCT="crash-maker")

    def build_alone(self):
        self.build("alone", PACKAGING / "alone.Dockerfile", self.folder / "nothing", CRASHD="localhost/crashd",
                   SERVER="localhost/shop", DEBUG="localhost/shop-debug")

    def run(self, image: str, *words: str, options: list[str], may_fail: bool = True) -> subprocess.CompletedProcess:
        return self.call("podman", "run", *self.limits(), *options, f"localhost/{image}", *words, may_fail=may_fail)

    @staticmethod
    def limits() -> list[str]:
        """Sets low limits, because podman's default limits are higher and need CAP_SYS_RESOURCE."""
        return ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--network", "none"]

    @contextlib.contextmanager
    def container(self, name: str, image: str, *words: str, options: list[str]):
        """Runs a container in the background, and removes it at the end of the `with` block."""
        self.run(image, *words, options=["--detach", "--name", name, *options], may_fail=False)
        try:
            yield name
        finally:
            self.call("podman", "rm", "--force", "--time", "5", name, may_fail=True)

    def execute(self, container: str, *words: str, may_fail: bool = False) -> str:
        return self.call("podman", "exec", container, *words, may_fail=may_fail).stdout

    def logs(self, container: str):
        """Starts a process that prints the lines of a container's log as they are written."""
        return subprocess.Popen(["podman", "logs", "--follow", container], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
