// Parses and checks the control messages of crashd.
#ifndef CS_CONTROL_H
#define CS_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "cs_shim.h"

// Parses `size` bytes, which can have any content. `size` is the full size of the message. If the receiver's buffer was
// too small for the message, `size` is larger than the number of bytes at `message`. Fills `ret_control` if the result
// is CS_CONTROL_DONE, and otherwise leaves it unchanged. In every case, stores in `ret_number` the number with which
// crashd identifies the message, or 0 if the message does not begin with a header.
cs_control_result cs_control_read(const void *message, size_t size, cs_shim_control *ret_control, uint32_t *ret_number);

#endif
