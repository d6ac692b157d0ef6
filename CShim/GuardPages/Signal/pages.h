// The shared declarations of the guard slots. Everything in Signal/ may run in a signal handler, also what malloc and
// free call there: no lock, no allocation, and no unbounded wait for another thread.
//
//   trap page | guard | slot 0 | guard | slot 1 | guard | … | slot n-1 | guard
//
// An object ends where its page ends, as far as its alignment of 16 bytes allows: an access past it hits the guard.
#ifndef CS_PAGES_H
#define CS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_guard_pages.h"
#include "cs_ring.h"
#include "cs_signal_safe.h"

#define CS_PAGES_BYTES       UINT64_C(4096)
#define CS_PAGES_SLOT_BYTES  (2 * CS_PAGES_BYTES)
#define CS_PAGES_FIRST_GUARD CS_PAGES_BYTES // behind the trap page
#define CS_PAGES_MAP_BYTES   (2 * CS_PAGES_BYTES + CS_PAGES_SLOT_LIMIT * CS_PAGES_SLOT_BYTES)
#define CS_PAGES_FRAMES      CS_RING_INCIDENT_FRAME_LIMIT

// The state of a slot. The thread that swaps it for BUSY owns the rest of the slot.
typedef enum cs_page_state : uint32_t {
  CS_PAGE_UNUSED = 0,    // never handed out: closed
  CS_PAGE_BUSY = 1,      // a thread changes it
  CS_PAGE_LIVE = 2,      // an allocation is in it: open
  CS_PAGE_FREED = 3,     // closed; whose memory it was is known
  CS_PAGE_IDLE = 4,      // freed, but not worth or not able to be guarded: open
  CS_PAGE_OPENED = 5,    // touched after it was freed, then opened: never used again
  CS_PAGE_CONDEMNED = 6, // the process is to end by it: closed, never used again
  CS_PAGE_LOST = 7,      // of a thread that does not exist in this forked child
} cs_page_state;

// The state of the guard in front of a slot, and of the last one.
typedef enum cs_page_guard : uint32_t {
  CS_GUARD_CLOSED = 0,
  CS_GUARD_BUSY = 1,
  CS_GUARD_OPENED = 2,
} cs_page_guard;

typedef struct cs_page_slot {
  uint32_t state;        // atomic: cs_page_state
  uint32_t guard;        // atomic: cs_page_guard, of the guard in front of it
  uint32_t generation;   // atomic: grows with each allocation
  uint32_t is_pooled;    // atomic: it is among those that the pool hands out
  uint64_t object;       // where the allocation begins
  uint32_t object_bytes; // what was asked for
  uint32_t class;        // index + 1 of the freed object's class; 0: none
  int32_t origin_tid;
  int32_t free_tid; // 0: it lives
  uint64_t free_ns; // CLOCK_MONOTONIC
  uint32_t origin_count;
  uint32_t free_count;
  uint64_t origin[CS_PAGES_FRAMES];
  uint64_t free[CS_PAGES_FRAMES];
} cs_page_slot;

// A sampled class. Entries are never freed.
typedef struct cs_page_class {
  uint64_t metadata; // atomic: stored last
  uint32_t bytes;
  uint32_t policy;    // atomic: cs_mode
  uint32_t is_listed; // atomic
  uint32_t name_bytes;
  uint64_t incidents; // atomic
  uint8_t name[CS_RING_SUBJECT_LIMIT_BYTES];
} cs_page_class;

#pragma GCC visibility push(hidden)

// What malloc and free look at before anything else (interpose_x86_64.c): sizes below the limit may be drawn, addresses
// less than so many bytes behind the start are ours. Until the next allocator is known all come to us.
extern uint64_t cs_pages_limit; // atomic
extern uint64_t cs_pages_start; // atomic
extern uint64_t cs_pages_bytes; // atomic

// state.c
extern cs_page_slot *cs_page_slots; // CS_PAGES_SLOT_LIMIT and one more, for the last guard; NULL: not started
extern cs_page_class cs_page_classes[CS_PAGES_CLASS_LIMIT];
extern uint32_t cs_page_class_count;                     // atomic: release, entries below it are whole
extern uint8_t cs_page_sizes[CS_PAGES_OBJECT_LIMIT + 1]; // atomic: how many listed classes have this size
extern uint32_t cs_page_slot_target;                     // atomic: slots from this number on are not pooled any more
extern uint32_t cs_page_one_in;                          // atomic
extern uint32_t cs_page_sampling_epoch;                  // atomic: grows with each change of one_in
extern cs_pages_counts cs_page_counts;                   // atomic words

