// Between the files of CShimCasts, and what CrashShieldCasts defines.
#pragma once

#include "cs_casts.h"

// The runtime's `bool swift_dynamicCast(OpaqueValue *dest, OpaqueValue *src, const Metadata *srcType, const Metadata
// *targetType, DynamicCastFlags flags)`.
typedef bool cs_casts_function(void *target, void *source, const void *source_type, const void *target_type,
                               uintptr_t flags);

#pragma GCC visibility push(hidden)
// What stands in the tables.
cs_casts_function cs_casts_cast;
// The runtime's original function. Ordering: set once, before any table is written.
extern cs_casts_function *cs_casts_original;

// Writes the function into each table of the process that leads to the function of that name. Returns why it could not;
// NULL: it could, and this image has such a table.
const char *cs_casts_write_tables(const char *name, cs_casts_function *function);
#pragma GCC visibility pop

// CrashShieldCasts's. A forced cast has failed, and would end the process: whether there is a value to go on with,
// which then is at the target. The source is only read. `pc` is where the program goes on.
bool cs_casts_meet(void *target, const void *source, const void *source_type, const void *target_type, uint64_t pc);
// Destroys the source.
void cs_casts_destroy(void *source, const void *source_type);
