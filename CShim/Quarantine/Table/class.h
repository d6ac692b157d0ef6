// A listed class, for the files of the quarantine.
#ifndef CS_QUARANTINE_CLASS_H
#define CS_QUARANTINE_CLASS_H

#include "cs_ring.h"
#include "slot.h"

// Words of a vtable that can be hooked; stubs_x86_64.S has a stub for each.
#define CS_STUB_WORDS 1024

// A word of an object under zero: its value, and which of its bits stay as the deinit left them.
typedef struct cs_empty_word {
  uint64_t value;
  uint64_t kept;
} cs_empty_word;

// A class that is or was listed. Never freed: zombies refer to it.
typedef struct cs_class cs_class;
// stubs_x86_64.S says why the class is the fourth argument; the others are nothing.
typedef SWIFTCC void cs_keep_function(uint64_t u0, uint64_t u1, uint64_t u2, cs_class *class, SWIFTSELF void *object);

struct cs_class {
  // All that is read of it by each last release is in one cache line. stubs_x86_64.S knows where the first two are.
  cs_destroy_function *destroy;
  // Under zero and diagnose: takes an object whose deinit has ended.
  cs_keep_function *_Atomic keep;
  const cs_metadata *metadata;
  const cs_metadata *zombie; // the copy that objects in quarantine have as their isa
  // The queue's places begin here; the explorer's go back from here, so that both of a usual limit are in one page.
  cs_slot *slots;
  // What is counted of it: in the ring, where crashd sees it, or in `own`.
  cs_ring_class *_Atomic counts;
  // A turn below it is that of an object as usual. It is the explorer's next one or the end of the queue; 0: the short
  // way is closed; below any place: it has just been opened, for so many places.
  _Atomic uintptr_t bound;
  _Atomic uint32_t is_listed; // 1: yes; 2 beside it while the quarantine is drained
  uint32_t index;
  _Alignas(64) _Atomic uintptr_t turn; // the place whose turn it is; behind the last, what is above goes round
  // Of the fields, words from the start of an object: the runtime's own come first. What is left of a last word that is
  // not whole is filled by its mask: a guard slot keeps its edge from the byte behind the object on.
  _Alignas(64) uint32_t first_field;
  uint32_t filled_end;
  uint32_t audited_end;
  _Atomic uint32_t full; // places of the queue when it has all that it may have, and all else is usual; or 0
  _Atomic uint32_t policy;
  _Atomic uint32_t limit;
  _Atomic uint32_t queue_used;
  _Atomic uint32_t explorer_used;
  _Atomic uint32_t explorer_most;
  uint32_t hooked;
  uint32_t unhooked;
  bool has_one_size;                   // of its objects none has elements behind its fields
  const cs_empty_word *empties;        // of the words from first_field on; NULL: all are zero, and none is kept
  uint64_t tail_mask;                  // of the word at filled_end; 0: the object ends before
  uint64_t yields[CS_STUB_WORDS / 64]; // words that are answered by the original even where zero is the policy
  cs_ring_class own;
};

#define CS_EXPLORER_SHARE 5 // the queue's limit divided by it
#define CS_SLOTS_A_PAGE   (4096 / sizeof(cs_slot))
// In the page that the queue begins in. The explorer's whole share, in full pages and this.
#define CS_EXPLORER_FIRST 12
#define CS_EXPLORER_SLOTS (13 * CS_SLOTS_A_PAGE + CS_EXPLORER_FIRST)
#define CS_CLASS_SLOTS    (CS_EXPLORER_SLOTS + CS_QUARANTINE_LIMIT_MAX)

_Static_assert(CS_EXPLORER_SLOTS >= CS_QUARANTINE_LIMIT_MAX / CS_EXPLORER_SHARE, "room for the explorer");
_Static_assert(CS_EXPLORER_FIRST >= 50 / CS_EXPLORER_SHARE && CS_EXPLORER_FIRST + 50 <= CS_SLOTS_A_PAGE,
               "one page for the usual limit");

#define CS_USUALLY(condition) __builtin_expect(!!(condition), true)

// A function whose caller keeps all its registers but one.
#define CS_SELDOM __attribute__((preserve_most, noinline, cold))

// Adds one to a counter of a class.
#define CS_COUNT(class, field)                                                                                         \
  __atomic_fetch_add(&atomic_load_explicit(&(class)->counts, memory_order_relaxed)->field, 1, __ATOMIC_RELAXED)

#pragma GCC visibility push(hidden)

// zombie.c: the copy of the class's metadata that its objects in quarantine point at.
// Precondition: the lock of class_table.c. false: no memory.
bool cs_zombie_make(cs_class *class);

// The class that a zombie was made for. Precondition: cs_is_zombie().
cs_class *cs_class_of_zombie(const cs_metadata *zombie);

// empties.c: what zero leaves in the fields of an object, the empty value of each field's type.
bool cs_empties_make(cs_class *class); // false: no memory
void cs_empties_fill(const cs_class *class, cs_object *object);
bool cs_empties_are(const cs_class *class, const cs_object *object);

#pragma GCC visibility pop

#endif
