// Lists and unlists classes; defines the lock of the class table. Objects of a listed class go to the quarantine at
// their last release.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../Incidents/incidents.h"
#include "../Machine/clock.h"
#include "../Release/queue.h"
#include "../Release/reaper.h"
#include "../Release/stubs.h"
#include "../Runtime/safe_access.h"
#include "../Stacks/stacks.h"
#include "../Table/classes.h"
#include "../Table/fields.h"
#include "../Table/places.h"

// The maximum number of rounds of cs_quarantine_drain(), which evicts all objects of all classes. The first round can
// miss objects that other threads are just putting into slots. Later rounds evict them.
#define DRAIN_ROUNDS 100
#define IS_DRAINED   UINT32_C(2)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_prepared; // protected by the lock

static cs_slot *make_slots(void) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  // Most pages of this mapping are never used: with the default limit, the slots of a class fit into one page.
  void *const memory = mmap(NULL, CS_CLASS_SLOTS * sizeof(cs_slot), PROT_READ | PROT_WRITE, flags, -1, 0);
  return memory == MAP_FAILED ? NULL : (cs_slot *)memory + CS_EXPLORER_SLOTS;
}

static void free_slots(cs_slot *slots) {
  if (slots != NULL) munmap(slots - CS_EXPLORER_SLOTS, CS_CLASS_SLOTS * sizeof(cs_slot));
}

static void measure_fields(cs_class *class) {
  const uint32_t first = sizeof(cs_object) / 8 + cs_metadata_own_words(class->metadata);
  const uint32_t whole = class->metadata->instance_size / 8, odd_bits = class->metadata->instance_size % 8 * 8;
  class->first_field = first;
  class->filled_end = class->audited_end = whole > first ? whole : first;
  if (whole >= first) class->tail_mask = (UINT64_C(1) << odd_bits) - 1;
  if (class->audited_end > first + CS_FIELDS_AUDITED) class->audited_end = first + CS_FIELDS_AUDITED;
}

// Returns whether all objects of a class have the same size. Objects with tail-allocated elements differ in size. Only
// classes of the Swift standard library and of Foundation, and their subclasses, can have such elements, for example
// ManagedBuffer and the classes whose objects Foundation creates with _CFRuntimeCreateInstance.
static bool has_one_size(const cs_metadata *metadata) {
  static const char swift[] = "Swift.", foundation[] = "Foundation";
  for (; metadata != NULL; metadata = metadata->superclass) {
    char name[CS_NAME_BYTES];
    if (!cs_type_name(metadata->descriptor, name) || strncmp(name, swift, sizeof swift - 1) == 0 ||
        strncmp(name, foundation, sizeof foundation - 1) == 0)
      return false;
  }
  return true;
}

static cs_destroy_function *stub_of(const uint8_t *stubs, const cs_class *class) {
  return (cs_destroy_function *)(uintptr_t)(stubs + (size_t)class->index * CS_STUB_BYTES);
}

static cs_quarantine_error make_class(const cs_metadata *metadata, cs_class **ret_class) {
  const uint32_t index = cs_class_count();
  if (index == CS_QUARANTINE_CLASSES) return CS_QUARANTINE_FULL;
  if (!cs_is_writable((void *)cs_metadata_destroy(metadata))) return CS_QUARANTINE_READ_ONLY;
  cs_class *const class = aligned_alloc(_Alignof(cs_class), sizeof *class);
  if (class == NULL) return CS_QUARANTINE_NO_MEMORY;
  memset(class, 0, sizeof *class);
  class->metadata = metadata;
  class->index = index;
  class->destroy = *cs_metadata_destroy(metadata);
  measure_fields(class);
  class->has_one_size = has_one_size(metadata);
  atomic_store(&class->counts, &class->own);
  class->slots = make_slots();
  atomic_store(&class->turn, (uintptr_t)class->slots);
  if (class->slots == NULL || !cs_empties_make(class) || !cs_zombie_make(class)) {
    free((void *)(uintptr_t)class->empties);
    free_slots(class->slots);
    free(class);
    return CS_QUARANTINE_NO_MEMORY;
  }
  *cs_metadata_destroy(class->zombie) = stub_of(cs_stubs_again, class);
  cs_classes_add(class);
  *ret_class = class;
  return CS_QUARANTINE_OK;
}

static cs_quarantine_error list(const cs_metadata *metadata, cs_mode policy, uint32_t limit, cs_class **ret_shrunk) {
  cs_class *class = cs_class_of_metadata(metadata);
  if (!is_prepared) is_prepared = pthread_atfork(NULL, NULL, cs_classes_forget) == 0;
  const cs_quarantine_error error = class == NULL ? make_class(metadata, &class) : CS_QUARANTINE_OK;
  if (error != CS_QUARANTINE_OK) return error;
  if (limit == 0) limit = 1;
  if (limit > CS_QUARANTINE_LIMIT_MAX) limit = CS_QUARANTINE_LIMIT_MAX;
  const bool shrinks = limit < atomic_load(&class->limit);
  atomic_store(&class->policy, policy);
  cs_queue_resize(class, limit);
  if (shrinks) *ret_shrunk = class;
  atomic_store(&class->is_listed, 1);
  cs_publish_class(class);
  if (policy != CS_MODE_ABSORB) atomic_store(&class->keep, cs_keep_of(class, policy));
  // After this store, last releases on other threads put objects of the class into the quarantine.
  const uint8_t *const stubs = policy == CS_MODE_ABSORB ? cs_stubs_absorb : cs_stubs_now;
  __atomic_store_n(cs_metadata_destroy(metadata), stub_of(stubs, class), __ATOMIC_SEQ_CST);
  return CS_QUARANTINE_OK;
}

