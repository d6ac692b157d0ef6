// Counts the locks of the shield that a contained request holds (cs_shim_contained_hold()). While it holds one, a trap
// in it is not contained.
#ifndef CS_CONTAINED_REQUESTS_H
#define CS_CONTAINED_REQUESTS_H

#include <stdbool.h>

// Suspends the containment of the current contained request. Returns NULL if there is none.
void *cs_contained_request_hold(void);

// Returns false if `hold` is not from cs_contained_request_hold().
bool cs_contained_request_let_go(void *hold);

#endif
