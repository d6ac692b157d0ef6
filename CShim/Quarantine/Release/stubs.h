// The functions that class metadata and zombies point to, and the C functions that this assembly calls.
#ifndef CS_QUARANTINE_STUBS_H
#define CS_QUARANTINE_STUBS_H

#include "../Table/class.h"

#define CS_STUB_BYTES 16 // stubs_x86_64.S has the same number

#pragma GCC visibility push(hidden)

// stubs_x86_64.S: one stub for each class, or for each word of a vtable.
extern const uint8_t cs_stubs_absorb[]; // a listed class's destroy function under absorb
extern const uint8_t cs_stubs_now[];    // a listed class's destroy function under the other policies
extern const uint8_t cs_stubs_again[];  // a zombie's destroy function
extern const uint8_t cs_stubs_call[];
extern const uint8_t cs_stubs_async[];

// keep_x86_64.S
cs_keep_function cs_keep_zero_pair;
cs_keep_function cs_keep_diagnose_pair;

// destroy.c: returns the function that puts objects of a class under this policy into the queue.
cs_keep_function *cs_keep_of(const cs_class *class, cs_mode policy);

// destroy.c, for stubs_x86_64.S: the C functions that the assembly calls. The first one is for an object under absorb.
// The second one is for an object that could not be claimed. The third one is for an object that still has other
// references after its deinit.
SWIFTCC void cs_quarantine_absorb(cs_class *class, SWIFTSELF void *pointer);
SWIFTCC void cs_quarantine_unclaimed(cs_class *class, SWIFTSELF void *pointer);
cs_keep_function cs_quarantine_referred;
// Called for the last release of a zombie.
SWIFTCC void cs_quarantine_again(cs_class *class, SWIFTSELF void *pointer);
// Returns the code at which a call of a zombie's method continues; NULL: the call returns zero. `context` is the
// context of an async call.
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame,
                               uint64_t context);

#pragma GCC visibility pop

#endif
