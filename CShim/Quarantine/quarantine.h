// What the files of the quarantine share.
#ifndef CS_QUARANTINE_INTERNAL_H
#define CS_QUARANTINE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "cs_quarantine.h"
#include "cs_ring.h"

// Stubs: one a vtable word, and one destroy function a class. stubs_x86_64.S has the same figures.
#define CS_STUB_WORDS 1024
#define CS_STUB_BYTES 16

// The record of one object in quarantine.
typedef struct cs_slot {
  _Atomic uint64_t sequence; // odd: somebody has it; else it grows by 2 with each tenant
  uint64_t checksum;         // of its fields, where they are not filled
  cs_object *object;         // NULL: none
  uint64_t ticks;
  uint32_t id;
  uint32_t thread;
  uint32_t stack;
  uint32_t bytes;  // charged to the budget
  uint64_t counts; // of references, when it came
  cs_quarantine_policy policy;
  uint32_t is_explorer; // the place is
} cs_slot;

_Static_assert(sizeof(cs_slot) == 64, "a cache line");

// A record's number tells its class.
#define CS_ID_CLASS_SHIFT 21
#define CS_ID_MASK        ((UINT32_C(1) << CS_ID_CLASS_SHIFT) - 1)
_Static_assert(CS_QUARANTINE_CLASSES <= 1 << (32 - CS_ID_CLASS_SHIFT), "the class fits into the number");

// A class that is or was listed. Never freed: zombies point here.
typedef struct cs_class {
  const cs_metadata *metadata;
  const cs_metadata *zombie; // the copy that objects in quarantine have as their isa
  cs_destroy_function *destroy;
  uint32_t index;
  uint32_t hooked;
  uint32_t unhooked;
  uint32_t first_field;                // words before it are the runtime's own
  uint32_t fields;                     // words of an object that are audited
  uint64_t yields[CS_STUB_WORDS / 64]; // words that are answered by the original even where zero is the policy
  _Atomic uint32_t is_listed;          // 1: yes; 2 beside it while the quarantine is drained
  _Atomic uint32_t policy;
  _Atomic uint32_t limit;
  // What is counted of it: in the ring, where crashd sees it, or in `own`.
  cs_ring_class *_Atomic counts;
  cs_ring_class own;
  // The queue's places begin here; the explorer's go back from here, so that both of a usual limit are in one page.
  cs_slot *slots;
  _Alignas(64) _Atomic uint64_t ticket;
  _Atomic uint64_t turn; // of the queue's places
  _Atomic uint32_t full; // places of the queue when it has all that it may have; else 0
  _Atomic uint32_t queue_used;
  _Atomic uint32_t explorer_used;
} cs_class;

#define CS_EXPLORER_SHARE 5 // the queue's limit divided by it
#define CS_SLOTS_A_PAGE   (4096 / sizeof(cs_slot))
// In the page that the queue begins in. The explorer's whole share, in full pages and this.
#define CS_EXPLORER_FIRST 12
#define CS_EXPLORER_SLOTS (13 * CS_SLOTS_A_PAGE + CS_EXPLORER_FIRST)
#define CS_CLASS_SLOTS    (CS_EXPLORER_SLOTS + CS_QUARANTINE_LIMIT_MAX)

_Static_assert(CS_EXPLORER_SLOTS >= CS_QUARANTINE_LIMIT_MAX / CS_EXPLORER_SHARE, "room for the explorer");
_Static_assert(CS_EXPLORER_FIRST >= 50 / CS_EXPLORER_SHARE && CS_EXPLORER_FIRST + 50 <= CS_SLOTS_A_PAGE,
               "one page for the usual limit");

// Within one image, without the detour over its table of addresses.
#pragma GCC visibility push(hidden)

// Adds one to a counter of a class.
#define CS_COUNT(class, field)                                                                                         \
  __atomic_fetch_add(&atomic_load_explicit(&(class)->counts, memory_order_relaxed)->field, 1, __ATOMIC_RELAXED)

