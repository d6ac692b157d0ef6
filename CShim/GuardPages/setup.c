// Enables and configures the slots (pages.h), and answers queries about them. malloc, free and signal handlers do not
// call these functions.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "Signal/pages.h"
#include "class_table.h"
#include "cs_shim.h"
#include "interpose.h"

#define SLOTS_DEFAULT  256
#define ONE_IN_DEFAULT 100

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t wanted_slots = SLOTS_DEFAULT;
static uint32_t wanted_one_in = ONE_IN_DEFAULT;
static uint32_t most_slots; // the largest value that wanted_slots ever had
static bool has_fork_handler;

// Returns the name of the file that contains the next malloc, or NULL if this file is libc.
static const char *foreign_allocator(void) {
  struct dl_find_object of_malloc, of_libc;
  void *const next = cs_pages_next_malloc();
  if (next == NULL || _dl_find_object(next, &of_malloc) != 0) return "an unknown file";
  if (_dl_find_object((void *)gnu_get_libc_version, &of_libc) != 0) return NULL;
  if (of_malloc.dlfo_link_map == of_libc.dlfo_link_map) return NULL;
  const char *const path = of_malloc.dlfo_link_map->l_name;
  const char *const slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

const char *cs_pages_unavailable(void) {
  // All calls in a process write the same name, so a concurrent reader always reads the correct characters.
  static char foreign[128];
  if (!cs_pages_interposes) return "a sanitizer replaces malloc";
  cs_pages_resolve();
  if (dlsym(RTLD_DEFAULT, "malloc") != (void *)cs_pages_own_malloc) return "another malloc takes precedence";
  const char *const file = foreign_allocator();
  if (file != NULL) {
    (void)snprintf(foreign, sizeof foreign, "the program uses the malloc of %s", file);
    return foreign;
  }
  if (!cs_shim_is_started()) return "the shield is not started, and guard pages need its signal handler";
  if (!cs_shim_handles_faults()) return "another handler has replaced the shield's for SIGSEGV";
  return "";
}

// Puts into the pool all slots that can be allocated and are not in the pool, in ascending order. Precondition: the
// caller holds the lock.
static void pool_all(void) {
  for (uint32_t index = 0; index < wanted_slots; index++) {
    cs_page_slot *const slot = &cs_page_slots[index];
    const uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    if ((state != CS_PAGE_UNUSED && state != CS_PAGE_FREED && state != CS_PAGE_IDLE) || cs_page_is_spent(index))
      continue;
    if (!cs_page_swap(&slot->is_pooled, 0, 1)) continue;
    if (!cs_page_pool_put(index)) __atomic_store_n(&slot->is_pooled, 0, __ATOMIC_RELEASE);
  }
}

// Returns the memory of a slot above the configured number to the system. Keeps the description of the freed object: if
// the program accesses the page later, the incident needs it.
static void retire(uint32_t index) {
  cs_page_slot *const slot = &cs_page_slots[index];
  const uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
  __atomic_store_n(&slot->is_pooled, 0, __ATOMIC_RELEASE);
  if ((state != CS_PAGE_FREED && state != CS_PAGE_IDLE) || !cs_page_swap(&slot->state, state, CS_PAGE_BUSY)) return;
  const bool is_closed = state == CS_PAGE_FREED || cs_page_protect(cs_page_of_slot(index), false);
  if (is_closed) cs_page_drop(cs_page_of_slot(index));
  __atomic_store_n(&slot->state, is_closed ? CS_PAGE_FREED : CS_PAGE_IDLE, __ATOMIC_RELEASE);
}

// Removes from the pool all slots above the configured number. Precondition: the caller holds the lock. Other threads
// can use the pool at the same time. The loop puts usable slots back at the end of the pool. It ends nevertheless,
// because it runs at most CS_PAGES_SLOT_LIMIT times.
static void shrink_pool(void) {
  for (uint32_t count = 0; count < CS_PAGES_SLOT_LIMIT; count++) {
    uint32_t index = 0;
    if (!cs_page_pool_take(&index)) return;
    if (index >= wanted_slots) {
      retire(index);
    } else if (!cs_page_pool_put(index)) {
      __atomic_store_n(&cs_page_slots[index].is_pooled, 0, __ATOMIC_RELEASE);
    }
  }
}

static void apply(void) {
  if (cs_page_slots == NULL) return;
  if (wanted_slots > most_slots) most_slots = wanted_slots;
  const bool shrinks = wanted_slots < __atomic_load_n(&cs_page_slot_target, __ATOMIC_RELAXED);
  __atomic_store_n(&cs_page_slot_target, wanted_slots, __ATOMIC_SEQ_CST);
  __atomic_store_n(&cs_page_one_in, wanted_one_in, __ATOMIC_RELAXED);
  // release: pairs with the acquire load in cs_page_should_sample().
  __atomic_fetch_add(&cs_page_sampling_epoch, 1, __ATOMIC_RELEASE);
  if (shrinks) shrink_pool();
  pool_all();
}

void cs_pages_configure(uint32_t slots, uint32_t one_in) {
  pthread_mutex_lock(&lock);
  wanted_slots = slots > CS_PAGES_SLOT_LIMIT ? CS_PAGES_SLOT_LIMIT : slots;
  wanted_one_in = one_in == 0 ? 1 : one_in;
  apply();
  pthread_mutex_unlock(&lock);
}

// A forked child has only one thread. A slot that another thread of the parent owned at the fork stays unusable. The
// child inherits the slots and the signal handler, and its counters start at 0.
static void child_after_fork(void) {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  lock = fresh;
  if (cs_page_slots == NULL) return;
  cs_page_pool_clear();
  // The loop includes one more guard page than slots: the one after the last slot that was ever configured.
  for (uint32_t index = 0; index <= most_slots; index++) {
    cs_page_slot *const slot = &cs_page_slots[index];
    if (slot->state == CS_PAGE_BUSY) slot->state = CS_PAGE_LOST;
    if (slot->guard == CS_GUARD_BUSY) slot->guard = CS_GUARD_OPENED;
    if (slot->is_pooled != 0) slot->is_pooled = 0;
  }
  pool_all();
  memset(&cs_page_counts, 0, sizeof cs_page_counts);
  memset(cs_page_incidents, 0, sizeof cs_page_incidents);
  cs_page_incidents_lost = 0;
  for (uint32_t index = 0; index < cs_page_class_count; index++)
    cs_page_classes[index].incidents = 0;
}

static void *map(size_t bytes, int rights) {
  void *const memory = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

// Precondition: the caller holds the lock.
static bool start(void) {
  if (cs_page_slots != NULL) return true;
  if (!has_fork_handler) has_fork_handler = pthread_atfork(NULL, NULL, child_after_fork) == 0;
  if (!has_fork_handler) return false;
  // A test may have set a larger size before. The slots work with each multiple of the kernel's page size.
  if (cs_page_bytes == 0) cs_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  const size_t slots_bytes = (CS_PAGES_SLOT_LIMIT + 1) * sizeof(cs_page_slot);
  cs_page_slot *const slots = map(slots_bytes, PROT_READ | PROT_WRITE);
  void *const pages = map(CS_PAGES_MAP_BYTES, PROT_NONE);
  if (slots == NULL || pages == NULL) {
    if (slots != NULL) munmap(slots, slots_bytes);
    if (pages != NULL) munmap(pages, CS_PAGES_MAP_BYTES);
    return false;
  }
  // Excludes the slots from core dumps. Otherwise, each core dump would contain the whole mapping.
  madvise(pages, CS_PAGES_MAP_BYTES, MADV_DONTDUMP);
  uint64_t frames[CS_PAGES_FRAMES];
  // Unwinds once, because the first unwind makes the loader resolve the functions that unwinding calls. The loader can
  // call malloc while it resolves a function, so it must not do this for the first time inside malloc.
  cs_shim_stack_here(0, frames, CS_PAGES_FRAMES);
  cs_page_slots = slots;
  // Stores cs_pages_start before cs_pages_map_bytes. As long as cs_pages_map_bytes is 0, free treats no address as part
  // of a slot.
  __atomic_store_n(&cs_pages_start, (uint64_t)(uintptr_t)pages, __ATOMIC_RELEASE);
  __atomic_store_n(&cs_pages_map_bytes, CS_PAGES_MAP_BYTES, __ATOMIC_RELEASE);
  cs_shim_set_fault_function(cs_page_fault);
  apply();
  return true;
}

static cs_pages_error list(const void *metadata, uint32_t bytes, const char *name, uint32_t name_bytes,
                           cs_mode policy) {
  if (!start()) return CS_PAGES_NO_MEMORY;
  cs_page_class *class = cs_page_class_find(metadata);
  if (class == NULL) class = cs_page_class_enter(metadata, bytes, name, name_bytes);
  if (class == NULL) return CS_PAGES_FULL;
  cs_page_class_list(class, policy);
  return CS_PAGES_OK;
}

cs_pages_error cs_pages_list(const void *metadata, uint32_t bytes, uint32_t alignment, const char *name,
                             uint32_t name_bytes, cs_mode policy) {
  if (cs_pages_unavailable()[0] != 0) return CS_PAGES_UNAVAILABLE;
  if (bytes < 16 || bytes > CS_PAGES_OBJECT_LIMIT || alignment > 16) return CS_PAGES_TOO_LARGE;
  pthread_mutex_lock(&lock);
  const cs_pages_error error = list(metadata, bytes, name, name_bytes, policy);
  pthread_mutex_unlock(&lock);
  return error;
}

bool cs_pages_unlist(const void *metadata) {
  pthread_mutex_lock(&lock);
  cs_page_class *const class = cs_page_class_find(metadata);
  const bool is_listed = class != NULL && class->is_listed != 0;
  if (is_listed) cs_page_class_unlist(class);
  pthread_mutex_unlock(&lock);
  return is_listed;
}

void cs_pages_count(cs_pages_counts *ret_counts) {
  pthread_mutex_lock(&lock);
  const volatile cs_pages_counts *const counts = &cs_page_counts;
  *ret_counts = (cs_pages_counts){.slots = wanted_slots,
                                  .one_in = wanted_one_in,
                                  .allocated = counts->allocated,
                                  .guarded = counts->guarded,
                                  .others = counts->others,
                                  .no_slot = counts->no_slot,
                                  .no_page = counts->no_page,
                                  .unarmed = counts->unarmed,
                                  .incidents = counts->incidents,
                                  .opened = counts->opened};
  pthread_mutex_unlock(&lock);
}

bool cs_pages_incident_at(uint32_t index, cs_ring_incident *ret_incident) {
  uint32_t passed = 0;
  for (uint32_t place = 0; place < CS_PAGES_INCIDENT_LIMIT; place++) {
    const cs_ring_incident *const entry = &cs_page_incidents[place];
    if (__atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE) == 0 || passed++ != index) continue;
    *ret_incident = *entry;
    ret_incident->count = __atomic_load_n(&entry->count, __ATOMIC_RELAXED);
    return true;
  }
  return false;
}

uint64_t cs_pages_incidents_lost(void) {
  return __atomic_load_n(&cs_page_incidents_lost, __ATOMIC_RELAXED);
}

#endif
