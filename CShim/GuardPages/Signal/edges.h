// Checks, when an object is freed, the bytes before and after it in its page. The page is accessible, so an invalid
// write to these bytes causes no fault.
#ifndef CS_EDGES_H
#define CS_EDGES_H

#include "pages.h"

#define CS_PAGE_ALIGNMENT UINT64_C(16)
#define CS_PAGE_EDGE_BYTE 0xc5u
#define CS_PAGE_EDGE_WORD UINT64_C(0xc5c5c5c5c5c5c5c5)

static inline uint64_t cs_page_rounded(uint32_t bytes) SIGNAL_SAFE {
  const uint64_t rounded = (bytes + CS_PAGE_ALIGNMENT - 1) & ~(CS_PAGE_ALIGNMENT - 1);
  return rounded == 0 ? CS_PAGE_ALIGNMENT : rounded;
}

// Returns the chunk header that glibc's malloc would write in front of a block of `bytes` bytes. The quarantine reads
// the header to get the size of the block (cs_chunk_bytes).
static inline uint64_t cs_page_header(uint32_t bytes) SIGNAL_SAFE {
  const uint64_t chunk = (bytes + 8 + CS_PAGE_ALIGNMENT - 1) & ~(CS_PAGE_ALIGNMENT - 1);
  return (chunk < 32 ? 32 : chunk) | 1;
}

static inline void cs_page_edges_fill(uint64_t object, uint32_t bytes) SIGNAL_SAFE {
  volatile uint64_t *const front = (volatile uint64_t *)(uintptr_t)object;
  front[-2] = CS_PAGE_EDGE_WORD;
  front[-1] = cs_page_header(bytes);
  volatile uint8_t *const memory = (volatile uint8_t *)(uintptr_t)object;
  for (uint64_t at = bytes; at < cs_page_rounded(bytes); at++)
    memory[at] = CS_PAGE_EDGE_BYTE;
}

// Returns true if a byte before or after the allocation was changed, and stores the byte's offset from the start of the
// object.
static inline bool cs_page_edges_are_trampled(uint64_t object, uint32_t bytes, int64_t *ret_offset) SIGNAL_SAFE {
  const volatile uint64_t *const front = (const volatile uint64_t *)(uintptr_t)object;
  const volatile uint8_t *const memory = (const volatile uint8_t *)(uintptr_t)object;
  for (uint64_t at = bytes; at < cs_page_rounded(bytes); at++) {
    if (memory[at] == CS_PAGE_EDGE_BYTE) continue;
    *ret_offset = (int64_t)at;
    return true;
  }
  if (front[-1] == cs_page_header(bytes) && front[-2] == CS_PAGE_EDGE_WORD) return false;
  *ret_offset = front[-1] != cs_page_header(bytes) ? -8 : -16;
  return true;
}

#endif
