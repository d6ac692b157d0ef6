// Writes the record line, which contains a crash record and the most important other parts of the ring in one line of
// text (docs/record-line.md).
#ifndef CS_RECORD_LINE_WRITER_H
#define CS_RECORD_LINE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_record_line.h"
#include "cs_ring.h"

// Encodes the record in slot `slot` of the ring, and returns the size of the line with its newline. `is_bare`: whether
// to omit the process's data, because a user who must not read this data can read the line (docs/decisions/0122).
// Precondition: only one thread at a time calls this function. Signal safety: the function uses static buffers and no
// system call.
size_t cs_record_line(uint32_t slot, bool is_bare, char ret_line[CS_RECORD_LINE_LIMIT_BYTES]) SIGNAL_SAFE;

// At the start: writes to the static buffers, so that their pages are in memory.
void cs_record_line_prefault(void);

#endif
