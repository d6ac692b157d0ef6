// Properties of stacks that the code shows: functions without a frame because of a tail call, and async functions.
#ifndef CS_CALLEES_H
#define CS_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Copies return addresses, innermost first, and adds functions that a tail call removed from the stack. If the call
// before a return address names another function than the one in the inner frame, the called function has ended by a
// jump to the inner one. It is added as its entry point plus 1, like an async caller. `is_first_exact`: the first
// address is not a return address. Returns the number of addresses, at most `limit`.
uint32_t cs_callees_add(const uint64_t *frames, uint32_t count, bool is_first_exact, uint64_t *ret_frames,
                        uint32_t limit) SIGNAL_SAFE;

// Returns whether the address belongs to a Swift async function, whose context is in the word below the frame pointer.
// The function's first bytes show it.
bool cs_function_is_async(uint64_t address) SIGNAL_SAFE;
#define CS_ASYNC_PROLOGUE_BYTES 16 // the number of bytes that the check needs
bool cs_prologue_is_async(const uint8_t bytes[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE;

// READS_FRAMES: for code that unwinds a thread's stack and reads words of other functions' frames. The words are
// mapped, but a sanitizer may have poisoned them: the red zone of an array may be where a function once had its frame.
#define READS_FRAMES __attribute__((no_sanitize("address", "thread")))

#endif
