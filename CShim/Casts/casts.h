// The interface between the files of CShimCasts, and the functions that CrashShieldCasts defines.
#pragma once

#include "cs_casts.h"

// The type of the runtime's function `bool swift_dynamicCast(OpaqueValue *dest, OpaqueValue *src, const Metadata
// *srcType, const Metadata *targetType, DynamicCastFlags flags)`.
typedef bool cs_casts_function(void *target, void *source, const void *source_type, const void *target_type,
                               uintptr_t flags);

#pragma GCC visibility push(hidden)
// The hook of swift_dynamicCast. cs_casts_write_tables writes the hook's address into the tables through which images
// call functions of other images.
cs_casts_function cs_casts_cast;
// The runtime's own swift_dynamicCast, which the hook calls. Ordering: this variable is set once, before the hook's
// address is written into any table.
extern cs_casts_function *cs_casts_original;

// Writes `function` into each table entry of the process that the loader filled for the function called `name`. Returns
// NULL if the image that contains this code has such an entry. Otherwise, returns the reason why the hook cannot work.
const char *cs_casts_write_tables(const char *name, cs_casts_function *function);
#pragma GCC visibility pop

// CrashShieldCasts defines this function. The hook calls this function for a failed forced cast, which would end the
// process. If the program has a fallback value for this cast, stores it at `target` and returns true. Otherwise,
// returns false. Reads the source of the cast, but does not destroy it. `pc` is the return address in the program's
// function.
bool cs_casts_meet(void *target, const void *source, const void *source_type, const void *target_type, uint64_t pc);
// Destroys the value at `source`.
void cs_casts_destroy(void *source, const void *source_type);
