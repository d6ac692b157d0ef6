// One control message of crashd, checked.
#ifndef CS_CONTROL_H
#define CS_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "cs_shim.h"

// Parses `size` bytes, which may have any content. `size` may exceed the bytes of `message` if the message was cut off.
// On CS_CONTROL_DONE `ret_control` is filled; otherwise it is untouched. `ret_number` is the message's number, or 0
// without one.
cs_control_result cs_control_read(const void *message, size_t size, cs_shim_control *ret_control, uint32_t *ret_number);

#endif
