// What the stubs call: the last release of a listed class's object, and the touches of one in quarantine.
//
// Who enters an object claims it first, by so many unowned references that nobody else has them. A second "last"
// release of it, at the same time or at any later one until its memory goes, sees the claim: it is a release too many.
#include "queue.h"

bool cs_heap_is_glibc;

SWIFTCC void cs_quarantine_destroy(uint32_t index, SWIFTSELF void *pointer) __attribute__((visibility("hidden")));
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame)
    __attribute__((visibility("hidden")));

// The deinit that is not put off. False: it has not run to its end, but goes on elsewhere, or left a reference.
static bool deinit_now(cs_class *class, cs_arrival *arrival) {
  cs_object *const object = arrival->object;
  class->destroy(object);
  arrival->counts = __atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE);
  // The dealloc at its end gives up the object's own unowned reference.
  if (cs_counts_unowned(arrival->counts) == CS_CLAIM) return true;
  CS_COUNT(class, skipped_isolated);
  return false;
}

// The object is claimed.
static inline void enter(cs_class *class, cs_arrival *arrival) {
  arrival->policy = atomic_load_explicit(&class->policy, memory_order_relaxed);
  const bool defers = arrival->policy == CS_QUARANTINE_ABSORB;
  if ((!defers && !deinit_now(class, arrival)) || !cs_queue_put(class, arrival)) {
    if (defers) class->destroy(arrival->object);
    cs_claim_end(class, arrival->object);
    return;
  }
  // Unlisted meanwhile: cs_quarantine_unlist may have passed the place before it was taken.
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&class->is_listed, memory_order_relaxed) != 1) cs_queue_sweep(class);
}

__attribute__((cold, noinline)) static void over_release(cs_class *class, cs_object *object, const void *frame) {
  cs_slot slot;
  cs_touch touch = {.class = class, .object = object, .frame = frame, .kind = CS_QUARANTINE_OVER_RELEASE};
  if (cs_queue_find(class, object, &slot) || cs_reaper_find(object, &slot)) touch.slot = &slot;
  cs_hit(&touch);
}

// Somebody refers to it weakly or as unowned, it is on the stack, or it has been claimed.
__attribute__((cold, noinline)) static void destroy_slowly(cs_class *class, cs_object *object, const void *frame) {
  uint64_t *const word = cs_object_counts(object);
  cs_arrival arrival = {object, frame, __atomic_load_n(word, __ATOMIC_ACQUIRE), CS_QUARANTINE_ABSORB};
  do {
    if (cs_counts_unowned(arrival.counts) >= CS_CLAIM) {
      over_release(class, object, frame);
      return;
    }
    const bool is_listed = atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1;
    const bool is_last = (arrival.counts & CS_COUNTS_DEINITING) != 0;
    // An unowned reference is one that may be followed until the deinit ends; one on the stack has the mark of it, too.
    if (!is_listed || !is_last || cs_counts_unowned(arrival.counts) != 1) {
      if (is_listed) CS_COUNT(class, skipped_unowned);
      class->destroy(object);
      return;
    }
  } while (!__atomic_compare_exchange_n(word, &arrival.counts, arrival.counts + CS_COUNTS_CLAIM, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  enter(class, &arrival);
}

__attribute__((cold, noinline)) static void destroy_zombie(cs_class *class, cs_object *object, const void *frame) {
  if (cs_counts_unowned(__atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE)) >= CS_CLAIM) {
    over_release(class, object, frame);
    return;
  }
  // Made from the type of an object in quarantine: alive until now.
  const cs_metadata *zombie = class->zombie;
  if (__atomic_compare_exchange_n(&object->metadata, &zombie, class->metadata, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    class->destroy(object);
}

SWIFTCC void cs_quarantine_destroy(uint32_t index, SWIFTSELF void *pointer) {
  cs_object *const object = pointer;
  cs_class *const class = cs_classes[index];
  cs_arrival arrival = {object, __builtin_frame_address(0), CS_COUNTS_LAST, CS_QUARANTINE_ABSORB};
  if (__atomic_load_n(&object->metadata, __ATOMIC_RELAXED) == class->zombie) {
    destroy_zombie(class, object, arrival.frame);
    return;
  }
  uint64_t counts = CS_COUNTS_LAST;
  if (atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1 &&
      __atomic_compare_exchange_n(&object->counts, &counts, CS_COUNTS_LAST + CS_COUNTS_CLAIM, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    enter(class, &arrival);
  } else {
    destroy_slowly(class, object, arrival.frame);
  }
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
  const cs_quarantine_policy policy = has_record ? slot.policy : atomic_load(&class->policy);
  return policy == CS_QUARANTINE_ZERO && !yields ? NULL : code;
}
