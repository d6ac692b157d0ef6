// Reads a return address in a frame.
#ifndef CS_RETURN_ADDRESS_H
#define CS_RETURN_ADDRESS_H

#include <stdint.h>

#include "cs_signal_safe.h"

// Returns the address of the code to which a function returns. `word` is the word after the saved frame pointer in the
// function's frame. On AArch64, a function can have signed this word (PAC). The signature is in bits that an address
// does not use. `hint #7` (xpaclri) removes it from x30, and has no effect on processors without signatures.
static inline uint64_t cs_return_address(uint64_t word) SIGNAL_SAFE {
#if defined(__aarch64__)
  register uint64_t link __asm__("x30") = word;
  __asm__("hint #7" : "+r"(link));
  return link;
#else
  return word;
#endif
}

#endif
