// The functions that metadata and zombies point at, and what their assembly calls in C.
#ifndef CS_QUARANTINE_STUBS_H
#define CS_QUARANTINE_STUBS_H

#include "../Table/class.h"

#define CS_STUB_BYTES 16 // stubs_x86_64.S has the same

#pragma GCC visibility push(hidden)

// stubs_x86_64.S: one stub for each class, or for each word of a vtable.
extern const uint8_t cs_stubs_absorb[]; // a listed class's destroy, where the deinit is deferred
extern const uint8_t cs_stubs_now[];    // and under the other policies
extern const uint8_t cs_stubs_again[];  // a zombie's destroy
extern const uint8_t cs_stubs_call[];
extern const uint8_t cs_stubs_async[];

// keep_x86_64.S
cs_keep_function cs_keep_zero_pair;
cs_keep_function cs_keep_diagnose_pair;

// destroy.c: what keeps the objects of a class under this policy.
cs_keep_function *cs_keep_of(const cs_class *class, cs_mode policy);

// destroy.c, for stubs_x86_64.S, which leaves to C an object of a class under absorb; under the other policies one that
// could not be claimed, and one whose counts are not as usual after its deinit.
SWIFTCC void cs_quarantine_absorb(cs_class *class, SWIFTSELF void *pointer);
SWIFTCC void cs_quarantine_unclaimed(cs_class *class, SWIFTSELF void *pointer);
cs_keep_function cs_quarantine_referred;
// The last release of a zombie.
SWIFTCC void cs_quarantine_again(cs_class *class, SWIFTSELF void *pointer);
// Where a call of a zombie's method goes on; NULL: it returns zero. `context` is of an async call.
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame,
                               uint64_t context);

#pragma GCC visibility pop

#endif
