// Checks whether the Swift runtime of this process has the ABI on which the quarantine relies.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>

#include "../Machine/libc.h"
#include "../Runtime/safe_access.h"
#include "../Table/classes.h"

extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));

extern void *swift_allocObject(const cs_metadata *metadata, size_t size, size_t align_mask);
extern void swift_release(void *object);
extern void *swift_weakInit(void *reference, void *object);
extern void swift_weakDestroy(void *reference);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// Ordering: written once, before is_checked is set.
static const char *unavailable = "cs_quarantine_check was not called";
static _Atomic uint32_t is_checked;

static const char *sanitizer(void) {
  if (__asan_init != NULL || __hwasan_init != NULL)
    return "the address sanitizer has its own quarantine of freed memory";
  if (__tsan_init != NULL) return "the thread sanitizer does not detect the quarantine's ordering";
  return NULL;
}

// The state of a test of the runtime's object layout, with objects of a class that the program does not use. The test
// checks three facts; if one of them were wrong, the quarantine would corrupt memory.
// 1. A last release calls the function in the word before the metadata's value witnesses, with the object as self.
// 2. When the runtime calls this function, the counts contain the flag "deiniting" at the expected bit.
// 3. If an object has a weak reference, its counts are in a side table, to which word 1 of the object points.
// Precondition: the caller holds the lock, because only one test can run at a time.
static cs_destroy_function *original;
static const void *expected;
static bool is_weak;
static const char *found;

static const char *judge(cs_object *object) {
  const uint64_t counts = __atomic_load_n(&object->counts, __ATOMIC_ACQUIRE);
  if (!is_weak)
    return counts == CS_COUNTS_LAST ? NULL : "an object has unexpected reference counts at its last release";
  if ((counts & CS_COUNTS_SIDE_TABLE) != CS_COUNTS_SIDE_TABLE)
    return "a weak reference does not move an object's reference counts to a side table";
  uint64_t side[3] = {0};
  const uint64_t *const word = cs_object_counts(object);
  // Reads the side table with a system call, because its assumed address can be invalid.
  if (!cs_read_at(word - 2, side, sizeof side) || side[0] != (uintptr_t)object)
    return "the side table of an object is not at the expected address";
  if ((side[2] & CS_COUNTS_DEINITING) == 0 || cs_counts_unowned(side[2]) != 1 || cs_counts_strong(side[2]) != 0)
    return "an object's side table has unexpected reference counts";
  return NULL;
}

static SWIFTCC void destroy_probe(SWIFTSELF void *object) {
  found = object == expected ? judge(object) : "a last release does not pass its object in the expected register";
  if (object == expected) original(object);
}

static const char *release_one(const cs_metadata *metadata) {
  void *reference[2] = {NULL, NULL};
  void *const object = swift_allocObject(metadata, metadata->instance_size, metadata->instance_align_mask);
  expected = object;
  found = "a last release does not call the destroy function at the expected offset";
  if (is_weak) swift_weakInit((void *)reference, object);
  swift_release(object);
  if (is_weak) swift_weakDestroy((void *)reference);
  return found;
}

static const char *probe_layout(const cs_metadata *metadata) {
  cs_destroy_function **const word = cs_metadata_destroy(metadata);
  if (!cs_is_writable((void *)word)) return "class metadata cannot be written";
  original = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  const char *reason = NULL;
  __atomic_store_n(word, destroy_probe, __ATOMIC_SEQ_CST);
  for (uint32_t round = 0; round < 2 && reason == NULL; round++) {
    is_weak = round != 0;
    reason = release_one(metadata);
  }
  __atomic_store_n(word, original, __ATOMIC_SEQ_CST);
  return reason;
}

static const char *mismatch(const cs_metadata *metadata, cs_object *object, uint64_t size) {
  uint64_t word = 0;
  if (!cs_read_at(&object->counts, &word, sizeof word)) return "this process may not use process_vm_readv";
  if (!cs_metadata_is_readable_class(metadata)) return "class metadata has an unexpected layout";
  if (metadata->instance_size != size) return "the instance size is not at the expected offset";
  if (object->metadata != metadata) return "an object does not begin with its metadata";
  const uint64_t before = object->counts;
  // The expected counts are one unowned reference, the flag PureSwiftDealloc, and the strong references that the caller
  // holds.
  if ((before & ~CS_COUNTS_STRONG_MASK) != 3 || cs_counts_strong(before) > 16)
    return "a new object has unexpected reference counts";
  swift_unownedRetain(object);
  const uint64_t retained = object->counts;
  swift_unownedRelease(object);
  if (cs_counts_unowned(retained) != 2 || object->counts != before)
    return "the unowned count is not at the expected offset";
  return probe_layout(metadata);
}

bool cs_quarantine_check(const void *probe, const void *instance, uint64_t probe_size) {
  pthread_mutex_lock(&lock);
  if (atomic_load(&is_checked) == 0) {
    const char *reason = sanitizer();
    if (reason == NULL) {
      reason = mismatch(probe, (cs_object *)(uintptr_t)instance, probe_size);
      cs_libc_check();
    }
    unavailable = reason == NULL ? "" : reason;
    atomic_store(&is_checked, 1);
  }
  const bool result = unavailable[0] == 0;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *cs_quarantine_unavailable(void) {
  if (cs_quarantine_is_forked()) return "this is a forked child of a process with protected classes";
  return atomic_load(&is_checked) != 0 ? unavailable : "the quarantine has not checked Swift's runtime yet";
}

#endif
