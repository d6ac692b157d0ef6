#ifndef CS_TEST_WAKES_H
#define CS_TEST_WAKES_H

#include <stdbool.h>

// From now on the process ends by SIGSYS where the calling thread wakes all that sleep on a word. False: the kernel has
// no such filter.
bool cs_test_forbid_wakes(void);

#endif