#define CS_PAGES_COUNT(field) __atomic_fetch_add(&cs_page_counts.field, 1, __ATOMIC_RELAXED)

static inline bool cs_page_is_ours(uint64_t address) SIGNAL_SAFE {
  return address - __atomic_load_n(&cs_pages_start, __ATOMIC_RELAXED) <
         __atomic_load_n(&cs_pages_bytes, __ATOMIC_RELAXED);
}

static inline uint64_t cs_page_of_slot(uint32_t index) SIGNAL_SAFE {
  return cs_pages_start + CS_PAGES_FIRST_GUARD + CS_PAGES_BYTES + index * CS_PAGES_SLOT_BYTES;
}

static inline uint64_t cs_page_of_guard(uint32_t index) SIGNAL_SAFE {
  return cs_pages_start + CS_PAGES_FIRST_GUARD + index * CS_PAGES_SLOT_BYTES;
}

// Of an address behind the trap page.
static inline uint32_t cs_page_slot_index(uint64_t address) SIGNAL_SAFE {
  return (uint32_t)((address - cs_pages_start - CS_PAGES_FIRST_GUARD) / CS_PAGES_SLOT_BYTES);
}

static inline bool cs_page_swap(uint32_t *word, uint32_t from, uint32_t to) SIGNAL_SAFE {
  return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// Changes the protection of a page. Returns false if the system refuses.
bool cs_page_protect(uint64_t page, bool is_open) SIGNAL_SAFE;

// Returns the memory of an inaccessible page to the system.
void cs_page_drop(uint64_t page) SIGNAL_SAFE;

// Index + 1 of the listed class that has this metadata and objects of this size; 0: none.
uint32_t cs_page_class_with(uint64_t metadata, uint32_t bytes) SIGNAL_SAFE;

// pool.c: the numbers of free slots, the one that was freed first at the front.
void cs_page_pool_clear(void) SIGNAL_SAFE;
// Returns false if there is no room, which cannot happen, or if another thread is in there.
bool cs_page_pool_put(uint32_t index) SIGNAL_SAFE;
// Returns false if there is none, or if another thread is in there.
bool cs_page_pool_take(uint32_t *ret_index) SIGNAL_SAFE;

// allocate.c
// Allocates `bytes` bytes in a slot; returns 0 if there is none. `caller` is the return address of malloc.
uint64_t cs_page_allocate(uint32_t bytes, uint64_t caller) SIGNAL_SAFE;

// deallocate.c
// Frees an address within the slots. Returns false for an invalid free, which is recorded; the process continues.
bool cs_page_deallocate(uint64_t object, uint64_t caller) SIGNAL_SAFE;
// Whether a guard beside the slot is accessible: the slot is then not used again.
bool cs_page_is_spent(uint32_t index) SIGNAL_SAFE;
// The size of the live allocation that begins there. Returns false if there is none.
bool cs_page_size(uint64_t object, uint32_t *ret_bytes) SIGNAL_SAFE;

// event.c
typedef struct cs_page_event {
  cs_ring_pages kind;
  uint64_t address;       // that was accessed or freed
  const void *context;    // of the signal; NULL: the caller's own stack is the use's
  uint64_t caller;        // where free returns to
  bool is_fatal;          // the process is to end by it
  uint64_t fatal_address; // of that crash
} cs_page_event;
// Copies a stable slot. Returns false if it keeps changing.
bool cs_page_copy(uint32_t index, cs_page_slot *ret_copy) SIGNAL_SAFE;
// Records an invalid access to the memory that `slot` describes, a copy or one that the caller owns; NULL if it is
// unknown.
void cs_page_record(const cs_page_event *event, const cs_page_slot *slot) SIGNAL_SAFE;
// The policy of the slot's class; without a class the program continues.
cs_mode cs_page_policy(const cs_page_slot *slot) SIGNAL_SAFE;
extern cs_ring_incident cs_page_incidents[CS_PAGES_INCIDENT_LIMIT]; // sequence: atomic, 1 when whole
extern uint64_t cs_page_incidents_lost;                             // atomic

// fault.c: the first-chance handler.
bool cs_page_fault(int signal, const void *information, void *context) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
