// Composes the last words: one line of text that tells a person which crash ended the process.
#ifndef CS_LAST_WORDS_H
#define CS_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_ring.h"

// The maximum size of the line, including its newline.
#define CS_LAST_WORDS_LIMIT_BYTES 1024

// The functions with which the Swift runtime stops a program. If the runtime is a static library, these functions are
// in the program's own image. The setup fills the array. An element is 0 if the program does not have the function.
#define CS_TRAP_FUNCTION_COUNT 5
extern uint64_t cs_trap_functions[CS_TRAP_FUNCTION_COUNT];

// Describes the record, and returns the size of the line with its newline. `is_bare`: the line has no message and no
// address, because its reader can be a user who must not read the process's data.
size_t cs_last_words(const cs_ring_record *record, bool is_bare, char ret_line[CS_LAST_WORDS_LIMIT_BYTES]) SIGNAL_SAFE;

#endif
