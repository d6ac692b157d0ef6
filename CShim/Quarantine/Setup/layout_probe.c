// Three facts of the runtime whose failure would corrupt memory, tried with objects of a class that nobody else uses: a
// last release calls the word before metadata's value witnesses with the object as self, its counts say "deiniting"
// where they are expected to, and those of an object that was referred to weakly stand in a side table that its word
// leads to.
#include "../quarantine.h"

extern void *swift_allocObject(const cs_metadata *metadata, size_t size, size_t align_mask);
extern void swift_release(void *object);
extern void *swift_weakInit(void *reference, void *object);
extern void swift_weakDestroy(void *reference);

// One trial at a time, by one thread: under the lock of cs_quarantine_check.
static cs_destroy_function *original;
static const void *expected;
static bool is_weak;
static const char *found;

static const char *judge(cs_object *object) {
  const uint64_t counts = __atomic_load_n(&object->counts, __ATOMIC_ACQUIRE);
  if (!is_weak) return counts == CS_COUNTS_LAST ? NULL : "an object at its last release has other reference counts";
  if ((counts & CS_COUNTS_SIDE_TABLE) != CS_COUNTS_SIDE_TABLE) return "a weak reference leaves no mark in an object";
  uint64_t side[3] = {0};
  const uint64_t *const word = cs_object_counts(object);
  // By a system call: where the table is, is what is being asked.
  if (!cs_read_at(word - 2, side, sizeof side) || side[0] != (uintptr_t)object)
    return "the side table of an object is not where it was";
  if ((side[2] & CS_COUNTS_DEINITING) == 0 || cs_counts_unowned(side[2]) != 1 || cs_counts_strong(side[2]) != 0)
    return "an object's side table has other reference counts";
  return NULL;
}

static SWIFTCC void destroy_on_trial(SWIFTSELF void *object) {
  found = object == expected ? judge(object) : "a last release does not name its object where it did";
  if (object == expected) original(object);
}

static const char *release_one(const cs_metadata *metadata) {
  void *reference[2] = {NULL, NULL};
  void *const object = swift_allocObject(metadata, metadata->instance_size, metadata->instance_align_mask);
  expected = object;
  found = "a last release does not call the destroy function where it was";
  if (is_weak) swift_weakInit((void *)reference, object);
  swift_release(object);
  if (is_weak) swift_weakDestroy((void *)reference);
  return found;
}

const char *cs_layout_probe(const cs_metadata *metadata) {
  cs_destroy_function **const word = cs_metadata_destroy(metadata);
  if (!cs_is_writable((void *)word)) return "class metadata cannot be written";
  original = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  const char *reason = NULL;
  __atomic_store_n(word, destroy_on_trial, __ATOMIC_SEQ_CST);
  for (uint32_t round = 0; round < 2 && reason == NULL; round++) {
    is_weak = round != 0;
    reason = release_one(metadata);
  }
  __atomic_store_n(word, original, __ATOMIC_SEQ_CST);
  return reason;
}
