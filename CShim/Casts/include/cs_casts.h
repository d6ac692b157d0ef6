// Hooks the casts of a program. Every image (the executable or a shared library) calls swift_dynamicCast through a
// table that the loader fills. The hook replaces the entries of these tables by the address of cs_casts_cast (casts.c).
// For a failing forced cast, cs_casts_cast calls the Swift module CrashShieldCasts, which can supply a fallback value.
// The hook is installed before main and is never removed. Any thread may use the hook, but a signal handler may not.
#ifndef CS_CASTS_H
#define CS_CASTS_H

#include <stdbool.h>
#include <stdint.h>

// Returns the reason why the hook does not receive the casts of this image, or NULL if the hook receives them.
const char *cs_casts_obstacle(void);

// The last forced cast of this thread that the hook received during a test.
typedef struct cs_casts_seen {
  uintptr_t source_type; // metadata
  uintptr_t target_type;
  uintptr_t flags; // 0: no forced cast
} cs_casts_seen;

// Begins a test on this thread. During the test, the hook also calls CrashShieldCasts for casts in the code of
// CrashShieldCasts. Returns whether a test was already running on this thread.
bool cs_casts_begin_test(void);
// Ends the test; `goes_on` is the result of cs_casts_begin_test.
cs_casts_seen cs_casts_end_test(bool goes_on);

#endif
