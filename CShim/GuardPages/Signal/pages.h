// The declarations that the files of the guard pages share. A slot is a page for one sampled object; there is an
// inaccessible guard page on each side of it. The pool is the queue of free slots. All functions in Signal/ can run in
// a signal handler, because a signal handler can call malloc and free. They take no lock, allocate no memory, and wait
// for another thread only for a limited time.
//
//   trap page | guard | slot 0 | guard | slot 1 | guard | … | slot n-1 | guard
//
// An object is at the end of its page, aligned to 16 bytes. An access past the end of the object hits the guard page.
#ifndef CS_PAGES_H
#define CS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_guard_pages.h"
#include "cs_ring.h"
#include "cs_signal_safe.h"

// The size of a slot or of a guard page, which is the kernel's page size: on AArch64 4, 16 or 64 KiB.
#define CS_PAGES_BYTES       cs_page_bytes
#define CS_PAGES_SLOT_BYTES  (2 * CS_PAGES_BYTES)
#define CS_PAGES_FIRST_GUARD CS_PAGES_BYTES // after the trap page
#define CS_PAGES_MAP_BYTES   (2 * CS_PAGES_BYTES + CS_PAGES_SLOT_LIMIT * CS_PAGES_SLOT_BYTES)
#define CS_PAGES_FRAMES      CS_RING_INCIDENT_FRAME_LIMIT

// The state of a slot. The thread that sets the state to BUSY owns the other fields of the slot.
typedef enum cs_page_state : uint32_t {
  CS_PAGE_UNUSED = 0,    // never allocated: inaccessible
  CS_PAGE_BUSY = 1,      // a thread owns the slot and is changing it
  CS_PAGE_LIVE = 2,      // contains an allocation: accessible
  CS_PAGE_FREED = 3,     // freed: inaccessible; the fields still describe the freed object
  CS_PAGE_IDLE = 4,      // freed, but not guarded: accessible
  CS_PAGE_OPENED = 5,    // accessed after the free, then made accessible: never used again
  CS_PAGE_CONDEMNED = 6, // a fatal access hit it: inaccessible, never used again
  CS_PAGE_LOST = 7,      // only in a forked child: a thread of the parent owned the slot at the fork
} cs_page_state;

// The state of the guard page in front of a slot, and of the guard page after the last slot.
typedef enum cs_page_guard : uint32_t {
  CS_GUARD_CLOSED = 0,
  CS_GUARD_BUSY = 1,
  CS_GUARD_OPENED = 2,
} cs_page_guard;

typedef struct cs_page_slot {
  uint32_t state;        // atomic: cs_page_state
  uint32_t guard;        // atomic: cs_page_guard, of the guard page in front of the slot
  uint32_t generation;   // atomic: incremented at each allocation
  uint32_t is_pooled;    // atomic: whether the slot is in the pool, the queue of free slots
  uint64_t object;       // the start of the allocation
  uint32_t object_bytes; // the requested size
  uint32_t class;        // index + 1 of the freed object's class; 0: none
  int32_t origin_tid;
  int32_t free_tid; // 0: not freed
  uint64_t free_ns; // CLOCK_MONOTONIC
  uint32_t origin_count;
  uint32_t free_count;
  uint64_t origin[CS_PAGES_FRAMES];
  uint64_t free[CS_PAGES_FRAMES];
} cs_page_slot;

// A class whose objects are sampled while the entry is listed. Entries are never removed.
typedef struct cs_page_class {
  uint64_t metadata; // atomic: stored after all other fields of the entry
  uint32_t bytes;
  uint32_t policy;    // atomic: cs_mode
  uint32_t is_listed; // atomic
  uint32_t name_bytes;
  uint64_t incidents; // atomic
  uint8_t name[CS_RING_SUBJECT_LIMIT_BYTES];
} cs_page_class;

#pragma GCC visibility push(hidden)

// malloc first compares the size with cs_pages_limit: only smaller sizes can be sampled. free first compares the
// address with the range of the slots: cs_pages_map_bytes bytes from cs_pages_start (forward_x86_64.h,
// forward_aarch64.h). A value inside these limits takes the slow path, which is C code. Until the allocator that malloc
// forwards to is known, the limits include all values.
extern uint64_t cs_pages_limit;     // atomic
extern uint64_t cs_pages_start;     // atomic
extern uint64_t cs_pages_map_bytes; // atomic

// state.c
extern uint64_t cs_page_bytes;      // set before the slots are mapped; 0: not set
extern cs_page_slot *cs_page_slots; // CS_PAGES_SLOT_LIMIT entries, and one for the last guard page; NULL: not started
extern cs_page_class cs_page_classes[CS_PAGES_CLASS_LIMIT];
extern uint32_t cs_page_class_count;                     // atomic: number of complete entries below; release store
extern uint8_t cs_page_sizes[CS_PAGES_OBJECT_LIMIT + 1]; // atomic: number of listed classes with this size
extern uint32_t cs_page_slot_target;    // atomic: slots with this index or a larger one are not in the pool
extern uint32_t cs_page_one_in;         // atomic
extern uint32_t cs_page_sampling_epoch; // atomic: incremented at each change of one_in
extern cs_pages_counts cs_page_counts;  // atomic words

#define CS_PAGES_COUNT(field) __atomic_fetch_add(&cs_page_counts.field, 1, __ATOMIC_RELAXED)

