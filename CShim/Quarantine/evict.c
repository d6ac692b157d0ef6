// The end of an object's time in quarantine.
#include "fields.h"
#include "quarantine.h"

__attribute__((cold, noinline)) static void drifted(cs_touch *touch, uint64_t *counts, uint64_t present) {
  touch->kind = CS_QUARANTINE_DRIFT;
  cs_hit(touch);
  touch->drift = 0;
  // Else Swift ends the process at the dealloc: "deallocated with non-zero retain count".
  while (!__atomic_compare_exchange_n(counts, &present, present & ~CS_COUNTS_STRONG_MASK, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE)) {
  }
}

__attribute__((cold, noinline)) static void found(cs_class *class, const cs_slot *slot, bool is_written) {
  uint64_t *const counts = cs_object_counts(slot->object);
  const uint64_t present = __atomic_load_n(counts, __ATOMIC_ACQUIRE);
  cs_touch touch = {.class = class, .object = slot->object, .slot = slot};
  touch.drift = (int64_t)cs_counts_strong(present) - (int64_t)cs_counts_strong(slot->counts);
  if (touch.drift != 0) drifted(&touch, counts, present);
  if (!is_written) return;
  touch.kind = CS_QUARANTINE_WRITE;
  cs_hit(&touch);
}

static inline void audit(cs_class *class, const cs_slot *slot, bool is_written) {
  const uint64_t present = __atomic_load_n(cs_object_counts(slot->object), __ATOMIC_ACQUIRE);
  if (is_written || ((present ^ slot->counts) & CS_COUNTS_STRONG_MASK) != 0) found(class, slot, is_written);
}

static inline void leave(cs_class *class, const cs_slot *slot) {
  cs_ghost_put(slot);
  atomic_fetch_sub_explicit(&cs_queue_bytes, slot->bytes, memory_order_relaxed);
  CS_COUNT(class, evicted);
  __atomic_store_n(&slot->object->metadata, class->metadata, __ATOMIC_RELEASE);
}

void cs_claim_end(const cs_class *class, cs_object *object) {
  uint64_t *const word = cs_object_counts(object);
  uint64_t counts = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  // The deinit has ended and nobody has a reference: this is what swift_unownedRelease comes to.
  if (word == &object->counts && (counts & ~UINT64_C(1)) == (CS_COUNTS_DEINITING | CS_COUNTS_CLAIM)) {
    swift_slowDealloc(object, class->metadata->instance_size, class->metadata->instance_align_mask);
    return;
  }
  const uint64_t rest = CS_COUNTS_CLAIM - (UINT64_C(1) << CS_COUNTS_UNOWNED_SHIFT);
  while (!__atomic_compare_exchange_n(word, &counts, counts - rest, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  swift_unownedRelease(object);
}

void cs_evict(cs_class *class, const cs_slot *slot) {
  audit(class, slot, !cs_fields_are(class, slot->object, cs_fields_filling(slot->policy, slot->id)));
  leave(class, slot);
  cs_claim_end(class, slot->object);
}

void cs_evict_deferred(cs_class *class, const cs_slot *slot) {
  audit(class, slot, cs_fields_checksum(class, slot->object) != slot->checksum);
  leave(class, slot);
  class->destroy(slot->object);
  // Not before: until the memory goes a release too many is recognised by the claim.
  cs_claim_end(class, slot->object);
}
