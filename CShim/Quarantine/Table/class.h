// The quarantine's data about a class that is or was listed. While a class is listed, its objects get a slot in the
// quarantine at their last release. Most slots of a class form a queue: the object that was released first is replaced
// first. The other slots form the explorer, in which a random object is replaced.
#ifndef CS_QUARANTINE_CLASS_H
#define CS_QUARANTINE_CLASS_H

#include "cs_ring.h"
#include "slot.h"

// The number of vtable words that can be replaced. There is a stub for each of them (stubs.h).
#define CS_STUB_WORDS 1024

// How the policy zero fills one word of an object: with the empty value of the fields, except the bits in the mask
// `kept`, which keep the value that the deinit left.
typedef struct cs_empty_word {
  uint64_t value;
  uint64_t kept;
} cs_empty_word;

// A class that is or was listed. The structure is never freed, because the class's zombie refers to it.
typedef struct cs_class cs_class;
// The first three arguments are unused: stubs_x86_64.S explains why the class is the fourth one.
typedef SWIFTCC void cs_keep_function(uint64_t u0, uint64_t u1, uint64_t u2, cs_class *class, SWIFTSELF void *object);

struct cs_class {
  // The fields that each last release reads are in one cache line. The assembly code of the stubs contains the offsets
  // of the first two fields.
  cs_destroy_function *destroy;
  // Under the policies zero and diagnose: the function that puts an object into a slot after its deinit has ended.
  cs_keep_function *_Atomic keep;
  const cs_metadata *metadata;
  const cs_metadata *zombie; // the zombie: the copy of the metadata to which objects in quarantine point
  // The first slot of the class's queue. The other slots of the queue follow it, and the slots of the explorer (turn.h)
  // precede it. With the default limit, all slots of a class are in one page.
  cs_slot *slots;
  // The counters of the class. They are in the ring, where crashd reads them, or in `own` if there is no ring.
  cs_ring_class *_Atomic counts;
  // A turn is the address of the slot in the queue that an object gets (turn.h). If a turn is below this bound, the
  // object gets that slot. The bound is the turn of the next object that goes to the explorer, or the end of the queue.
  // If the bound is 0, the fast path is disabled. When the fast path is enabled, the bound starts as the number of
  // slots, which is lower than any turn.
  _Atomic uintptr_t bound;
  _Atomic uint32_t is_listed; // bit 0: the class is listed; bit 1: admission is paused, because cs_quarantine_drain()
                              // runs
  uint32_t index;
  _Alignas(64) _Atomic uintptr_t turn; // the address of the next slot; wraps around after the last slot
  // The bounds of the fields, in words from the start of an object. The fields start after the words that the runtime
  // uses. If only a part of the last word belongs to the object, it is filled through a mask: the bytes after an object
  // in a guard page slot must not change (edges.h).
  _Alignas(64) uint32_t first_field;
  uint32_t filled_end;
  uint32_t audited_end;
  _Atomic uint32_t full; // if the queue has all its slots and the fast path is enabled: their number; else 0
  _Atomic uint32_t policy;
  _Atomic uint32_t limit;
  _Atomic uint32_t queue_used;
  _Atomic uint32_t explorer_used;
  _Atomic uint32_t explorer_most;
  uint32_t hooked;
  uint32_t unhooked;
  bool has_one_size;                   // no object of the class has tail-allocated elements
  const cs_empty_word *empties;        // an empty value for each word from first_field on; NULL: all words become zero
  uint64_t tail_mask;                  // mask of the word at filled_end; 0: the object has no partial word
  uint64_t yields[CS_STUB_WORDS / 64]; // vtable words whose stubs call the original method even under the policy zero
  cs_ring_class own;
};

// Because the explorer replaces objects at random, some of its objects stay longer in quarantine than they would in the
// queue.
#define CS_EXPLORER_SHARE 5 // the explorer has at most the queue's limit divided by this number
#define CS_SLOTS_A_PAGE   (4096 / sizeof(cs_slot))
// The number of the explorer's slots that share a page with the start of the queue. The explorer's other slots fill
// whole pages.
#define CS_EXPLORER_FIRST 12
#define CS_EXPLORER_SLOTS (13 * CS_SLOTS_A_PAGE + CS_EXPLORER_FIRST)
#define CS_CLASS_SLOTS    (CS_EXPLORER_SLOTS + CS_QUARANTINE_LIMIT_MAX)

_Static_assert(CS_EXPLORER_SLOTS >= CS_QUARANTINE_LIMIT_MAX / CS_EXPLORER_SHARE, "space for the explorer's slots");
_Static_assert(CS_EXPLORER_FIRST >= 50 / CS_EXPLORER_SHARE && CS_EXPLORER_FIRST + 50 <= CS_SLOTS_A_PAGE,
               "one page for the default limit");

// Marks a condition that is true in the most frequent case.
#define CS_USUALLY(condition) __builtin_expect(!!(condition), true)

// Marks a rarely called function that preserves all registers except one. Its caller therefore need not save registers.
#define CS_SELDOM __attribute__((preserve_most, noinline, cold))

// Adds one to a counter of a class. A relaxed load of `counts` suffices, because the access to a counter depends on the
// loaded address.
#define CS_COUNT(class, field)                                                                                         \
  __atomic_fetch_add(&atomic_load_explicit(&(class)->counts, memory_order_relaxed)->field, 1, __ATOMIC_RELAXED)

#pragma GCC visibility push(hidden)

// zombie.c: creates the zombie of the class, the copy of the metadata to which the objects in quarantine point.
// Precondition: the caller holds the lock of class_table.c. Returns false if there is no memory.
bool cs_zombie_make(cs_class *class);

// Returns the class to which a zombie belongs. Precondition: cs_is_zombie() returns true.
cs_class *cs_class_of_zombie(const cs_metadata *zombie);

// empties.c: determines the empty values with which the policy zero fills the fields of an object.
bool cs_empties_make(cs_class *class); // returns false if there is no memory
void cs_empties_fill(const cs_class *class, cs_object *object);
bool cs_empties_are(const cs_class *class, const cs_object *object);

#pragma GCC visibility pop

#endif
