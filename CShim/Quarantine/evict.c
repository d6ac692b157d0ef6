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
  atomic_fetch_add_explicit(&class->evicted, 1, memory_order_relaxed);
  __atomic_store_n(&slot->object->metadata, class->metadata, __ATOMIC_RELEASE);
}

void cs_evict(cs_class *class, const cs_slot *slot) {
  cs_object *const object = slot->object;
  const cs_metadata *const metadata = class->metadata;
  audit(class, slot, !cs_fields_are(object, class->fields, cs_fields_filling(slot->policy, slot->id)));
  leave(class, slot);
  // The quarantine's own unowned reference holds the memory. When nobody else has one, this is what
  // swift_unownedRelease comes to.
  if (__atomic_load_n(&object->counts, __ATOMIC_ACQUIRE) == CS_COUNTS_LAST) {
    swift_slowDealloc(object, metadata->instance_size, metadata->instance_align_mask);
  } else {
    swift_unownedRelease(object);
  }
}

void cs_evict_deferred(cs_class *class, const cs_slot *slot) {
  cs_object *const object = slot->object;
  audit(class, slot, cs_fields_checksum(object, class->fields) != slot->checksum);
  leave(class, slot);
  class->destroy(object);
}
