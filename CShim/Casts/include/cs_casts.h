// Hooks the casts of a program. Every image calls swift_dynamicCast through tables of the loader. The hook changes
// these tables to call cs_casts_cast of casts.c, which calls CrashShieldCasts for a failing forced cast. The hook is
// installed before main, and never removed. Any thread may use it, but no signal handler.
#ifndef CS_CASTS_H
#define CS_CASTS_H

#include <stdbool.h>
#include <stdint.h>

// The reason why the hook does not receive the casts of this image; NULL if its tables lead to the hook.
const char *cs_casts_obstacle(void);

// The last forced cast in the test of a thread.
typedef struct cs_casts_seen {
  uintptr_t source_type; // metadata
  uintptr_t target_type;
  uintptr_t flags; // 0: no forced cast
} cs_casts_seen;

// Begins a test, in which the hook calls CrashShieldCasts even for casts of CrashShieldCasts. Returns whether a test
// was running already.
bool cs_casts_begin_test(void);
// Ends the test; `goes_on` is the result of cs_casts_begin_test.
cs_casts_seen cs_casts_end_test(bool goes_on);

#endif
