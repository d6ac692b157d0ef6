// Finds the program's call that led into another library, such as the Swift runtime.
#ifndef CS_CALLS_H
#define CS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

// A range of code addresses; `end` is not included.
typedef struct cs_calls_range {
  uintptr_t start;
  uintptr_t end;
} cs_calls_range;

// A call by a function of the program.
typedef struct cs_calls_call {
  uint64_t pc;       // the return address in the function
  uintptr_t frame;   // the function's frame; 0: unknown
  uint64_t caller;   // the address in the caller to which the function returns; 0: unknown
  uint32_t distance; // number of frames from the start of the search
} cs_calls_call;

// Returns the address range of the image (the executable or a shared library) that contains an address. Takes the
// loader's lock: call this function only during setup.
bool cs_calls_image(uintptr_t address, cs_calls_range *ret_range);

// Follows frame pointers from the frame at `frame`. Finds the innermost call by a function whose code is outside of
// `range`. Returns false if there is no such call, for example if the thread runs on a stack that is not its own. Takes
// no lock.
bool cs_calls_find(const void *frame, const cs_calls_range *range, cs_calls_call *ret_call);

// Follows frame pointers from the frame at `frame` to the function that made `call`, and returns the address where this
// function now continues. Returns 0 if this function has the frame at `frame`, or if its frame no longer exists. The
// search recognizes the function by the address of its frame and by the return address in it (`caller`). A later call
// can have the same two values. Takes no lock.
uint64_t cs_calls_still(const void *frame, const cs_calls_call *call);

#endif
