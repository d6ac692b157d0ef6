// What the code of a process says of its stacks: functions that a tail call left without a frame, and async ones.
#ifndef CS_CALLEES_H
#define CS_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Copies return addresses, innermost first, and puts in what the call before each one names, where another function
// runs in the frame inside of it: the one that was called has ended by a jump to that other one. Such a function stands
// there by its entry point and 1, as async callers do. `is_first_exact`: the first address is no return address.
// Returns how many there are, `limit` at most.
uint32_t cs_callees_add(const uint64_t *frames, uint32_t count, bool is_first_exact, uint64_t *ret_frames,
                        uint32_t limit) SIGNAL_SAFE;

// Whether the function that has this address in it is one of Swift's async functions: the word below the frame pointer
// is its context. The first bytes of one tell.
bool cs_function_is_async(uint64_t address) SIGNAL_SAFE;
#define CS_ASYNC_PROLOGUE_BYTES 16 // how many are needed
bool cs_prologue_is_async(const uint8_t bytes[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE;

// READS_FRAMES: what walks a thread's stack reads words of other functions' frames, or what lies there now. They are
// mapped, but red to a sanitizer: where a function once had its frame, another may have the rim of an array by now.
#define READS_FRAMES __attribute__((no_sanitize("address", "thread")))

#endif
