// What the stubs call: the last release of a listed class's object, and the touches of one in quarantine.
#include "queue.h"

bool cs_heap_is_glibc;

SWIFTCC void cs_quarantine_destroy(uint32_t index, SWIFTSELF void *pointer) __attribute__((visibility("hidden")));
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame)
    __attribute__((visibility("hidden")));

// An object that the optimizer put on the stack, or into the frame of an async function, counts one unowned reference
// more than it has: so does one that an `unowned` refers to, but that one is a chunk of the heap.
static bool is_heap_chunk(const cs_object *object, const cs_metadata *metadata) {
  if (!cs_heap_is_glibc || cs_is_on_this_stack(object) || (uintptr_t)object % 16 != 0) return false;
  const uint64_t chunk = cs_chunk_bytes(object);
  const uint64_t least = ((uint64_t)metadata->instance_size + 8 + 15) & ~UINT64_C(15);
  return chunk >= least && chunk <= (least < 32 ? 32 : least) + 16;
}

// Somebody refers to it weakly or as unowned, or it is on the stack.
__attribute__((cold, noinline)) static bool may_enter(cs_class *class, cs_object *object, uint64_t *ret_counts) {
  const uint64_t counts = __atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE);
  *ret_counts = counts;
  if ((counts & CS_COUNTS_DEINITING) == 0) return false;
  if (cs_counts_unowned(counts) == 1 || is_heap_chunk(object, class->metadata)) return true;
  atomic_fetch_add_explicit(&class->skipped_unowned, 1, memory_order_relaxed);
  return false;
}

// swift_unownedRetain, without its call where nobody else counts.
static void keep_memory(cs_object *object, uint64_t counts) {
  const uint64_t kept = counts + (UINT64_C(1) << CS_COUNTS_UNOWNED_SHIFT);
  if (counts == CS_COUNTS_LAST &&
      __atomic_compare_exchange_n(&object->counts, &counts, kept, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return;
  swift_unownedRetain(object);
}

// The deinit that is not put off. False: it has not run to its end, but goes on elsewhere.
static bool deinit_now(cs_class *class, cs_arrival *arrival) {
  cs_object *const object = arrival->object;
  keep_memory(object, arrival->counts);
  const uint64_t before = cs_counts_unowned(__atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE));
  class->destroy(object);
  arrival->counts = __atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE);
  // The dealloc at its end gives up the object's own unowned reference.
  if (cs_counts_unowned(arrival->counts) < before) return true;
  atomic_fetch_add_explicit(&class->skipped_isolated, 1, memory_order_relaxed);
  return false;
}

static void enter(cs_class *class, cs_arrival *arrival) {
  arrival->policy = atomic_load_explicit(&class->policy, memory_order_relaxed);
  // An object whose deinit is put off needs no reference of ours: nothing gives its memory back before that.
  const bool defers = arrival->policy == CS_QUARANTINE_ABSORB;
  if ((!defers && !deinit_now(class, arrival)) || !cs_queue_put(class, arrival)) {
    if (defers) {
      class->destroy(arrival->object);
    } else {
      swift_unownedRelease(arrival->object);
    }
    return;
  }
  // Unlisted meanwhile: cs_quarantine_unlist may have passed the place before it was taken.
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 0) cs_queue_empty(class);
}

static bool find(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  return cs_queue_find(class, object, ret_slot) || cs_reaper_find(object, ret_slot);
}

__attribute__((cold, noinline)) static void over_release(cs_class *class, cs_object *object, const void *frame) {
  cs_slot slot;
  cs_touch touch = {.class = class, .object = object, .frame = frame, .kind = CS_QUARANTINE_OVER_RELEASE};
  if (find(class, object, &slot)) {
    touch.slot = &slot;
    cs_hit(&touch);
    return;
  }
  // Left the quarantine this moment; then its release is nobody's business any more.
  const cs_metadata *zombie = class->zombie;
  if (!__atomic_compare_exchange_n(&object->metadata, &zombie, class->metadata, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    cs_hit(&touch);
    return;
  }
  // Made from the type of an object in quarantine: alive until now.
  class->destroy(object);
}

SWIFTCC void cs_quarantine_destroy(uint32_t index, SWIFTSELF void *pointer) {
  cs_object *const object = pointer;
  cs_class *const class = cs_classes[index];
  if (__atomic_load_n(&object->metadata, __ATOMIC_RELAXED) == class->zombie) {
    over_release(class, object, __builtin_frame_address(0));
    return;
  }
  cs_arrival arrival = {
      .object = object,
      .frame = __builtin_frame_address(0),
      .counts = __atomic_load_n(&object->counts, __ATOMIC_ACQUIRE),
  };
  if (atomic_load_explicit(&class->is_listed, memory_order_relaxed) != 0 &&
      (arrival.counts == CS_COUNTS_LAST || may_enter(class, object, &arrival.counts))) {
    enter(class, &arrival);
  } else {
    class->destroy(object);
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
  cs_class *const class = cs_is_zombie(metadata) ? cs_class_of_zombie(metadata) : cs_class_of_metadata(metadata);
  // Another object lives there already, of a class that nobody listed.
  if (class == NULL) return NULL;
  const uint64_t original = cs_metadata_words(class->metadata)[word];
  const void *const code = is_async != 0 ? async_code(original) : (const void *)(uintptr_t)original;
  cs_slot slot;
  const bool has_record = find(class, object, &slot);
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
