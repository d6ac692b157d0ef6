"""Creates ELF images: plain images of any size, and images that are expensive to read."""

import random
import struct
import zlib

BUILD_ID = "00112233445566778899aabbccddeeff"
ALIGN = 16


def elf(sections: list[tuple[str, int, int, int, bytes]]) -> bytes:
    """Returns an executable of sections (name, type, flags, address, content). One segment contains its note and its
    code."""
    note = struct.pack("<III", 4, len(BUILD_ID) // 2, 3) + b"GNU\0" + bytes.fromhex(BUILD_ID)
    sections = [(".note.gnu.build-id", 7, 2, 0x400200, note), (".text", 1, 6, 0x401000, b"\xc3" * 4096)] + sections
    names, offsets = b"\0", []
    for name, *_ in sections + [(".shstrtab",)]:
        offsets.append(len(names))
        names += name.encode() + b"\0"
    body, headers, at = b"", [bytes(64)], 64 + 2 * 56
    for (name, kind, flags, address, content), name_at in zip(sections + [(".shstrtab", 3, 0, 0, names)], offsets):
        padding = -(at + len(body)) % ALIGN
        body += bytes(padding)
        link, info, entry = 0, 0, 0
        if kind == 2:
            link, info, entry = [name for name, *_ in sections].index(".strtab") + 1, 0, 24
        headers.append(struct.pack("<IIQQQQIIQQ", name_at, kind, flags, address, at + len(body), len(content), link, info, 8, entry))
        body += content
    padding = -(at + len(body)) % ALIGN
    body += bytes(padding)
    total = at + len(body) + 64 * len(headers)
    first = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, 0x401000, 64, at + len(body), 0, 64, 56, 2, 64,
                        len(headers), len(headers) - 1)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, min(total, 0x3000), 0x3000, 0x1000)
    segments += struct.pack("<IIQQQQQQ", 4, 4, at, 0x400200, 0x400200, len(note), len(note), 4)
    return first + segments + body + b"".join(headers)


def leb(value: int) -> bytes:
    out = b""
    while True:
        byte, value = value & 0x7F, value >> 7
        out += bytes([byte | (0x80 if value else 0)])
        if not value:
            return out


# DWARF abbreviations for the entries of the images: 1 is a unit, 2 a function with name, address and length, 3 an empty
# block, and 4 an inlined call of the first function.
ABBREVIATIONS = (leb(1) + leb(0x11) + b"\1" + leb(0x11) + leb(1) + leb(0x12) + leb(6) + b"\0\0"
                 + leb(2) + leb(0x2E) + b"\1" + leb(0x03) + leb(8) + leb(0x11) + leb(1) + leb(0x12) + leb(6) + b"\0\0"
                 + leb(3) + leb(0x0B) + b"\1" + b"\0\0"
                 + leb(4) + leb(0x1D) + b"\1" + leb(0x31) + leb(0x13) + leb(0x11) + leb(1) + leb(0x12) + leb(6) + b"\0\0"
                 + b"\0")


def any_unit(dies: bytes) -> bytes:
    content = struct.pack("<HIB", 4, 0, 8) + dies
    return struct.pack("<I", len(content)) + content


def unit(dies: bytes) -> bytes:
    return any_unit(leb(1) + struct.pack("<QI", 0x401000, 4096) + dies + b"\0")


def function(index: int) -> bytes:
    return leb(2) + f"f{index}".encode() + b"\0" + struct.pack("<QI", 0x401000 + index % 4096, 1)


def debug(info: bytes) -> list[tuple[str, int, int, int, bytes]]:
    return [(".debug_abbrev", 1, 0, 0, ABBREVIATIONS), (".debug_info", 1, 0, 0, info)]


def plain(size: int) -> bytes:
    """Returns a plain image: functions without nested blocks, in units of a thousand functions, and their symbols."""
    functions = max(1, (size - 6000) // 64)
    info = b"".join(unit(b"".join(function(n) + b"\0" for n in range(at, min(at + 1000, functions))))
                    for at in range(0, functions, 1000))
    names, symbols = b"\0", bytes(24)
    for index in range(functions):
        symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, 2, 0x401000 + index % 4096, 1)
        names += f"f{index}".encode() + b"\0"
    return elf(debug(info) + [(".symtab", 2, 0, 0, symbols), (".strtab", 3, 0, 0, names)])


