"""Reads a minidump with PyPI's `minidump` and prints what it found as one JSON object.

Usage: read_minidump.py FILE
"""

import json
import logging
import struct
import sys

from minidump.minidumpfile import MinidumpFile


def arm64_context(dump: MinidumpFile, thread) -> dict:
    """Reads Breakpad's MDRawContextARM64_Old, which the package does not read."""
    dump.file_handle.seek(thread.ThreadContext.Rva)
    context = dump.file_handle.read(thread.ThreadContext.DataSize)
    flags, *registers, cpsr = struct.unpack_from("<Q33QI", context)
    return {"size": len(context), "flags": flags, "registers": registers, "cpsr": cpsr}


def main() -> None:
    # The reader warns about a missing block that only Windows processes have.
    logging.disable()
    dump = MinidumpFile.parse(sys.argv[1])
    threads = dump.threads.threads
    result = {
        "system": dump.sysinfo.PlatformId.name,
        "architecture": dump.sysinfo.ProcessorArchitecture.name,
        "pid": dump.misc_info.ProcessId,
        "modules": [[m.name, m.baseaddress, m.size] for m in dump.modules.modules],
        "threads": [t.ThreadId for t in threads],
        "rips": [t.ContextObject.Rip for t in threads if hasattr(t, "ContextObject")],
        "rsps": [t.ContextObject.Rsp for t in threads if hasattr(t, "ContextObject")],
        "arm64": [arm64_context(dump, t) for t in threads if not hasattr(t, "ContextObject")],
        "stacks": [[t.Stack.StartOfMemoryRange, t.Stack.MemoryLocation.DataSize] for t in threads],
        "memory": [[s.start_virtual_address, s.size] for s in dump.memory_segments.memory_segments],
        "exception": [
            dump.exception.exception_records[0].ThreadId,
            dump.exception.exception_records[0].ExceptionRecord.ExceptionCode_raw,
            dump.exception.exception_records[0].ExceptionRecord.ExceptionAddress,
        ],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
