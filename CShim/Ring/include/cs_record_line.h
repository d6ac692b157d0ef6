// The record line: one line of text on the program's stderr that contains the important parts of a ring. The crash
// handler writes it if the crash can be passed neither to crashd nor to a spool directory. crashctl converts the line
// back to a ring. docs/record-line.md explains the format. A change of the format requires a new number in the prefix.
#ifndef CS_RECORD_LINE_H
#define CS_RECORD_LINE_H

#include <stdint.h>

// A line consists of PREFIX, the payload in base64url without padding (A–Z, a–z, 0–9, '-' and '_'), and a newline. A
// JSON encoder escapes none of the characters before the newline.
#define CS_RECORD_LINE_PREFIX "crashshield-record:1:"
// The maximum size of a line, including its newline. One write of at most this size to a pipe is atomic (PIPE_BUF of
// Linux).
#define CS_RECORD_LINE_LIMIT_BYTES 4096
// The largest payload that fits into a line: (4096 - 21 - 1) characters with 6 bits each.
#define CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES 3055
// The maximum number of bytes of the ring that the pieces of one payload can fill. Without this limit, a short line
// could make a reader fill any number of bytes.
#define CS_RECORD_LINE_RING_LIMIT_BYTES 131072

// A payload consists of a head, pieces, and 4 bytes with the CRC-32C of all bytes before them. All numbers are
// little-endian. A `cut_…` field contains the number of items of the ring that the line omits; UINT16_MAX: this number
// or more.
typedef struct cs_record_line_head {
  uint16_t bytes; // of the whole payload, with the head and the CRC
  uint16_t cut_frames;
  uint16_t cut_images;     // images that a frame, the fault address or a register uses
  uint16_t cut_text_bytes; // of names, messages, paths, the request and annotations that are in the line
  uint16_t cut_annotations;
  uint16_t cut_memory_words; // of the stack and of the memory near addresses in registers
  uint16_t cut_incidents;    // incidents of this crash, such as the record of a freed object
  uint16_t cut_breadcrumbs;
  uint16_t cut_threads; // threads that the sweep found, and crash records of other threads
} cs_record_line_head;

// A piece contains bytes of the ring (cs_ring.h) from one offset on. In the ring that a reader makes from the line,
// bytes that no piece contains are zero. If two pieces overlap, the later piece takes precedence. No piece contains the
// CRCs of slot 0, so the reader computes them. A piece consists of:
//   varint  zigzag(offset - end of the previous piece) << 1 | kind; the first piece follows offset 0
//   varint  the number of words or bytes
//   words as below, or the bytes themselves
// A varint is LEB128: 7 bits in each byte, the lowest bits first, at most 10 bytes. zigzag(n) is n << 1 ^ n >> 63.
#define CS_RECORD_LINE_KIND_WORDS 0u
#define CS_RECORD_LINE_KIND_BYTES 1u

// Words of 8 bytes are encoded as follows. Each item begins with a control byte:
//   1ddddddd  A repeat. A varint `count` follows. The next `count` words equal the words that are d + 1 words before
//             them in the same piece. The two ranges can overlap.
//   0bbbnnnn  A literal word. The next n bytes (0 to 8), little-endian, are zigzag(word - base[b]), modulo 2^64.
// base[0] is always 0. base[1] to base[7] are 0 at the start of the payload. After a literal with b > 0, base[b] is the
// word. After a literal with b == 0 and n > 4, base[next] is the word, and `next` advances: it starts at 1, and 1
// follows 7.
#define CS_RECORD_LINE_REPEAT             0x80u
#define CS_RECORD_LINE_BASE_COUNT         8
#define CS_RECORD_LINE_BASE_SHIFT         4
#define CS_RECORD_LINE_BYTES_MASK         0x0fu
#define CS_RECORD_LINE_BASE_MINIMUM_BYTES 5

#endif