def compressed(sections: list[tuple[str, int, int, int, bytes]]) -> list[tuple[str, int, int, int, bytes]]:
    return [(name, kind, flags | 0x800, address, struct.pack("<IIQQ", 1, 0, len(data), 1) + zlib.compress(data, 9))
            for name, kind, flags, address, data in sections]


def shared(abbreviations: bytes, info: bytes, *sections: tuple[str, bytes]) -> bytes:
    """Returns an image in which many entries refer to the same bytes."""
    tables = (".debug_abbrev", abbreviations + b"\0"), (".debug_info", info), *sections
    return elf([(name, 1, 0, 0, content) for name, content in tables])


def sharing_bombs():
    """Yields the name and image of inputs of size n + m, for which a naive parser takes time proportional to n · m."""
    ranges = ".debug_ranges", b"".join(struct.pack("<QQ", at, at + 1) for at in range(4000)) + bytes(16)
    entries = b"".join(leb(2) + f"f{index}".encode() + b"\0" + bytes(4) for index in range(4000))
    unit_of_ranges = leb(1) + leb(0x11) + b"\0" + leb(0x11) + leb(1) + leb(0x55) + leb(0x17) + b"\0\0"
    yield "functions with one list of ranges", shared(
        leb(1) + leb(0x11) + b"\1" + leb(0x11) + leb(1) + leb(0x12) + leb(6) + b"\0\0"
        + leb(2) + leb(0x2E) + b"\0" + leb(3) + leb(8) + leb(0x55) + leb(0x17) + b"\0\0", unit(entries), ranges)
    yield "units with one list of ranges", shared(
        unit_of_ranges, any_unit(leb(1) + struct.pack("<QI", 0x401000, 0)) * 3000, ranges)
    header = bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"\0a.c\0\0\0\0\0"
    lines = (struct.pack("<HI", 4, len(header)) + header + b"\0\x09\2" + struct.pack("<Q", 0x401000)
             + b"\x21" * 60_000 + b"\0\1\1")
    plain_unit = leb(1) + leb(0x11) + b"\0" + leb(0x11) + leb(1) + leb(0x12) + leb(6)
    yield "units with one line table", shared(
        plain_unit + leb(0x10) + leb(0x17) + b"\0\0", any_unit(leb(1) + struct.pack("<QII", 0x401000, 4096, 0)) * 4000,
        (".debug_line", struct.pack("<I", len(lines)) + lines))
    yield "units with many abbreviations", shared(
        b"".join(leb(100 + index) + leb(0x24) + b"\0\0\0" for index in range(15_000)) + plain_unit + b"\0\0",
        any_unit(leb(1) + struct.pack("<QI", 0x401000, 4096)) * 4000)


def bombs():
    """Yields the name and image of each hostile input."""
    yield from sharing_bombs()
    nested = unit(function(0) + leb(3) * 900_000 + b"\0" * 900_001)
    inlines = unit(function(0) + b"\0" + function(1)
                   + (leb(4) + struct.pack("<IQI", 27, 0x401001, 1)) * 50_000 + b"\0" * 50_001)
    flat = unit(function(0) + (leb(3) + b"\0") * 400_000 + b"\0")
    deep = unit(function(0) + leb(3) * 150 + (leb(3) + b"\0") * 400_000 + b"\0" * 151)
    yield "blocks in blocks", elf(debug(nested))
    yield "many blocks, deep inside of others", elf(debug(deep))
    yield "inlines in inlines", elf(debug(inlines))
    yield "blocks beside blocks", elf(debug(flat))
    yield "a compressed bomb", elf(compressed(debug(unit(function(0) + leb(3) * 16_000_000 + b"\0" * 16_000_001))))
    yield "a small image of blocks", elf(debug(unit(function(0) + leb(3) * 16_000 + b"\0" * 16_001)))
    rng = random.Random(4)
    base = bytearray(plain(200_000))
    for _ in range(2_000):
        base[rng.randrange(8_000, len(base) - 1_000)] = rng.randrange(256)
    yield "a damaged image", bytes(base)
    entry = struct.pack("<IIBBBBB", 13, 0, 1, 0, 1, 0x78, 16) + bytes(4)
    frames = entry + b"".join(struct.pack("<IIQQ", 20, 20, 0x401000, 4096) for _ in range(20_000)) + bytes(4)
    yield "20,000 frame descriptions", elf([(".eh_frame", 1, 2, 0x402000, frames)])
