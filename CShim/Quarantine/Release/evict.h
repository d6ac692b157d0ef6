// The end of an object's time in quarantine.
#ifndef CS_QUARANTINE_EVICT_H
#define CS_QUARANTINE_EVICT_H

#include <stdlib.h>

#include "../Machine/libc_x86_64.h"
#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// Checks what was done to the object meanwhile, leaves a freed-object record, and gives the memory back to Swift.
// Precondition: its deinit has run. false: it was retained and may be in use now, so it gets a second time in
// quarantine, unless `is_last`.
bool cs_evict(cs_class *class, cs_slot *slot, cs_object *object, bool is_last) __attribute__((cold));
bool cs_evict_deferred(cs_class *class, cs_slot *slot, bool is_last); // and runs its deinit

// Ends the claim on the object: memory without other references is given back.
void cs_claim_end(const cs_class *class, cs_object *object);

#pragma GCC visibility pop

// What swift_slowDealloc comes to.
static inline void cs_object_free(const cs_class *class, cs_object *object) {
  if (CS_USUALLY(cs_heap_is_glibc)) {
    free(object);
  } else {
    swift_slowDealloc(object, class->metadata->instance_size, class->metadata->instance_align_mask);
  }
}

#endif
