// Reads memory that can be unmapped: stacks, addresses found on them, strings of the runtimes.
#ifndef CS_MEMORY_H
#define CS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// The size of the smallest pages of Linux. On AArch64, the kernel's pages can be larger (16 or 64 KiB). Steps of 4 KiB
// reach every page in all cases.
#define CS_PAGE_BYTES UINT64_C(4096)

// Memory that is known to be readable: the recorded range of the crashing thread's stack, and the page that was probed
// last.
typedef struct cs_memory {
  uint64_t low;
  uint64_t high;
  uint64_t probed_page; // 1 + the address of the page that was probed last; 0: no page
} cs_memory;

// Returns whether the eight bytes at `address` are readable. The system call that this function makes changes nothing.
bool cs_memory_is_readable(uint64_t address) SIGNAL_SAFE;

bool cs_memory_read_word(cs_memory *memory, uint64_t address, uint64_t *ret_word) SIGNAL_SAFE;

// Copies up to `size` bytes, and stops at the first byte that is not readable. Returns the number of copied bytes.
size_t cs_memory_copy(void *to, uint64_t address, size_t size) SIGNAL_SAFE;

// Returns the length of the string at `address`. The string ends before a zero byte or an unreadable page, or after
// `limit` bytes.
size_t cs_memory_text_bytes(uint64_t address, size_t limit) SIGNAL_SAFE;

#endif
