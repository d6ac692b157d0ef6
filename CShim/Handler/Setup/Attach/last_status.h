// The state of the connection as the idle thread has last reported it, for readers on other threads.
#ifndef CS_LAST_STATUS_H
#define CS_LAST_STATUS_H

#include "cs_shim.h"

// Forgets the state of the process before a fork. Precondition: the idle thread does not run.
void cs_last_status_clear(void);

// Publishes a state. Precondition: the caller is the idle thread. `text` is copied, and cut to what readers have room
// for.
void cs_last_status_set(cs_shim_status status, const char *text);

#endif