void cs_quarantine_show(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes) {
  pthread_mutex_lock(&lock);
  cs_publish_to(incidents, classes);
  for (uint32_t index = 0; index < cs_class_count(); index++)
    cs_publish_class(cs_classes[index]);
  pthread_mutex_unlock(&lock);
}

cs_quarantine_error cs_quarantine_list(const void *pointer, cs_mode policy, uint32_t limit) {
  const cs_metadata *const metadata = pointer;
  if (cs_quarantine_unavailable()[0] != 0) return CS_QUARANTINE_UNAVAILABLE;
  if (metadata == NULL || cs_is_zombie(metadata) || !cs_metadata_is_readable_class(metadata))
    return CS_QUARANTINE_NOT_A_CLASS;
  if (policy == CS_MODE_ABSORB && !cs_reaper_start()) return CS_QUARANTINE_NO_MEMORY;
  cs_ticks_start();
  pthread_mutex_lock(&lock);
  cs_class *shrunk = NULL;
  const cs_quarantine_error error = list(metadata, policy, limit, &shrunk);
  pthread_mutex_unlock(&lock);
  if (shrunk != NULL) cs_queue_empty(shrunk);
  return error;
}

bool cs_quarantine_unlist(const void *pointer) {
  if (cs_quarantine_is_forked()) return false;
  pthread_mutex_lock(&lock);
  cs_class *const class = cs_class_of_metadata(pointer);
  const bool is_listed = class != NULL && (atomic_load(&class->is_listed) & 1) != 0;
  if (is_listed) {
    __atomic_store_n(cs_metadata_destroy(class->metadata), class->destroy, __ATOMIC_SEQ_CST);
    // If a last release is in progress on another thread, that thread either reads this value, or cs_queue_empty finds
    // its object in a slot.
    atomic_store(&class->is_listed, 0);
    cs_class_close(class);
    cs_publish_class(class);
  }
  pthread_mutex_unlock(&lock);
  if (is_listed) cs_queue_empty(class);
  return is_listed;
}

bool cs_quarantine_class(uint32_t index, cs_quarantine_counts *ret_counts) {
  if (index >= cs_class_count()) return false;
  cs_class *const class = cs_classes[index];
  const volatile cs_ring_class *const counts = atomic_load(&class->counts);
  *ret_counts = (cs_quarantine_counts){
      .metadata = class->metadata,
      .policy = atomic_load(&class->policy),
      .limit = atomic_load(&class->limit),
      .is_listed = atomic_load(&class->is_listed) & 1,
      .instance_bytes = class->metadata->instance_size,
      .hooked_methods = class->hooked,
      .unhooked_methods = class->unhooked,
      .admitted = counts->admitted,
      .evicted = counts->evicted,
      .hits = counts->hits,
      .skipped_budget = counts->skipped_budget,
      .skipped_busy = counts->skipped_busy,
      .skipped_unowned = counts->skipped_unowned,
      .skipped_isolated = counts->skipped_isolated,
  };
  return true;
}

// Pauses or resumes the admission of objects to the quarantine. Without a pause, a drain might never end while other
// threads release objects.
static void pause_all(bool is_paused) {
  pthread_mutex_lock(&lock);
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    if (is_paused) {
      uint32_t listed = 1;
      atomic_compare_exchange_strong(&cs_classes[index]->is_listed, &listed, 1 | IS_DRAINED);
      cs_class_close(cs_classes[index]);
    } else {
      atomic_fetch_and(&cs_classes[index]->is_listed, ~IS_DRAINED);
    }
  }
  pthread_mutex_unlock(&lock);
}

void cs_quarantine_drain(void) {
  if (cs_quarantine_is_forked()) return;
  pause_all(true);
  for (uint32_t round = 0; round < DRAIN_ROUNDS; round++) {
    uint64_t admitted = 0, evicted = 0;
    for (uint32_t index = 0; index < cs_class_count(); index++)
      cs_queue_empty(cs_classes[index]);
    cs_reaper_wait();
    for (uint32_t index = 0; index < cs_class_count(); index++) {
      evicted += cs_classes[index]->counts->evicted;
      admitted += cs_classes[index]->counts->admitted;
    }
    if (evicted >= admitted) break;
  }
  pause_all(false);
}

void cs_quarantine_set_budget(uint64_t bytes) {
  if (bytes > INT64_MAX / 2) bytes = INT64_MAX / 2;
  atomic_store(&cs_reaper_most, bytes / (bytes < 1 << 20 ? CS_WAITING_SHARE_SMALL : CS_WAITING_SHARE));
  const uint64_t before = atomic_exchange(&cs_budget, bytes);
  atomic_fetch_add(&cs_budget_left, (int64_t)bytes - (int64_t)before);
  for (uint32_t index = 0; index < cs_class_count(); index++)
    cs_class_close(cs_classes[index]);
}

uint64_t cs_quarantine_bytes(void) {
  const int64_t bytes = (int64_t)atomic_load(&cs_budget) - atomic_load(&cs_budget_left);
  return (bytes < 0 ? 0 : (uint64_t)bytes) + atomic_load(&cs_reaper_bytes);
}

void cs_quarantine_set_stacks(bool is_on) {
  atomic_store(&cs_stacks_are_on, is_on ? 1 : 0);
  // A forked child must not take the lock, which a thread that exists only in the parent can hold. The child also does
  // not need to, because its quarantine admits no objects.
  if (cs_quarantine_is_forked()) return;
  pthread_mutex_lock(&lock);
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    cs_class *const class = cs_classes[index];
    const cs_mode policy = atomic_load(&class->policy);
    if (policy != CS_MODE_ABSORB) atomic_store(&class->keep, cs_keep_of(class, policy));
  }
  pthread_mutex_unlock(&lock);
}

#endif
