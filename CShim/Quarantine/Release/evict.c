// Evicts objects from the quarantine: checks whether they were changed, and frees their memory.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "evict.h"

#include "../Incidents/incidents.h"
#include "../Table/fields.h"
#include "../Table/freed_objects.h"
#include "../Table/places.h"

static void report(cs_class *class, const cs_slot *slot, cs_object *object, cs_quarantine_kind kind, int64_t drift) {
  const cs_use use = {.class = class, .object = object, .slot = slot, .kind = kind, .drift = drift};
  cs_hit(&use);
}

// Clears the strong count. Otherwise, the Swift runtime would end the process at the deallocation ("deallocated with
// non-zero retain count").
static void clear_strong(uint64_t *counts) {
  uint64_t present = __atomic_load_n(counts, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(counts, &present, present & ~CS_COUNTS_STRONG_MASK, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
}

// Checks an object before its eviction. Returns false if the object was retained and stays in quarantine until its slot
// is evicted the next time (a second round). Otherwise, reports whether it was retained or written to.
static bool audit(cs_class *class, cs_slot *slot, cs_object *object, bool is_written, bool is_last) {
  uint64_t *const counts = cs_object_counts(object);
  const uint64_t drift = cs_counts_strong(__atomic_load_n(counts, __ATOMIC_ACQUIRE));
  if (drift != 0) {
    // The thread that has retained the object can be about to call a method of it and to release it, so the object
    // stays for a second round.
    if (!is_last && (slot->label & CS_LABEL_STAYED) == 0) {
      slot->label |= CS_LABEL_STAYED;
      return false;
    }
    report(class, slot, object, CS_QUARANTINE_DRIFT, (int64_t)drift);
    clear_strong(counts);
  }
  if (is_written) report(class, slot, object, CS_QUARANTINE_WRITE, 0);
  return true;
}

static void leave(cs_class *class, cs_object *object) {
  CS_COUNT(class, evicted);
  __atomic_store_n(&object->metadata, class->metadata, __ATOMIC_RELEASE);
}

void cs_claim_end(const cs_class *class, cs_object *object) {
  uint64_t *const word = cs_object_counts(object);
  uint64_t counts = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  // The deinit has ended and only the claim is left, so this code frees the memory directly, with the same result as
  // swift_unownedRelease.
  if (word == &object->counts && (counts & ~UINT64_C(1)) == (CS_COUNTS_DONE & ~UINT64_C(1))) {
    cs_object_free(class, object);
    return;
  }
  const uint64_t rest = CS_COUNTS_CLAIM - (UINT64_C(1) << CS_COUNTS_UNOWNED_SHIFT);
  while (!__atomic_compare_exchange_n(word, &counts, counts - rest, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  swift_unownedRelease(object);
}

bool cs_evict(cs_class *class, cs_slot *slot, cs_object *object, bool is_last) {
  const bool is_written = !cs_fields_are(class, object, cs_fields_filling(cs_slot_policy(slot), slot->label));
  if (!audit(class, slot, object, is_written, is_last)) return false;
  cs_slot_pass(slot, object);
  leave(class, object);
  cs_budget_charge(-(int64_t)cs_slot_bytes(slot));
  cs_claim_end(class, object);
  return true;
}

bool cs_evict_deferred(cs_class *class, cs_slot *slot, bool is_last) {
  cs_object *const object = slot->object;
  if (!audit(class, slot, object, cs_fields_checksum(class, object) != slot->checksum, is_last)) return false;
  cs_freed_object_put(slot, object);
  leave(class, object);
  class->destroy(object);
  // Releases the claim last, so that over-releases are detected until the memory is freed.
  cs_claim_end(class, object);
  return true;
}

#endif
