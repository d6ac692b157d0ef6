// Hooks the casts of a program: the loader's tables, through which every image calls swift_dynamicCast, lead to
// cs_casts_cast of casts.c, which calls CrashShieldCasts for a failing forced cast. Installed before main, and never
// removed. Any thread; not from a signal handler.
#ifndef CS_CASTS_H
#define CS_CASTS_H

#include <stdbool.h>
#include <stdint.h>

// The reason why the hook does not see this image's casts; NULL if it does, as far as the tables show.
const char *cs_casts_obstacle(void);

// The last forced cast of a thread's test.
typedef struct cs_casts_seen {
  uintptr_t source_type; // metadata
  uintptr_t target_type;
  uintptr_t flags; // 0: none came by
} cs_casts_seen;

// Begins a test, in which the hook calls CrashShieldCasts even within a call of it. Returns whether a test was running.
bool cs_casts_begin_test(void);
// Ends the test, unless it is nested in another one.
cs_casts_seen cs_casts_end_test(bool goes_on);

#endif
