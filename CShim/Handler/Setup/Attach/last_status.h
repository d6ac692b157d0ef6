// The last state of the connection to crashd, which the connection's thread publishes for other threads to read.
#ifndef CS_LAST_STATUS_H
#define CS_LAST_STATUS_H

#include "cs_shim.h"

// Clears the state that a forked child inherited. Precondition: the child's connection thread does not run yet.
void cs_last_status_clear(void);

// Publishes a state. Precondition: the caller is the connection's thread. `text` is copied, and cut to the size of the
// readers' buffer.
void cs_last_status_set(cs_shim_status status, const char *text);

#endif
