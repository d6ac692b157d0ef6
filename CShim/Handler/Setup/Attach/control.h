// What crashd asks of the program: one message, checked.
#ifndef CS_CONTROL_H
#define CS_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "cs_shim.h"

// Reads a message of `size` bytes, which may be anything; `size` may be more than `message` has when it was cut off.
// CS_CONTROL_DONE: `ret_control` is filled. Else it is untouched. `ret_number` is the message's, 0 when it has none.
cs_control_result cs_control_read(const void *message, size_t size, cs_shim_control *ret_control, uint32_t *ret_number);

#endif