// class_table.c
extern cs_class *cs_classes[CS_QUARANTINE_CLASSES]; // entries appear by release stores, and stay
cs_class *cs_class_of_metadata(const void *metadata);
// The class whose zombie this is; the caller knows that it is one.
cs_class *cs_class_of_zombie(const cs_metadata *zombie);
bool cs_is_zombie(const void *metadata);
uint32_t cs_class_count(void);
bool cs_quarantine_is_forked(void);

// zombie.c
// Makes the copy of the metadata. False: no memory.
bool cs_zombie_make(cs_class *class);

// stubs_x86_64.S: the functions that metadata and zombies point at.
extern const uint8_t cs_stubs_destroy[];
extern const uint8_t cs_stubs_call[];
extern const uint8_t cs_stubs_async[];

// queue.c
typedef struct cs_arrival {
  cs_object *object;
  const void *frame; // of the function that the runtime's release called
  uint64_t counts;   // of references, now
  cs_quarantine_policy policy;
} cs_arrival;
// The limit is another one.
void cs_queue_resize(cs_class *class, uint32_t limit);
// Gives back what is there, and waits for the reaper where that is behind.
void cs_queue_empty(cs_class *class);
// The same without waiting: what cannot go now stays.
void cs_queue_sweep(cs_class *class);
// A copy of the record of an object; false: none, or it changes all the time.
bool cs_queue_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot);
extern _Atomic uint64_t cs_queue_bytes;
extern _Atomic uint64_t cs_queue_budget;

// evict.c
// Looks at what was done to the object meanwhile, leaves a ghost record, and gives it back to Swift.
void cs_evict(cs_class *class, const cs_slot *slot); // its deinit has run
// The quarantine has done with the object: memory that nobody else refers to is given back.
void cs_claim_end(const cs_class *class, cs_object *object);
void cs_evict_deferred(cs_class *class, const cs_slot *slot); // and runs its deinit

// reaper.c: a thread that runs the deinits that were put off, because only a thread without the program's locks may.
bool cs_reaper_start(void);
// False: it is behind. Until it gets to the object, that stays what it was.
bool cs_reaper_give(cs_class *class, const cs_slot *slot);
// Until it has done what it was given so far. False: it does not run in this process, or it is the caller.
bool cs_reaper_wait(void);
// There is something for it to do now.
void cs_reaper_call(void);
bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot);

// stacks.c
extern _Atomic uint32_t cs_stacks_are_on;
// The number of a stack that reads the same as the caller's; 0: none. `frame` is where the walk begins.
uint32_t cs_stack_take(const void *frame, bool is_use);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack);
// The kernel's number of this thread.
uint32_t cs_thread_learn(void);
extern __thread uint32_t cs_thread_known; // 0: not asked yet
static inline uint32_t cs_thread_number(void) {
  const uint32_t number = cs_thread_known;
  return number != 0 ? number : cs_thread_learn();
}

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

// shown.c
void cs_shown_by(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes);
void cs_shown_incident(const cs_touch *touch, uint32_t use_stack);
void cs_shown_class(cs_class *class);

// types.c
// "Module.Outer.Inner" of a class's descriptor. False: it has no such name, or too long a one.
#define CS_NAME_BYTES 512
bool cs_type_name(const void *descriptor, char *ret_name);

// destroy.c
extern bool cs_heap_is_glibc;

// Of an object of the heap: what glibc's malloc says of it in front of it, with its three flags left out.
static inline uint64_t cs_chunk_bytes(const cs_object *object) {
  return ((const uint64_t *)object)[-1] & ~UINT64_C(7);
}

// liveness.c
// Reads by a system call first: the address may be anything.
bool cs_metadata_is_readable_class(const cs_metadata *metadata);

// ghosts.c
void cs_ghost_put(const cs_slot *slot);
bool cs_ghost_find(const void *object, cs_quarantine_liveness *ret_liveness);

// clock_x86_64.c
uint64_t cs_ticks_ns(uint64_t ticks);
void cs_ticks_start(void);

#pragma GCC visibility pop

#endif
