// Reads the processor's description of a fault on AArch64: the syndrome (ESR), which the kernel stores in a record of
// the signal frame. This file compiles on every architecture, so its tests can run on every machine.
#ifndef CS_FAULT_AARCH64_H
#define CS_FAULT_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../Dispatch/trusted.h"
#include "cs_signal_safe.h"

// The exception classes, bits 26 to 31 of the syndrome.
#define CS_SYNDROME_CLASS_SHIFT  26
#define CS_SYNDROME_CLASS_MASK   UINT64_C(0x3f)
#define CS_SYNDROME_FETCH        UINT64_C(0x20) // instruction abort
#define CS_SYNDROME_PC_ALIGNMENT UINT64_C(0x22)
#define CS_SYNDROME_ACCESS       UINT64_C(0x24) // data abort
// In the syndrome of a data abort: the access was a write.
#define CS_SYNDROME_WRITE (UINT64_C(1) << 6)

#define CS_CONTEXT_ESR_MAGIC UINT32_C(0x45535201)

// The head of a record in the signal frame (asm/sigcontext.h). A record without a magic number ends the list.
typedef struct cs_context_head {
  uint32_t magic;
  uint32_t bytes;
} cs_context_head;

static inline uint64_t cs_syndrome_class(uint64_t syndrome) SIGNAL_SAFE {
  return syndrome >> CS_SYNDROME_CLASS_SHIFT & CS_SYNDROME_CLASS_MASK;
}

// Returns the syndrome in the `size` bytes of records, or 0 if the kernel wrote none. qemu before version 8 never
// writes a syndrome.
static inline uint64_t cs_syndrome_in(const uint8_t *records, size_t size) SIGNAL_SAFE {
  size_t at = 0;
  while (size - at >= sizeof(cs_context_head) + sizeof(uint64_t)) {
    cs_context_head head;
    uint64_t syndrome = 0;
    memcpy(&head, records + at, sizeof head);
    if (head.magic == CS_CONTEXT_ESR_MAGIC) {
      memcpy(&syndrome, records + at + sizeof head, sizeof syndrome);
      return syndrome;
    }
    if (head.magic == 0 || head.bytes < sizeof head || (head.bytes & 15) != 0 || head.bytes > size - at) return 0;
    at += head.bytes;
  }
  return 0;
}

#endif
