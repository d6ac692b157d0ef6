// What the Swift runtime said before a trap.
#ifndef CS_MESSAGE_H
#define CS_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Copies what it has said that no record has yet, or the beginning of its last report. Returns how many bytes;
// `ret_end` says how far it goes.
uint32_t cs_message_untold(uint8_t *ret_text, size_t limit, size_t *ret_end) SIGNAL_SAFE;

// A record has it so far, of a trap that the process has survived: no later crash has said it.
void cs_message_is_told(size_t end) SIGNAL_SAFE;

#endif
