// The last state of the connection to crashd that the idle thread published, for other threads to read.
#ifndef CS_LAST_STATUS_H
#define CS_LAST_STATUS_H

#include "cs_shim.h"

// Clears the state that a forked child inherited. Precondition: the idle thread does not run.
void cs_last_status_clear(void);

// Publishes a state. Precondition: the caller is the idle thread. `text` is copied, and cut to the size of the readers'
// buffer.
void cs_last_status_set(cs_shim_status status, const char *text);

#endif
