// The way of a program's casts to the Swift runtime: the loader's tables, through which every image calls
// swift_dynamicCast, lead to cs_casts_cast of casts.c, which asks CrashShieldCasts about a forced cast that fails. Put
// there before main, and never taken away. Any thread; not from a signal handler.
#ifndef CS_CASTS_H
#define CS_CASTS_H

#include <stdbool.h>
#include <stdint.h>

// Why this image's casts do not come by; NULL: they do, as far as the tables tell.
const char *cs_casts_obstacle(void);

// The last forced cast of a thread's test.
typedef struct cs_casts_seen {
  uintptr_t source_type; // metadata
  uintptr_t target_type;
  uintptr_t flags; // 0: none came by
} cs_casts_seen;

// Begins a test, in which CrashShieldCasts is asked even where it is being asked already. Returns whether one went on.
bool cs_casts_begin_test(void);
// Ends it, unless another goes on around it.
cs_casts_seen cs_casts_end_test(bool goes_on);

#endif
