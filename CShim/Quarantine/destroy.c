// What the stubs call: the last release of a listed class's object, and the touches of one in quarantine.
//
// Who enters an object claims it first, by so many unowned references that nobody else has them. A second "last"
// release of it, at the same time or at any later one until its memory goes, sees the claim: it is a release too many.
#include "queue.h"

bool cs_heap_is_glibc;

SWIFTCC void cs_quarantine_absorb(uint32_t index, SWIFTSELF void *pointer) __attribute__((visibility("hidden")));
SWIFTCC void cs_quarantine_zero(uint32_t index, SWIFTSELF void *pointer) __attribute__((visibility("hidden")));
SWIFTCC void cs_quarantine_diagnose(uint32_t index, SWIFTSELF void *pointer) __attribute__((visibility("hidden")));
SWIFTCC void cs_quarantine_again(uint32_t index, SWIFTSELF void *pointer) __attribute__((visibility("hidden")));
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame)
    __attribute__((visibility("hidden")));

// Under absorb. The object is claimed.
static inline __attribute__((always_inline)) void put_off(cs_class *class, cs_object *object, const void *frame) {
  if (CS_USUALLY(cs_queue_put(class, object, CS_QUARANTINE_ABSORB, frame))) return;
  class->destroy(object);
  cs_claim_end(class, object);
}

// Whether the deinit has run to its end. It gives up the object's own unowned reference by then; before, nobody else
// can: an object with others is not claimed, and who takes one meanwhile has but that to give back.
__attribute__((cold, noinline)) static bool has_ended(cs_class *class, cs_object *object) {
  if (cs_counts_unowned(__atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE)) == CS_CLAIM) return true;
  // It goes on elsewhere, on its actor, or has left a reference.
  CS_COUNT(class, skipped_isolated);
  return false;
}

// Under the other policies. The object is claimed.
static inline __attribute__((always_inline)) void deinit_and_keep(cs_class *class, cs_object *object,
                                                                  cs_quarantine_policy policy, const void *frame) {
  class->destroy(object);
  const bool is_done =
      CS_USUALLY(__atomic_load_n(&object->counts, __ATOMIC_ACQUIRE) == CS_COUNTS_DONE) || has_ended(class, object);
  if (!CS_USUALLY(is_done && cs_queue_put(class, object, policy, frame))) cs_claim_end(class, object);
}