// acquire: a thread that reads the new cs_pages_map_bytes also reads the new cs_pages_start, which was stored earlier.
// With the old start, 0, low addresses of the program would count as slots. A thread that reads the old
// cs_pages_map_bytes cannot have the address of a slot. It could get such an address only from another thread, through
// a synchronization that also orders this load.
static inline bool cs_page_is_ours(uint64_t address) SIGNAL_SAFE {
  const uint64_t bytes = __atomic_load_n(&cs_pages_map_bytes, __ATOMIC_ACQUIRE);
  return address - __atomic_load_n(&cs_pages_start, __ATOMIC_RELAXED) < bytes;
}

static inline uint64_t cs_page_of_slot(uint32_t index) SIGNAL_SAFE {
  return cs_pages_start + CS_PAGES_FIRST_GUARD + CS_PAGES_BYTES + index * CS_PAGES_SLOT_BYTES;
}

static inline uint64_t cs_page_of_guard(uint32_t index) SIGNAL_SAFE {
  return cs_pages_start + CS_PAGES_FIRST_GUARD + index * CS_PAGES_SLOT_BYTES;
}

// Precondition: the address is after the trap page.
static inline uint32_t cs_page_slot_index(uint64_t address) SIGNAL_SAFE {
  return (uint32_t)((address - cs_pages_start - CS_PAGES_FIRST_GUARD) / CS_PAGES_SLOT_BYTES);
}

// Changes the state of a slot or of a guard page from `from` to `to`. Returns false if the state was not `from`.
// Ordering: if the exchange succeeds, the thread's later writes become visible after the exchange. A thread that reads
// one of these writes in cs_page_copy() therefore also reads the changed state. ACQ_REL alone does not order the
// exchange's own store before later stores on AArch64. On x86-64, the fence needs no instruction.
static inline bool cs_page_swap(uint32_t *word, uint32_t from, uint32_t to) SIGNAL_SAFE {
  if (!__atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return false;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  return true;
}

// Makes a page accessible (`is_open`) or inaccessible. Returns false if the system refuses the change.
bool cs_page_protect(uint64_t page, bool is_open) SIGNAL_SAFE;

// Returns the memory of an inaccessible page to the system.
void cs_page_drop(uint64_t page) SIGNAL_SAFE;

// Returns 1 + the index of the listed class that has this metadata and this object size, or 0 if no class matches.
uint32_t cs_page_class_with(uint64_t metadata, uint32_t bytes) SIGNAL_SAFE;

// pool.c: the queue of free slots, first in, first out.
void cs_page_pool_clear(void) SIGNAL_SAFE;
// Puts a slot into the pool. Returns false if another thread is changing the same queue entry. Also returns false if
// the queue is full, which cannot happen, because the queue has more entries than there are slots.
bool cs_page_pool_put(uint32_t index) SIGNAL_SAFE;
// Takes the oldest slot from the pool. Returns false if the pool is empty, or if another thread is changing the same
// queue entry.
bool cs_page_pool_take(uint32_t *ret_index) SIGNAL_SAFE;

// allocate.c: allocates `bytes` bytes in a slot. Returns the address, or 0 if there is no slot. `caller` is the return
// address of malloc.
uint64_t cs_page_allocate(uint32_t bytes, uint64_t caller) SIGNAL_SAFE;

// deallocate.c: frees the object at an address inside the slots. If the free is invalid, records it and returns false;
// if the policy of the object's class is CS_MODE_CRASH, ends the process instead.
bool cs_page_deallocate(uint64_t object, uint64_t caller) SIGNAL_SAFE;
// Returns whether a guard page next to the slot was made accessible after an invalid access. A slot with an accessible
// guard page is not put into the pool again.
bool cs_page_is_spent(uint32_t index) SIGNAL_SAFE;
// Stores the size of the live allocation that starts at the address. Returns false if no live allocation starts there.
bool cs_page_size(uint64_t object, uint32_t *ret_bytes) SIGNAL_SAFE;

// event.c
typedef struct cs_page_event {
  cs_ring_pages kind;
  uint64_t address;       // the accessed or freed address
  const void *context;    // the signal's context; NULL: the stack of the calling thread is recorded
  uint64_t caller;        // return address of free
  bool is_fatal;          // whether the event ends the process
  uint64_t fatal_address; // if `is_fatal`: the fault address of the crash
} cs_page_event;
// Copies a slot in a consistent state. Returns false if another thread was changing the slot at every attempt.
bool cs_page_copy(uint32_t index, cs_page_slot *ret_copy) SIGNAL_SAFE;
// Records the event, an invalid access to the object that `slot` describes, or an invalid free. `slot` is a copy, or a
// slot that the caller owns; NULL if the object is unknown.
void cs_page_record(const cs_page_event *event, const cs_page_slot *slot) SIGNAL_SAFE;
// Returns the policy of the class of the slot's object, or CS_MODE_ABSORB if the slot has no class.
cs_mode cs_page_policy(const cs_page_slot *slot) SIGNAL_SAFE;
extern cs_ring_incident cs_page_incidents[CS_PAGES_INCIDENT_LIMIT]; // sequence: atomic, 1 when complete
extern uint64_t cs_page_incidents_lost;                             // atomic

// fault.c: receives each fault before the crash handler treats it as a crash.
bool cs_page_fault(int signal, const void *information, void *context) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
