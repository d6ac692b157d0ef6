"""The ring of a running process, for benchmarks that read when a crash began and ended."""

import mmap
import os
import pathlib
import struct
import time

PATIENCE_S = 60
# docs/ring-format.md: a slot's commit_ns, its record's entry_ns, the header's sweep_ns.
RING_BYTES, SLOTS_AT, SLOT_COUNT, SLOT_BYTES = 9998336, 561152, 64, 81920
COMMIT_AT, ENTRY_AT, SWEEP_NS_AT = 8, 64 + 16, 512


def await_true(what: str, condition):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.001)
    return found


class Ring:
    """The ring of a running process, by the descriptor that one of its threads has."""

    def __init__(self, pid: int):
        self.bytes = mmap.mmap(await_true("the server has no ring", lambda: self.find(pid)), RING_BYTES, prot=mmap.PROT_READ)

    @staticmethod
    def find(pid: int) -> int | None:
        for link in pathlib.Path(f"/proc/{pid}/task").glob("*/fd/*"):
            try:
                if os.readlink(link).startswith("/memfd:") and link.stat().st_size == RING_BYTES:
                    return os.open(link, os.O_RDONLY)
            except OSError:
                continue  # closed meanwhile
        return None

    def word(self, offset: int) -> int:
        return struct.unpack_from("<Q", self.bytes, offset)[0]

    def first(self, offset: int) -> int:
        """The least word that is not 0 at this offset of a slot."""
        words = [self.word(SLOTS_AT + slot * SLOT_BYTES + offset) for slot in range(SLOT_COUNT)]
        return min(word for word in words if word != 0)

    def entry_ns(self) -> int:
        """When the first crash began."""
        return self.first(ENTRY_AT)

    def sweep_end_ns(self) -> int:
        """The earliest end of the first crash's sweep: that begins after the commit."""
        return self.first(COMMIT_AT) + self.word(SWEEP_NS_AT)
