// A control message of crashd, after it was parsed and checked.
#ifndef CS_CONTROL_H
#define CS_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "cs_shim.h"

// Parses `size` bytes, which may have any content. If the message was cut off, `size` is larger than the number of
// bytes in `message`. Fills `ret_control` if the result is CS_CONTROL_DONE, and otherwise leaves it unchanged. Stores
// the message's number in `ret_number`, or 0 if the message has no number.
cs_control_result cs_control_read(const void *message, size_t size, cs_shim_control *ret_control, uint32_t *ret_number);

#endif
