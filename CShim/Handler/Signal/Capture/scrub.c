#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "registers.h"

// Runs of text that are shorter than this are kept, because they are more often part of a number than of a word.
#define TEXT_MINIMUM_BYTES 4
#define WORD_BYTES         sizeof(uint64_t)

// Returns the number of bytes of the UTF-8 character at `at`, or 0 if the bytes are not a character.
static size_t character_bytes(const uint8_t *at, size_t left) SIGNAL_SAFE {
  const uint8_t first = at[0];
  if ((first >= 0x20 && first < 0x7f) || first == '\t' || first == '\n' || first == '\r') return 1;
  size_t count = 0;
  if (first >= 0xc2 && first <= 0xdf) count = 2;
  if (first >= 0xe0 && first <= 0xef) count = 3;
  if (first >= 0xf0 && first <= 0xf4) count = 4;
  if (count > left) return 0;
  for (size_t index = 1; index < count; index++) {
    if ((at[index] & 0xc0) != 0x80) return 0;
  }
  return count;
}

// Returns whether the word is an address of mapped memory. Ignores the highest byte, because Swift stores flags in this
// byte of some references. An address in the guard page of a stack also counts. It must be kept, because after a stack
// overflow whose signal was re-raised, the kernel's signal frame contains such an address.
static bool is_address(uint64_t word) SIGNAL_SAFE {
  const uint64_t address = word & (UINT64_MAX >> 8);
  const uint64_t aligned = address & ~UINT64_C(7);
  return cs_is_user_address(address, CS_ADDRESS_BITS) &&
         (cs_memory_is_readable(aligned) || cs_memory_is_readable(aligned + CS_PAGE_BYTES));
}

static bool is_kept(uint64_t word, const cs_ring_registers *registers) SIGNAL_SAFE {
  for (uint64_t index = 0; index < registers->general_count && index < CS_RING_REGISTER_LIMIT; index++) {
    if (registers->general[index] == word) return true;
  }
  return is_address(word);
}

static void overwrite(uint8_t *bytes, size_t from, size_t to, const cs_ring_registers *registers) SIGNAL_SAFE {
  while (from < to) {
    const size_t start = from & ~(WORD_BYTES - 1);
    const size_t end = start + WORD_BYTES < to ? start + WORD_BYTES : to;
    uint64_t word = 0;
    memcpy(&word, &bytes[start], sizeof word);
    if (!is_kept(word, registers)) memset(&bytes[from], CS_RING_SCRUBBED_BYTE, end - from);
    from = end;
  }
}

void cs_scrub(uint8_t *bytes, size_t size, const cs_ring_registers *registers) SIGNAL_SAFE {
  size_t run = 0; // start of the current run of text
  size_t at = 0;
  while (at < size) {
    uint64_t word = 1;
    if (at == run && (at & (WORD_BYTES - 1)) == 0) memcpy(&word, &bytes[at], sizeof word);
    const size_t count = word == 0 ? 0 : character_bytes(&bytes[at], size - at);
    if (count > 0) {
      at += count;
      continue;
    }
    if (at - run >= TEXT_MINIMUM_BYTES) overwrite(bytes, run, at, registers);
    at += word == 0 ? WORD_BYTES : 1; // most bytes of a stack are zero, so zero words are skipped
    run = at;
  }
  if (size - run >= TEXT_MINIMUM_BYTES) overwrite(bytes, run, size, registers);
}

#endif