// At the last release of an object that nobody refers to weakly or as unowned, of a class that is listed. One swap of
// its counts says both.
static inline bool claim(const cs_class *class, cs_object *object) {
  uint64_t counts = CS_COUNTS_LAST;
  return CS_USUALLY(atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1) &&
         CS_USUALLY(__atomic_compare_exchange_n(&object->counts, &counts, CS_COUNTS_LAST + CS_COUNTS_CLAIM, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

__attribute__((cold, noinline)) static void over_release(cs_class *class, cs_object *object, const void *frame) {
  cs_slot slot;
  cs_touch touch = {.class = class, .object = object, .frame = frame, .kind = CS_QUARANTINE_OVER_RELEASE};
  if (cs_queue_find(class, object, &slot) || cs_reaper_find(object, &slot)) touch.slot = &slot;
  cs_hit(&touch);
}

// Somebody refers to it weakly or as unowned, it is on the stack, or it has been claimed.
__attribute__((cold, noinline)) static void destroy_slowly(cs_class *class, cs_object *object,
                                                           cs_quarantine_policy policy, const void *frame) {
  uint64_t *const word = cs_object_counts(object);
  uint64_t counts = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  do {
    if (cs_counts_unowned(counts) >= CS_CLAIM) {
      over_release(class, object, frame);
      return;
    }
    const bool is_listed = atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1;
    const bool is_last = (counts & CS_COUNTS_DEINITING) != 0;
    // An unowned reference is one that may be followed until the deinit ends; one on the stack has the mark of it, too.
    if (!is_listed || !is_last || cs_counts_unowned(counts) != 1) {
      if (is_listed) CS_COUNT(class, skipped_unowned);
      class->destroy(object);
      return;
    }
  } while (
      !__atomic_compare_exchange_n(word, &counts, counts + CS_COUNTS_CLAIM, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  if (policy == CS_QUARANTINE_ABSORB) {
    put_off(class, object, frame);
  } else {
    deinit_and_keep(class, object, policy, frame);
  }
}

// One for each policy, so that none has to ask which it is.
SWIFTCC void cs_quarantine_absorb(uint32_t index, SWIFTSELF void *pointer) {
  cs_class *const class = cs_classes[index];
  const void *const frame = __builtin_frame_address(0);
  if (claim(class, pointer)) {
    put_off(class, pointer, frame);
  } else {
    destroy_slowly(class, pointer, CS_QUARANTINE_ABSORB, frame);
  }
}

SWIFTCC void cs_quarantine_zero(uint32_t index, SWIFTSELF void *pointer) {
  cs_class *const class = cs_classes[index];
  const void *const frame = __builtin_frame_address(0);
  if (claim(class, pointer)) {
    deinit_and_keep(class, pointer, CS_QUARANTINE_ZERO, frame);
  } else {
    destroy_slowly(class, pointer, CS_QUARANTINE_ZERO, frame);
  }
}

SWIFTCC void cs_quarantine_diagnose(uint32_t index, SWIFTSELF void *pointer) {
  cs_class *const class = cs_classes[index];
  const void *const frame = __builtin_frame_address(0);
  if (claim(class, pointer)) {
    deinit_and_keep(class, pointer, CS_QUARANTINE_DIAGNOSE, frame);
  } else {
    destroy_slowly(class, pointer, CS_QUARANTINE_DIAGNOSE, frame);
  }
}

// A zombie's last release.
SWIFTCC void cs_quarantine_again(uint32_t index, SWIFTSELF void *pointer) {
  cs_class *const class = cs_classes[index];
  cs_object *const object = pointer;
  if (cs_counts_unowned(__atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE)) >= CS_CLAIM) {
    over_release(class, object, __builtin_frame_address(0));
    return;
  }
  // Made from the type of an object in quarantine: alive until now.
  const cs_metadata *zombie = class->zombie;
  if (__atomic_compare_exchange_n(&object->metadata, &zombie, class->metadata, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    class->destroy(object);
}

// Where an async function pointer leads.
static const void *async_code(uint64_t word) {
  const int32_t *const pointer = (const int32_t *)(uintptr_t)word;
  return (const uint8_t *)pointer + *pointer;
}

// Where the call goes on; NULL: it returns zero.
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame) {
  const cs_metadata *const metadata = __atomic_load_n(&object->metadata, __ATOMIC_ACQUIRE);
  // It left the quarantine between the call and here: nothing says that what is there now has such a method.
  if (!cs_is_zombie(metadata)) return NULL;
  cs_class *const class = cs_class_of_zombie(metadata);
  const uint64_t original = cs_metadata_words(class->metadata)[word];
  const void *const code = is_async != 0 ? async_code(original) : (const void *)(uintptr_t)original;
  cs_slot slot;
  const bool has_record = cs_queue_find(class, object, &slot) || cs_reaper_find(object, &slot);
  const cs_touch touch = {
      .class = class,
      .object = object,
      .slot = has_record ? &slot : NULL,
      .method = code,
      .frame = frame,
      .word = word,
      .kind = is_async != 0 ? CS_QUARANTINE_ASYNC_CALL : CS_QUARANTINE_CALL,
  };
  cs_hit(&touch);
  const bool yields = (class->yields[word / 64] >> word % 64 & 1) != 0;
  const cs_quarantine_policy policy = has_record ? slot.policy & ~CS_SLOT_STAYED : atomic_load(&class->policy);
  return policy == CS_QUARANTINE_ZERO && !yields ? NULL : code;
}
