// The assembly functions (stubs) to which the metadata of listed classes and zombies point, and the C functions that
// they call. A class is listed while its objects go to the quarantine; an object in quarantine points to a zombie, a
// copy of the class's metadata.
#ifndef CS_QUARANTINE_STUBS_H
#define CS_QUARANTINE_STUBS_H

#include "../Table/class.h"

#define CS_STUB_BYTES 16 // stubs_x86_64.S and stubs_aarch64.S contain the same number

#pragma GCC visibility push(hidden)

// stubs_x86_64.S and stubs_aarch64.S: arrays of stubs, one for each class or for each word of a vtable.
extern const uint8_t cs_stubs_absorb[]; // the destroy function of a listed class under the policy absorb
extern const uint8_t cs_stubs_now[];    // the destroy function of a listed class under the policies zero and diagnose
extern const uint8_t cs_stubs_again[];  // the destroy function of zombies
extern const uint8_t cs_stubs_call[];
extern const uint8_t cs_stubs_async[];

// keep_x86_64.S and keep_aarch64.c
cs_keep_function cs_keep_zero_pair;
cs_keep_function cs_keep_diagnose_pair;

// destroy.c: returns the function that puts objects of the class into slots under this policy.
cs_keep_function *cs_keep_of(const cs_class *class, cs_mode policy);

// destroy.c: the C functions that the stubs call. cs_quarantine_absorb handles the last release under the policy
// absorb. The other two serve the policies zero and diagnose: cs_quarantine_unclaimed handles an object that could not
// be claimed (destroy.c), and cs_quarantine_referred an object that still has other references after its deinit.
SWIFTCC void cs_quarantine_absorb(cs_class *class, SWIFTSELF void *pointer);
SWIFTCC void cs_quarantine_unclaimed(cs_class *class, SWIFTSELF void *pointer);
cs_keep_function cs_quarantine_referred;
// The runtime calls this function for the last release of an object whose metadata is a zombie.
SWIFTCC void cs_quarantine_again(cs_class *class, SWIFTSELF void *pointer);
// Handles a method call on an object in quarantine. Returns the code at which the call continues, or NULL if the call
// must return zero. `word` is the index of the method in the metadata, and `context` the AsyncContext of an async call.
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame,
                               uint64_t context);

#pragma GCC visibility pop

#endif
