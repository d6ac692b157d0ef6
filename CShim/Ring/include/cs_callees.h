// Determines properties of a stack from the code of its functions: functions that have no frame because of a tail call,
// and async functions.
#ifndef CS_CALLEES_H
#define CS_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Copies return addresses, beginning with the innermost one, and adds functions that have no frame because they ended
// with a tail call (a jump to another function). Such a function is found as follows: the call instruction before a
// return address calls a function F, but the next inner frame belongs to another function. F is added as the address of
// its first instruction plus 1, the form in which async callers are also recorded. `is_first_exact`: whether the first
// address is that of an instruction, and not a return address. Returns the number of stored addresses, at most `limit`.
uint32_t cs_callees_add(const uint64_t *frames, uint32_t count, bool is_first_exact, uint64_t *ret_frames,
                        uint32_t limit) SIGNAL_SAFE;

// Returns whether the address is in a Swift async function, judged by the function's first instructions. An async
// function has its AsyncContext in the word below the address to which its frame pointer points.
bool cs_function_is_async(uint64_t address) SIGNAL_SAFE;
// The number of bytes that cs_prologue_is_async() needs.
#if defined(__aarch64__)
#define CS_ASYNC_PROLOGUE_BYTES 48 // twelve instructions
#else
#define CS_ASYNC_PROLOGUE_BYTES 16
#endif
bool cs_prologue_is_async(const uint8_t bytes[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE;

// READS_FRAMES marks functions that unwind a thread's stack and therefore read words in the frames of other functions.
// These reads are valid, but a sanitizer can report them, because it marks parts of these frames as inaccessible.
#define READS_FRAMES __attribute__((no_sanitize("address", "thread")))

#endif
