// The locks of the shield that contained requests hold (cs_shim_contained_hold()).
#ifndef CS_CONTAINED_REQUESTS_H
#define CS_CONTAINED_REQUESTS_H

#include <stdbool.h>

// Suspends the containment of the current contained request. Returns NULL if there is none.
void *cs_contained_request_hold(void);

// Returns false if `hold` is not from cs_contained_request_hold().
bool cs_contained_request_let_go(void *hold);

#endif
