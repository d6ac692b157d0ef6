// Which call of the program's led into a library that is not the program's: the Swift runtime.
#ifndef CS_CALLS_H
#define CS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

// Addresses of code; those from `start` up to `end`.
typedef struct cs_calls_range {
  uintptr_t start;
  uintptr_t end;
} cs_calls_range;

// A call that a function of the program's has made.
typedef struct cs_calls_call {
  uint64_t pc;       // where the function goes on
  uintptr_t frame;   // of the function; 0: not known
  uint64_t caller;   // where its own caller goes on; 0: not known
  uint32_t distance; // frames from the one where the search began
} cs_calls_call;

// The image that an address is of, from its lowest to its highest byte. Takes the loader's lock: for setup.
bool cs_calls_image(uintptr_t address, cs_calls_range *ret_range);

// The innermost call by a function that lies outside of a range, found by frame pointers from the frame that `frame`
// points at. False: there is none, as on a stack that is not the thread's own. Takes no lock.
bool cs_calls_find(const void *frame, const cs_calls_range *range, cs_calls_call *ret_call);

// Where the function that made `call` goes on by now, for the stack from `frame` on, where that function is neither the
// innermost nor has ended as far as addresses can tell; else 0. Takes no lock.
uint64_t cs_calls_still(const void *frame, const cs_calls_call *call);

#endif
