// Evicts an object from the quarantine.
#ifndef CS_QUARANTINE_EVICT_H
#define CS_QUARANTINE_EVICT_H

#include <stdlib.h>

#include "../Machine/libc.h"
#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// Checks whether the object was written to or retained in quarantine, makes its record the freed-object record of the
// slot, and frees its memory. Precondition: the object's deinit has run (policies zero and diagnose). Returns false if
// the object was retained and can therefore still be in use. The object then stays in quarantine until its slot is
// evicted the next time (a second round). If `is_last` is true, evicts the object in any case.
bool cs_evict(cs_class *class, cs_slot *slot, cs_object *object, bool is_last) __attribute__((cold));
// Like cs_evict(), but for an object whose deinit has not run (policy absorb): also runs the deinit.
bool cs_evict_deferred(cs_class *class, cs_slot *slot, bool is_last);

// Releases the claim on the object (destroy.c). If no other reference exists, this frees the object's memory.
void cs_claim_end(const cs_class *class, cs_object *object);

#pragma GCC visibility pop

// Frees the object's memory, as swift_slowDealloc does.
static inline void cs_object_free(const cs_class *class, cs_object *object) {
  if (CS_USUALLY(cs_heap_is_glibc)) {
    free(object);
  } else {
    swift_slowDealloc(object, class->metadata->instance_size, class->metadata->instance_align_mask);
  }
}

#endif
