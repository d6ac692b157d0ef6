// The facts of Swift's ABI that all this rests on, checked against the runtime that is there.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../Machine/libc_x86_64.h"
#include "../quarantine.h"

extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// Written once, before is_checked.
static const char *unavailable = "cs_quarantine_check was not called";
static _Atomic uint32_t is_checked;

static const char *sanitizer(void) {
  if (__asan_init != NULL || __hwasan_init != NULL) return "the address sanitizer keeps freed memory itself";
  if (__tsan_init != NULL) return "the thread sanitizer does not see the quarantine's order";
  return NULL;
}

static const char *mismatch(const cs_metadata *metadata, cs_object *object, uint64_t size) {
  uint64_t word = 0;
  if (!cs_read_at(&object->counts, &word, sizeof word)) return "this process may not use process_vm_readv";
  if (!cs_metadata_is_readable_class(metadata)) return "class metadata has another layout";
  if (metadata->instance_size != size) return "the instance size is not where it was";
  if (object->metadata != metadata) return "an object does not begin with its metadata";
  const uint64_t before = object->counts;
  // One unowned reference, the mark of an object that Swift frees itself, and as many strong ones as the caller holds.
  if ((before & ~CS_COUNTS_STRONG_MASK) != 3 || cs_counts_strong(before) > 16)
    return "a fresh object's reference counts look different";
  swift_unownedRetain(object);
  const uint64_t retained = object->counts;
  swift_unownedRelease(object);
  if (cs_counts_unowned(retained) != 2 || object->counts != before) return "the unowned count is not where it was";
  return cs_layout_probe(metadata);
}

static bool is_chunk(size_t size, uint64_t chunk) {
  void *const memory = swift_slowAlloc(size, 15);
  if (memory == NULL) return false;
  const volatile uint64_t *const header = (const volatile uint64_t *)((uintptr_t)memory - 8);
  const bool result = (*header & ~UINT64_C(7)) == chunk && malloc_usable_size(memory) == chunk - 8;
  swift_slowDealloc(memory, size, 15);
  return result;
}

bool cs_quarantine_check(const void *probe, const void *instance, uint64_t probe_size) {
  pthread_mutex_lock(&lock);
  if (atomic_load(&is_checked) == 0) {
    const char *reason = sanitizer();
    if (reason == NULL) {
      reason = mismatch(probe, (cs_object *)(uintptr_t)instance, probe_size);
      cs_heap_is_glibc = is_chunk(24, 32) && is_chunk(1000, 1008);
#ifdef __GLIBC__
      cs_libc_is_glibc = cs_libc_thread() == (uint32_t)syscall(SYS_gettid);
#endif
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
