// The functions that the assembly stubs (stubs.h) call. They handle the last release of an object of a listed class,
// and accesses to an object in quarantine. A class is listed while its objects go to the quarantine: instead of being
// freed, an object gets a slot, and an access to it is detected as a use-after-free.
//
// A last release first claims the object: it increases the unowned count by a number (CS_CLAIM) that a program's own
// references never reach. Any further last release, also on another thread at the same time, detects the claim until
// the object's memory is freed, and is recorded as an over-release.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../Incidents/incidents.h"
#include "../Table/classes.h"
#include "queue.h"
#include "stubs.h"

_Static_assert(offsetof(cs_class, destroy) == 0 && offsetof(cs_class, keep) == 8, "as in the stubs");
_Static_assert(CS_COUNTS_LAST == 0x100000003 && CS_COUNTS_LAST + CS_COUNTS_CLAIM == 0x102000003 &&
                   CS_COUNTS_DONE == 0x102000001 && offsetof(cs_object, counts) == 8,
               "the stubs have the same numbers");
_Static_assert(offsetof(cs_class, turn) == 64, "the fields before `turn` are in one cache line");

// Variants of the function that puts an object into a slot of its class, under the policies zero and diagnose
// (cs_mode). They differ in whether they record the stack of the release, and in whether the fields are exactly two
// words. The two simplest variants are in assembly on x86-64 (keep_x86_64.S), and in keep_aarch64.c on AArch64.
#define KEEP(name, policy, takes_stack, is_pair)                                                                       \
  static SWIFTCC void name(uint64_t u0, uint64_t u1, uint64_t u2, cs_class *class, SWIFTSELF void *object) {           \
    (void)u0, (void)u1, (void)u2;                                                                                      \
    cs_queue_put(class, object, policy, takes_stack, is_pair, __builtin_frame_address(0));                             \
  }
KEEP(zero_any, CS_MODE_ZERO, false, false)
KEEP(zero_any_stack, CS_MODE_ZERO, true, false)
KEEP(zero_pair_stack, CS_MODE_ZERO, true, true)
KEEP(diagnose_any, CS_MODE_DIAGNOSE, false, false)
KEEP(diagnose_any_stack, CS_MODE_DIAGNOSE, true, false)
KEEP(diagnose_pair_stack, CS_MODE_DIAGNOSE, true, true)

cs_keep_function *cs_keep_of(const cs_class *class, cs_mode policy) {
  static cs_keep_function *const ways[2][2][2] = {
      {{zero_any, cs_keep_zero_pair}, {zero_any_stack, zero_pair_stack}},
      {{diagnose_any, cs_keep_diagnose_pair}, {diagnose_any_stack, diagnose_pair_stack}},
  };
  // The variants for two words do not check the size of an object, so they are used only if all objects of the class
  // have the same size.
  const bool is_pair = class->first_field == 2 && class->filled_end == 4 && class->tail_mask == 0 &&
                       class->has_one_size && (policy == CS_MODE_DIAGNOSE || class->empties == NULL);
  return ways[policy == CS_MODE_DIAGNOSE][atomic_load(&cs_stacks_are_on) != 0][is_pair];
}

// Returns whether the deinit of a claimed object has finished. A finished deinit has released the unowned reference
// that the object holds to itself, so only the claim is left: no other thread can release that reference, and an object
// with further unowned references is not claimed.
static bool has_ended(cs_class *class, cs_object *object) {
  if (cs_counts_unowned(__atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE)) == CS_CLAIM) return true;
  // If the deinit has not finished, it either continues on an actor, or has stored a new reference to the object.
  CS_COUNT(class, skipped_isolated);
  return false;
}

// Puts a claimed object into the quarantine. Precondition: under the policies zero and diagnose, the object's deinit
// was called.
static void put(cs_class *class, cs_object *object, cs_mode policy, const void *frame) {
  if (policy != CS_MODE_ABSORB && !has_ended(class, object)) {
    cs_claim_end(class, object);
    return;
  }
  cs_queue_put_slowly(class, object, policy, frame);
}

// Finds the record of an object's last release. The object is in a slot, waits for the reaper, or is the previous
// object of a slot, which another thread is about to free. The record of a previous object (freed-object record) is
// used only if the object points to the zombie, the metadata copy for objects in quarantine: otherwise, the record can
// belong to an earlier object at the same address.
static bool find_record(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  return cs_table_find(class, object, ret_slot) || cs_reaper_find(object, ret_slot) ||
         (__atomic_load_n(&object->metadata, __ATOMIC_ACQUIRE) == class->zombie &&
          cs_table_find_past(class, object, ret_slot));
}

__attribute__((cold, noinline)) static void over_release(cs_class *class, cs_object *object, const void *frame) {
  cs_slot slot;
  cs_use use = {.class = class, .object = object, .frame = frame, .kind = CS_QUARANTINE_OVER_RELEASE};
  if (find_record(class, object, &slot)) use.slot = &slot;
  cs_hit(&use);
}

