"""For `gdb -batch -x`: runs the program once for each word of FRAMES_RUNS, and records how gdb unwinds the first fatal
signal. A word is a list of arguments separated by commas. Each run writes one line to the file FRAMES_OUTPUT: the word,
`|`, the pid, and the pc of each frame on the stack. The process then continues, so that its own handler unwinds the
same stack.

FRAMES_EMULATOR is the path of a user mode emulator of qemu, if the program is for another architecture. gdb-multiarch
then controls the program through the emulator's gdb stub."""

import os
import shutil
import subprocess
import tempfile
import threading
import time

import gdb

SIGNALS = "SIGSEGV SIGBUS SIGABRT SIGILL SIGFPE SIGSYS"
FRAME_LIMIT = 120
STOP_LIMIT = 16
START_LIMIT = 8
# The time limit for an answer of qemu's gdb stub, which sometimes stops answering if the program has several threads.
# After the limit, the script ends the emulator.
STUB_LIMIT_S = 60
EMULATOR = os.environ.get("FRAMES_EMULATOR")
# The address bits of a return address. In a signed return address, the higher bits contain the signature.
ADDRESS_MASK = (1 << 48) - 1 if EMULATOR else (1 << 64) - 1
SI_USER = 0
SI_QUEUE = -1


last_signal = None


def remember(event):
    global last_signal
    # The script assumes that a SIGTRAP is the crash, because it sets no breakpoints.
    last_signal = getattr(event, "stop_signal", "SIGTRAP")


def go_on():
    # "handle SIGTRAP pass" is not used, because it would also pass on the traps that gdb itself uses.
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
        # The script skips frames that gdb only infers from debug information, because they are not on the stack.
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            pcs.append(hex(frame.pc() & ADDRESS_MASK))
        frame = frame.older()
    return pcs


def give_up():
    """Makes gdb forget a process that may have ended already."""
    for command in ("kill", "detach"):
        try:
            gdb.execute(command, to_string=True)
        except gdb.error as error:
            print("frames:", command, error)


emulated = None


def start_emulated(arguments):
    """Starts the program in the emulator, which waits for gdb, and runs it to its first signal."""
    global emulated
    directory = tempfile.mkdtemp(prefix="frames-")
    path = directory + "/stub"
    emulated = subprocess.Popen(
        [EMULATOR, "-g", path, gdb.current_progspace().filename] + arguments,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = threading.Timer(STUB_LIMIT_S, emulated.kill)
    limit.daemon = True
    limit.start()
    try:
        while not os.path.exists(path):
            if emulated.poll() is not None:
                raise gdb.error("the emulator ended")
            time.sleep(0.01)
        gdb.execute("target remote " + path, to_string=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    gdb.execute("continue", to_string=True)


def end_emulated():
    """Reaps the emulator, which has ended unless gdb gave up."""
    try:
        emulated.wait(timeout=60)
    except subprocess.TimeoutExpired:
        emulated.kill()
        emulated.wait()


def start():
    for attempt in range(START_LIMIT):
        try:
            gdb.execute("run", to_string=True)
            return
        except gdb.error as error:
            # `run` can fail, because gdb may still be attached to the previous process.
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
if EMULATOR:
    gdb.execute("set sysroot /")
    # gdb sets breakpoints in the loader. The program must not receive the traps of these breakpoints.
    gdb.execute("handle SIGTRAP stop print nopass", to_string=True)

gdb.events.stop.connect(remember)
with open(os.environ["FRAMES_OUTPUT"], "w") as output:
    for run in os.environ["FRAMES_RUNS"].split():
        gdb.execute("set args " + run.replace(",", " "))
        if EMULATOR:
            for attempt in range(START_LIMIT):
                try:
                    start_emulated(run.split(","))
                    break
                except gdb.error as error:
                    print("frames:", run, error)
                    give_up()
                    end_emulated()
            else:
                # Writes a line without frames, which the test counts as a difference from the report.
                output.write(f"{run} | {emulated.pid}\n")
                continue
        else:
            start()
        for _ in range(STOP_LIMIT):
            if not is_passed_on():
                break
            go_on()
        # 0: the program has ended without a stop.
        pid = gdb.selected_inferior().pid
        pcs = stack() if pid != 0 else []
        if EMULATOR:
            pid = emulated.pid
        output.write(" ".join([run, "|", str(pid)] + pcs) + "\n")
        output.flush()
        try:
            for _ in range(STOP_LIMIT):
                if gdb.selected_inferior().pid == 0:
                    break
                go_on()
        except gdb.error as error:
            # gdb 13 sometimes reads a thread of a process that has just ended, and fails. All output of the process has
            # been written before this error.
            print("frames:", run, error)
            give_up()
        if EMULATOR:
            end_emulated()
