// Finds the program's call that led into another library: the Swift runtime.
#ifndef CS_CALLS_H
#define CS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

// Addresses of code, from `start` up to `end`.
typedef struct cs_calls_range {
  uintptr_t start;
  uintptr_t end;
} cs_calls_range;

// A call by a function of the program.
typedef struct cs_calls_call {
  uint64_t pc;       // where the function goes on
  uintptr_t frame;   // of the function; 0: not known
  uint64_t caller;   // where its own caller goes on; 0: not known
  uint32_t distance; // frames from the one where the search began
} cs_calls_call;

// The image that contains an address, from its lowest to its highest byte. Takes the loader's lock: for setup.
bool cs_calls_image(uintptr_t address, cs_calls_range *ret_range);

// Finds the innermost call by a function outside of a range, by frame pointers from the frame that `frame` points at.
// Returns false if there is none, as on a foreign stack. Takes no lock.
bool cs_calls_find(const void *frame, const cs_calls_range *range, cs_calls_call *ret_call);

// The current return address in the function that made `call`, for the stack from `frame` on; 0 if that function is the
// innermost or has ended, as far as addresses show. Takes no lock.
uint64_t cs_calls_still(const void *frame, const cs_calls_call *call);

#endif
