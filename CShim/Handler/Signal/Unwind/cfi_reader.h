// A reader for untrusted bytes. The reader never reads past the end of the bytes. An attempt to do so sets `is_bad`.
#ifndef CS_CFI_READER_H
#define CS_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Dispatch/trusted.h"
#include "cs_signal_safe.h"

// Pointer encodings of .eh_frame (LSB Core, 10.5).
#define CS_ENCODING_OMIT          0xffu
#define CS_ENCODING_FORMAT        0x0fu
#define CS_ENCODING_APPLICATION   0x70u
#define CS_ENCODING_PC_RELATIVE   0x10u
#define CS_ENCODING_DATA_RELATIVE 0x30u
#define CS_ENCODING_INDIRECT      0x80u
#define CS_ENCODING_DATA_SDATA4   0x3bu

typedef struct cs_cfi_reader {
  const uint8_t *at;
  const uint8_t *end;
  bool is_bad; // set by a read past the end or an unknown encoding; after that, all reads return 0
} cs_cfi_reader;

static inline cs_cfi_reader cs_cfi_reader_make(const uint8_t *at, const uint8_t *end) SIGNAL_SAFE {
  return (cs_cfi_reader){.at = at, .end = end, .is_bad = at > end};
}

static inline bool cs_cfi_reader_is_at_end(const cs_cfi_reader *reader) SIGNAL_SAFE {
  return reader->is_bad || reader->at >= reader->end;
}

static inline void cs_cfi_skip(cs_cfi_reader *reader, uint64_t size) SIGNAL_SAFE {
  if (reader->is_bad || size > (uint64_t)(reader->end - reader->at)) {
    reader->is_bad = true;
  } else {
    reader->at += size;
  }
}

// Reads a little-endian number of `size` bytes, at most 8.
static inline uint64_t cs_cfi_fixed(cs_cfi_reader *reader, size_t size) SIGNAL_SAFE {
  uint64_t value = 0;
  const uint8_t *at = reader->at;
  cs_cfi_skip(reader, size);
  if (!reader->is_bad) memcpy(&value, at, size);
  return value;
}

static inline uint8_t cs_cfi_byte(cs_cfi_reader *reader) SIGNAL_SAFE {
  return (uint8_t)cs_cfi_fixed(reader, 1);
}

static inline int64_t cs_cfi_fixed_signed(cs_cfi_reader *reader, size_t size) SIGNAL_SAFE {
  const unsigned unused_bits = (unsigned)(64 - 8 * size);
  return (int64_t)(cs_cfi_fixed(reader, size) << unused_bits) >> unused_bits;
}

uint64_t cs_cfi_uleb(cs_cfi_reader *reader) SIGNAL_SAFE;
int64_t cs_cfi_sleb(cs_cfi_reader *reader) SIGNAL_SAFE;

// Reads a pointer with this encoding. `data_base` is the base address of data-relative pointers. Indirect pointers are
// not supported and set `is_bad`: no field that the unwinder needs uses them.
uint64_t cs_cfi_pointer(cs_cfi_reader *reader, uint8_t encoding, uint64_t data_base) SIGNAL_SAFE;

#endif