// The slow path of a last release: handles an object that has weak or unowned references, an object on the stack, and
// an object that is already claimed.
__attribute__((cold, noinline)) static void destroy_slowly(cs_class *class, cs_object *object, cs_mode policy,
                                                           const void *frame) {
  uint64_t *const word = cs_object_counts(object);
  uint64_t counts = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  do {
    if (cs_counts_unowned(counts) >= CS_CLAIM) {
      over_release(class, object, frame);
      return;
    }
    const bool is_listed = atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1;
    const bool is_last = (counts & CS_COUNTS_DEINITING) != 0;
    // An object with further unowned references is not put into the quarantine, because another thread can use one of
    // these references until the deinit ends. An object on the stack has the same reference counts as an object with a
    // further unowned reference.
    if (!is_listed || !is_last || cs_counts_unowned(counts) != 1) {
      if (is_listed) CS_COUNT(class, skipped_unowned);
      class->destroy(object);
      return;
    }
  } while (
      !__atomic_compare_exchange_n(word, &counts, counts + CS_COUNTS_CLAIM, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  if (policy != CS_MODE_ABSORB) class->destroy(object);
  put(class, object, policy, frame);
}

// Handles the last release of an object under the policy absorb. If the object has no weak or unowned references, a
// single compare-and-swap of its counts checks this and claims the object.
SWIFTCC void cs_quarantine_absorb(cs_class *class, SWIFTSELF void *pointer) {
  cs_object *const object = pointer;
  const void *const frame = __builtin_frame_address(0);
  uint64_t counts = CS_COUNTS_LAST;
  if (!CS_USUALLY(__atomic_compare_exchange_n(&object->counts, &counts, CS_COUNTS_LAST + CS_COUNTS_CLAIM, false,
                                              __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))) {
    destroy_slowly(class, object, CS_MODE_ABSORB, frame);
  } else if (CS_USUALLY(atomic_load_explicit(&cs_stacks_are_on, memory_order_relaxed) == 0)) {
    cs_queue_put(class, object, CS_MODE_ABSORB, false, false, frame);
  } else {
    cs_queue_put(class, object, CS_MODE_ABSORB, true, false, frame);
  }
}

SWIFTCC void cs_quarantine_unclaimed(cs_class *class, SWIFTSELF void *pointer) {
  const cs_mode policy = atomic_load(&class->policy);
  destroy_slowly(class, pointer, policy == CS_MODE_ABSORB ? CS_MODE_ZERO : policy, __builtin_frame_address(0));
}

SWIFTCC void cs_quarantine_referred(uint64_t u0, uint64_t u1, uint64_t u2, cs_class *class, SWIFTSELF void *pointer) {
  (void)u0, (void)u1, (void)u2;
  const cs_mode policy = atomic_load(&class->policy);
  put(class, pointer, policy == CS_MODE_ABSORB ? CS_MODE_ZERO : policy, __builtin_frame_address(0));
}

// Handles the last release of an object whose metadata is a zombie: the copy of the class's metadata to which objects
// in quarantine point.
SWIFTCC void cs_quarantine_again(cs_class *class, SWIFTSELF void *pointer) {
  cs_object *const object = pointer;
  if (cs_counts_unowned(__atomic_load_n(cs_object_counts(object), __ATOMIC_ACQUIRE)) >= CS_CLAIM) {
    over_release(class, object, __builtin_frame_address(0));
    return;
  }
  // This object never was in quarantine. The program created it from the metadata of an object in quarantine, for
  // example with type(of:).
  const cs_metadata *zombie = class->zombie;
  if (__atomic_compare_exchange_n(&object->metadata, &zombie, class->metadata, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    class->destroy(object);
}

// Returns the address of the code to which an async function pointer refers.
static const void *async_code(uint64_t word) {
  const int32_t *const pointer = (const int32_t *)(uintptr_t)word;
  return (const uint8_t *)pointer + *pointer;
}

// Handles a method call on an object in quarantine. Returns the code at which the call continues, or NULL if the call
// must return zero. `word` is the index of the method in the metadata, and `context` the AsyncContext of an async call.
const void *cs_quarantine_call(cs_object *object, uint32_t word, uint32_t is_async, const void *frame,
                               uint64_t context) {
  const cs_metadata *const metadata = __atomic_load_n(&object->metadata, __ATOMIC_ACQUIRE);
  // If the object has left the quarantine since the call began, another object can be at this address, which possibly
  // does not have the called method.
  if (!cs_is_zombie(metadata)) return NULL;
  cs_class *const class = cs_class_of_zombie(metadata);
  const uint64_t original = cs_metadata_words(class->metadata)[word];
  const void *const code = is_async != 0 ? async_code(original) : (const void *)(uintptr_t)original;
  cs_slot slot;
  const bool has_record = find_record(class, object, &slot);
  const cs_use use = {
      .class = class,
      .object = object,
      .slot = has_record ? &slot : NULL,
      .method = code,
      .frame = frame,
      .context = is_async != 0 ? context : 0,
      .word = word,
      .kind = is_async != 0 ? CS_QUARANTINE_ASYNC_CALL : CS_QUARANTINE_CALL,
  };
  cs_hit(&use);
  const bool yields = (class->yields[word / 64] >> word % 64 & 1) != 0;
  const cs_mode policy = has_record ? cs_slot_policy(&slot) : atomic_load(&class->policy);
  return policy == CS_MODE_ZERO && !yields ? NULL : code;
}

#endif
