// The end of an object's time in quarantine.
#include "quarantine.h"

#define AUDITED_WORDS 16
#define POISON_TAG    UINT64_C(0xEFED)

static inline uint32_t words_of(uint32_t bytes) {
  return bytes <= sizeof(cs_object) ? 0 : (bytes - (uint32_t)sizeof(cs_object)) / 8;
}

uint64_t cs_fields_checksum(const cs_object *object, uint32_t bytes) {
  uint32_t count = words_of(bytes);
  if (count > AUDITED_WORDS) count = AUDITED_WORDS;
  uint64_t sum = UINT64_C(0x9E3779B97F4A7C15);
  for (uint32_t index = 0; index < count; index++) {
    sum = (sum ^ object->fields[index]) * UINT64_C(0xFF51AFD7ED558CCD);
    sum ^= sum >> 32;
  }
  return sum;
}

// Bit 63 makes the runtime's retain and release of such a field do nothing, and every dereference a fault whose
// register tells the record.
void cs_fields_fill(cs_object *object, uint32_t bytes, cs_quarantine_policy policy, uint32_t id) {
  const uint64_t poison = POISON_TAG << 48 | (uint64_t)id << 16 | 0x8000;
  const uint64_t filling = policy == CS_QUARANTINE_DIAGNOSE ? poison : 0;
  const uint32_t count = words_of(bytes);
  for (uint32_t index = 0; index < count; index++)
    object->fields[index] = filling;
  uint8_t *const rest = (uint8_t *)&object->fields[count];
  const uint32_t left = bytes > sizeof(cs_object) ? (bytes - (uint32_t)sizeof(cs_object)) % 8 : 0;
  for (uint32_t index = 0; index < left; index++)
    rest[index] = (uint8_t)(filling >> (index * 8));
}

static void audit(cs_class *class, const cs_slot *slot) {
  cs_touch touch = {.class = class, .object = slot->object, .slot = slot};
  uint64_t *const counts = cs_object_counts(slot->object);
  uint64_t present = __atomic_load_n(counts, __ATOMIC_ACQUIRE);
  touch.drift = (int64_t)cs_counts_strong(present) - (int64_t)cs_counts_strong(slot->counts);
  if (touch.drift != 0) {
    touch.kind = CS_QUARANTINE_DRIFT;
    cs_hit(&touch);
    // Else Swift ends the process at the dealloc: "deallocated with non-zero retain count".
    while (!__atomic_compare_exchange_n(counts, &present, present & ~CS_COUNTS_STRONG_MASK, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
    }
  }
  touch.drift = 0;
  if (cs_fields_checksum(slot->object, class->metadata->instance_size) != slot->checksum) {
    touch.kind = CS_QUARANTINE_WRITE;
    cs_hit(&touch);
  }
}

void cs_evict(cs_class *class, const cs_slot *slot) {
  audit(class, slot);
  cs_ghost_put(class, slot);
  const uint64_t bytes = slot->bytes;
  __atomic_store_n(&slot->object->metadata, class->metadata, __ATOMIC_RELEASE);
  if (slot->policy == CS_QUARANTINE_ABSORB) class->destroy(slot->object);
  swift_unownedRelease(slot->object);
  atomic_fetch_sub_explicit(&cs_queue_bytes, bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&class->evicted, 1, memory_order_relaxed);
}
