// What the files of the quarantine share.
#ifndef CS_QUARANTINE_INTERNAL_H
#define CS_QUARANTINE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "cs_quarantine.h"

// Stubs: one a vtable word, and one destroy function a class. stubs_x86_64.S has the same figures.
#define CS_STUB_WORDS 1024
#define CS_STUB_BYTES 16

// The record of one object in quarantine.
typedef struct cs_slot {
  _Atomic uint64_t sequence; // odd: somebody has it; else it grows by 2 with each tenant
  cs_object *object;         // NULL: none
  uint64_t counts;           // of references, when it came
  uint64_t ticks;
  uint64_t checksum; // of its fields
  uint32_t bytes;    // charged to the budget
  uint32_t id;
  uint32_t thread;
  uint32_t stack;
  cs_quarantine_policy policy;
  uint32_t is_explorer;
} cs_slot;

_Static_assert(sizeof(cs_slot) == 64, "a cache line");

// A class that is or was listed. Never freed: zombies point here.
typedef struct cs_class {
  const cs_metadata *metadata;
  const cs_metadata *zombie; // the copy that objects in quarantine have as their isa
  cs_destroy_function *destroy;
  uint32_t index;
  uint32_t hooked;
  uint32_t unhooked;
  uint64_t yields[CS_STUB_WORDS / 64]; // words that are answered by the original even where zero is the policy
  _Atomic uint32_t is_listed;
  _Atomic uint32_t policy;
  _Atomic uint32_t limit;
  // Places: five of the queue and one of the explorer by turns, so that few instances stay on one page.
  cs_slot *slots;
  _Atomic uint64_t ticket;
  _Atomic uint32_t queue_used;
  _Atomic uint32_t explorer_used;
  _Atomic uint64_t admitted;
  _Atomic uint64_t evicted;
  _Atomic uint64_t hits;
  _Atomic uint64_t skipped_budget;
  _Atomic uint64_t skipped_busy;
  _Atomic uint64_t skipped_unowned;
  _Atomic uint64_t skipped_isolated;
} cs_class;

#define CS_EXPLORER_SHARE 5 // the queue's limit divided by it, and one place in six
#define CS_CLASS_SLOTS    (CS_QUARANTINE_LIMIT_MAX / CS_EXPLORER_SHARE * (CS_EXPLORER_SHARE + 1) + CS_EXPLORER_SHARE + 1)

static inline uint32_t cs_queue_place(uint32_t index) {
  return index / CS_EXPLORER_SHARE * (CS_EXPLORER_SHARE + 1) + index % CS_EXPLORER_SHARE;
}

static inline uint32_t cs_explorer_place(uint32_t index) {
  return index * (CS_EXPLORER_SHARE + 1) + CS_EXPLORER_SHARE;
}

// class_table.c
extern cs_class *cs_classes[CS_QUARANTINE_CLASSES]; // entries appear by release stores, and stay
cs_class *cs_class_of_metadata(const void *metadata);
// The class whose zombie this is; the caller knows that it is one.
cs_class *cs_class_of_zombie(const cs_metadata *zombie);
bool cs_is_zombie(const void *metadata);
uint32_t cs_class_count(void);

// zombie.c
// Makes the copy of the metadata. False: no memory.
bool cs_zombie_make(cs_class *class);

// stubs_x86_64.S: the functions that metadata and zombies point at.
extern const uint8_t cs_stubs_destroy[] __attribute__((visibility("hidden")));
extern const uint8_t cs_stubs_call[] __attribute__((visibility("hidden")));
extern const uint8_t cs_stubs_async[] __attribute__((visibility("hidden")));

// queue.c
typedef struct cs_arrival {
  cs_object *object;
  const void *frame; // of the function that the runtime's release called
  cs_quarantine_policy policy;
} cs_arrival;
// Takes a place for the object and gives up the one it replaces. False: there is none, nothing has happened.
bool cs_queue_put(cs_class *class, const cs_arrival *arrival);
void cs_queue_empty(cs_class *class);
// A copy of the record of an object; false: none, or it is about to change.
bool cs_queue_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot);
extern _Atomic uint64_t cs_queue_bytes;
extern _Atomic uint64_t cs_queue_budget;

// evict.c
// Looks at what was done to the object meanwhile, leaves a ghost record, and gives it back to Swift.
void cs_evict(cs_class *class, const cs_slot *slot);
uint64_t cs_fields_checksum(const cs_object *object, uint32_t bytes);
void cs_fields_fill(cs_object *object, uint32_t bytes, cs_quarantine_policy policy, uint32_t id);

// reaper.c: a thread that runs the deinits that were put off, because only a thread without the program's locks may.
bool cs_reaper_start(void);
// False: it is behind. Until it gets to the object, that stays what it was.
bool cs_reaper_give(cs_class *class, const cs_slot *slot);
// Until it has done what it was given so far. False: it does not run in this process, or it is the caller.
bool cs_reaper_wait(void);
bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot);

// stacks.c
extern _Atomic uint32_t cs_stacks_are_on;
// The number of a stack that reads the same as the caller's; 0: none. `frame` is where the walk begins.
uint32_t cs_stack_take(const void *frame);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack);
uint32_t cs_thread_number(void);
bool cs_is_on_this_stack(const void *pointer);

// hits.c
typedef struct cs_touch {
  cs_class *class;
  const cs_object *object;
  const cs_slot *slot; // NULL: unknown
  const void *method;
  const void *frame;
  uint32_t word;
  cs_quarantine_kind kind;
  int64_t drift;
} cs_touch;
void cs_hit(const cs_touch *touch);

// destroy.c
extern bool cs_heap_is_glibc;

// liveness.c
// Reads by a system call first: the address may be anything.
bool cs_metadata_is_readable_class(const cs_metadata *metadata);

// ghosts.c
void cs_ghost_put(const cs_class *class, const cs_slot *slot);
bool cs_ghost_find(const void *object, cs_quarantine_liveness *ret_liveness);

// clock_x86_64.c
uint64_t cs_ticks_ns(uint64_t ticks);
void cs_ticks_start(void);

#endif
