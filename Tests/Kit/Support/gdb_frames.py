"""For `gdb -batch -x`: runs the program once for each word of FRAMES_RUNS, and records how gdb unwinds the first fatal
signal. A word is a list of arguments separated by commas. Each run writes one line to the file FRAMES_OUTPUT: the word,
`|`, the pid, and the pc of each frame on the stack. The process then continues, so that its own handler unwinds the
same stack.

FRAMES_CORES is set if the program is for another architecture and runs under a user mode emulator of qemu. gdb-multiarch
then reads the core file that the emulator writes at the end of the program, because the emulator's gdb stub sometimes
stops to answer if the program has several threads. The shield restores the state of the crash before the program ends,
so the core file has the stack of the crash. With FRAMES_CORE, the core file is given, and no program runs."""

import glob
import os
import signal
import struct
import subprocess
import tempfile

import gdb

SIGNALS = "SIGSEGV SIGBUS SIGABRT SIGILL SIGFPE SIGSYS"
FRAME_LIMIT = 120
STOP_LIMIT = 16
START_LIMIT = 8
RUN_LIMIT_S = 120
CORE_LIMIT = 3
# The script reads only the start of a core file, which has its program headers and notes.
NOTES_LIMIT = 4 << 20
PT_NOTE = 4
NT_PRSTATUS = 1
CORES = "FRAMES_CORES" in os.environ
CORE = os.environ.get("FRAMES_CORE")
# On AArch64, the higher bits of a signed return address are the signature.
ADDRESS_MASK = (1 << 48) - 1 if CORES else (1 << 64) - 1
SI_USER = 0
SI_QUEUE = -1


last_signal = None


def remember(event):
    global last_signal
    # The script sets no breakpoints, so a SIGTRAP is the crash.
    last_signal = getattr(event, "stop_signal", "SIGTRAP")


def go_on():
    # Do not use "handle SIGTRAP pass": it would also pass on the traps that gdb itself uses.
    gdb.execute("signal SIGTRAP" if last_signal == "SIGTRAP" else "continue", to_string=True)


def is_passed_on():
    """Returns whether a thread of the shield received a signal that was sent to the process, as may happen during a
    callback. The shield's handler passes this signal on to the program, but not a fault of a callback."""
    thread = gdb.selected_thread()
    if thread is None or not (thread.name or "").startswith("crashshield"):
        return False
    return int(gdb.parse_and_eval("$_siginfo.si_code")) in (SI_USER, SI_QUEUE)


def stack():
    frame = gdb.newest_frame()
    pcs = []
    while frame is not None and len(pcs) < FRAME_LIMIT:
        # Skip the frames that gdb only infers from debug information, because they are not on the stack.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            # Only the pc of the newest frame is never signed.
            pcs.append(hex(frame.pc() & ADDRESS_MASK if pcs else frame.pc()))
        frame = frame.older()
    return pcs


def give_up():
    """Makes gdb forget a process that may have ended already."""
    # gdb 13 blocks SIGCHLD while it waits for the process, and leaves it blocked if it fails there. It would then never
    # notice that the next process stops.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    for command in ("kill", "detach"):
        try:
            gdb.execute(command, to_string=True)
        except gdb.error as error:
            print("frames:", command, error)


def signalled_thread(path):
    """Returns the id of the thread whose status in an ELF64 core file has a signal. qemu writes the threads in any order,
    and gdb selects the first one."""
    with open(path, "rb") as file:
        core = file.read(NOTES_LIMIT)
    headers, = struct.unpack_from("<Q", core, 32)
    size, count = struct.unpack_from("<HH", core, 54)
    for index in range(count):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", core, headers + index * size)
        end = at + length if kind == PT_NOTE else at
        while at < end:
            name_bytes, status_bytes, note = struct.unpack_from("<III", core, at)
            status = at + 12 + (name_bytes + 3 & ~3)
            if note == NT_PRSTATUS and struct.unpack_from("<H", core, status + 12)[0] != 0:
                return struct.unpack_from("<I", core, status + 32)[0]
            at = status + (status_bytes + 3 & ~3)
    return None


def stack_in_core(core):
    """Returns the stack of the thread that crashed, or nothing if gdb cannot read the core file."""
    pcs = []
    try:
        gdb.execute("core-file " + core, to_string=True)
        crashed = signalled_thread(core)
        for thread in gdb.selected_inferior().threads():
            if thread.ptid[1] == crashed:
                thread.switch()
                pcs = stack()
        gdb.execute("core-file", to_string=True)
    except (gdb.error, struct.error) as error:
        print("frames:", core, error)
    return pcs


def run_for_core(arguments):
    """Runs the program to its end. Returns its pid, and the stack in its core file, or nothing if there is none."""
    with tempfile.TemporaryDirectory(prefix="frames-", ignore_cleanup_errors=True) as directory:
        # All users can write into the directory, because a program can change its user before it writes its core file.
        os.chmod(directory, 0o777)
        program = subprocess.Popen(
            ["/bin/sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", gdb.current_progspace().filename] + arguments,
            cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            program.wait(RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        pcs = []
        for core in glob.glob(f"{directory}/qemu_*_{program.pid}.core"):
            pcs = stack_in_core(core)
        return program.pid, pcs


def keep_symbols():
    """Reads the symbols of the program's libraries once. Without other users of these symbols, gdb drops them at the end
    of each run, and reading them again takes most of the time of a run."""
    listing = subprocess.run(["ldd", gdb.current_progspace().filename], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        path = next((word for word in line.split() if word.startswith("/")), None)
        if path:
            gdb.execute("add-inferior -exec " + os.path.realpath(path), to_string=True)


def start():
    for attempt in range(START_LIMIT):
        try:
            gdb.execute("run", to_string=True)
            return
        except gdb.error as error:
            # `run` can fail while gdb is still attached to the previous process.
            print("frames: run", error)
            if attempt + 1 == START_LIMIT:
                raise
            give_up()


for setting in (
    "set confirm off",
    "set pagination off",
    "set debuginfod enabled off",
    "set startup-with-shell off",
    "set backtrace past-main on",
    "set backtrace past-entry on",
    "handle all nostop noprint pass",
    "handle " + SIGNALS + " stop print pass",
):
    gdb.execute(setting, to_string=True)
if CORES:
    gdb.execute("set sysroot /")
else:
    keep_symbols()

gdb.events.stop.connect(remember)
with open(os.environ["FRAMES_OUTPUT"], "w") as output:
    for run in os.environ["FRAMES_RUNS"].split():
        gdb.execute("set args " + run.replace(",", " "))
        if CORE:
            output.write(" ".join([run, "|", "0"] + stack_in_core(CORE)) + "\n")
            continue
        if CORES:
            # Tries again, because the emulator itself fails now and then.
            for attempt in range(CORE_LIMIT):
                pid, pcs = run_for_core(run.split(","))
                if pcs:
                    break
            output.write(" ".join([run, "|", str(pid)] + pcs) + "\n")
            output.flush()
            continue
        start()
        for _ in range(STOP_LIMIT):
            if not is_passed_on():
                break
            go_on()
        # 0: the program has ended without a crash.
        pid = gdb.selected_inferior().pid
        pcs = stack() if pid != 0 else []
        output.write(" ".join([run, "|", str(pid)] + pcs) + "\n")
        output.flush()
        try:
            for _ in range(STOP_LIMIT):
                if gdb.selected_inferior().pid == 0:
                    break
                go_on()
        except gdb.error as error:
            # gdb 13 sometimes reads a thread of a process that has just ended, and fails. The process has written all
            # its output before this error occurs.
            print("frames:", run, error)
            give_up()
