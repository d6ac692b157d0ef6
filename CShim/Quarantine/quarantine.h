// What the files of the quarantine share.
#ifndef CS_QUARANTINE_INTERNAL_H
#define CS_QUARANTINE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Runtime/abi.h"
#include "cs_quarantine.h"
#include "cs_ring.h"

// Stubs: one a vtable word, and one destroy function a class. stubs_x86_64.S has the same figures.
#define CS_STUB_WORDS 1024
#define CS_STUB_BYTES 16

// The record of one object in quarantine, and its place: one cache line. Who swaps CS_SLOT_BUSY for what `object` was
// has the place in hand until it stores something else there; it writes `ticks` before the rest of the first half, so
// that a reader who sees them unchanged has seen one tenant only.
typedef struct cs_slot {
  cs_object *_Atomic object; // or CS_SLOT_EMPTY; NULL: the place has never been used
  uint64_t ticks;            // of the last release; 0: the place has had no tenant yet
  uint64_t label;
  // One word, so that both are written at once.
  uint32_t thread;
  uint32_t stack;
  // The ghost of the tenant before: the same words. Under absorb ghosts are elsewhere: NULL, and what follows is the
  // checksum of the fields.
  const cs_object *past;
  union {
    uint64_t past_ticks;
    uint64_t checksum;
  };
  uint64_t past_label;
  uint32_t past_thread;
  uint32_t past_stack;
} cs_slot;

// What stands for no object can be looked at as one: its counts are those of none that is in quarantine. So who comes
// to a place asks once.
extern const uint64_t cs_nobody[2][2] __attribute__((visibility("hidden")));
#define CS_SLOT_BUSY  ((cs_object *)(uintptr_t)cs_nobody[0])
#define CS_SLOT_EMPTY ((cs_object *)(uintptr_t)cs_nobody[1])

_Static_assert(sizeof(cs_slot) == 64, "a cache line");
_Static_assert(offsetof(cs_slot, past) == 32, "as long as what it is of");

// A label: 16 bits for the bytes of the object's chunk, 32 of the record's number, and 16 that are the mark of its
// policy. Under diagnose the object's fields are filled with its label. So no two records have the same filling, and
// whether nobody wrote is one comparison a field. That of diagnose has bit 63, which makes the runtime's retain and
// release of such a field do nothing, and makes no address: every dereference is a fault whose register tells the
// record, also where an offset was added to it, as the lowest half is about in the middle of what it can be.
#define CS_LABEL_SIZE_BITS     16
#define CS_LABEL_SIZE          UINT64_C(0xFFFF)
#define CS_LABEL_NUMBER        (UINT64_C(0xFFFFFFFF) << CS_LABEL_SIZE_BITS)
#define CS_LABEL_MARK_SHIFT    48
#define CS_LABEL_MARK_ABSORB   UINT64_C(2)
#define CS_LABEL_MARK_ZERO     UINT64_C(1)
#define CS_LABEL_MARK_DIAGNOSE UINT64_C(0xEFED)
// Beside it: somebody had retained the object when its time had come, so it got more.
#define CS_LABEL_STAYED (UINT64_C(1) << 60)
_Static_assert((CS_LABEL_MARK_DIAGNOSE << CS_LABEL_MARK_SHIFT & CS_LABEL_STAYED) == 0, "no bit of a mark");

static inline uint64_t cs_label_mark_of(cs_quarantine_policy policy) {
  return (policy == CS_QUARANTINE_ABSORB ? CS_LABEL_MARK_ABSORB
          : policy == CS_QUARANTINE_ZERO ? CS_LABEL_MARK_ZERO
                                         : CS_LABEL_MARK_DIAGNOSE)
         << CS_LABEL_MARK_SHIFT;
}

static inline cs_quarantine_policy cs_label_policy(uint64_t label) {
  const uint64_t mark = (label & ~CS_LABEL_STAYED) >> CS_LABEL_MARK_SHIFT;
  return mark == CS_LABEL_MARK_ABSORB ? CS_QUARANTINE_ABSORB
         : mark == CS_LABEL_MARK_ZERO ? CS_QUARANTINE_ZERO
                                      : CS_QUARANTINE_DIAGNOSE;
}

static inline cs_quarantine_policy cs_slot_policy(const cs_slot *slot) {
  return cs_label_policy(slot->label);
}

// Sizes of chunks: multiples of 16 bytes below 256 KiB, and above, rounded up, of 16 KiB.
#define CS_SIZE_ALWAYS       UINT64_C(0x8000)
#define CS_SIZE_COARSE       UINT64_C(0x4000)
#define CS_SIZE_MOST         UINT64_C(0x3FFF)
#define CS_SIZE_SHIFT        4
#define CS_SIZE_COARSE_SHIFT 14

static inline uint64_t cs_label_size_of(uint64_t bytes) {
  if (__builtin_expect(bytes >> CS_SIZE_SHIFT <= CS_SIZE_MOST, true)) return CS_SIZE_ALWAYS | bytes >> CS_SIZE_SHIFT;
  const uint64_t units = (bytes - 1) >> CS_SIZE_COARSE_SHIFT;
  return CS_SIZE_ALWAYS | CS_SIZE_COARSE | (units < CS_SIZE_MOST ? units + 1 : CS_SIZE_MOST);
}

static inline uint32_t cs_label_bytes(uint64_t label) {
  const uint32_t units = (uint32_t)(label & CS_SIZE_MOST);
  if (__builtin_expect_with_probability((label & CS_SIZE_COARSE) != 0, false, 1.0))
    return units << CS_SIZE_COARSE_SHIFT;
  return units << CS_SIZE_SHIFT;
}

// Charged to the budget.
static inline uint32_t cs_slot_bytes(const cs_slot *slot) {
  return cs_label_bytes(slot->label) + (uint32_t)sizeof *slot;
}

// A record's number: its class, whether its place is the explorer's, and above an ordinal that begins with the place's
// index and grows by a stride with each tenant. The stride is 2^20 divided by the golden ratio, so that some 400,000
// objects of a class have different ones, whatever its limit is.
#define CS_NUMBER_CLASS_BITS    11
#define CS_NUMBER_EXPLORER      (UINT32_C(1) << CS_NUMBER_CLASS_BITS)
#define CS_NUMBER_ORDINAL_SHIFT (CS_NUMBER_CLASS_BITS + 1)
#define CS_NUMBER_STRIDE        (UINT32_C(648055) << CS_NUMBER_ORDINAL_SHIFT)
_Static_assert(CS_QUARANTINE_CLASSES <= 1 << CS_NUMBER_CLASS_BITS, "the class fits into the number");

static inline uint32_t cs_label_number(uint64_t label) {
  return (uint32_t)(label >> CS_LABEL_SIZE_BITS);
}

static inline uint64_t cs_label_with_number(uint64_t label, uint32_t number) {
  return (label & ~CS_LABEL_NUMBER) | (uint64_t)number << CS_LABEL_SIZE_BITS;
}

static inline uint32_t cs_number_class(uint32_t number) {
  return number & ((UINT32_C(1) << CS_NUMBER_CLASS_BITS) - 1);
}

// A word of an object under zero: its value, and which of its bits stay as the deinit left them.
typedef struct cs_empty_word {
  uint64_t value;
  uint64_t kept;
} cs_empty_word;

// A class that is or was listed. Never freed: zombies point here.
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

// Who calls such a function keeps all its registers but one.
#define CS_SELDOM __attribute__((preserve_most, noinline, cold))

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
uint32_t cs_class_count(void) SIGNAL_SAFE;
bool cs_quarantine_is_forked(void);
// Whether a word can be written, asked without a fault.
bool cs_is_writable(void *word);

// zombie.c
// Makes the copy of the metadata. False: no memory.
bool cs_zombie_make(cs_class *class);

// empties.c: what zero leaves in the fields of a class's objects.
bool cs_empties_make(cs_class *class); // false: no memory
void cs_empties_fill(const cs_class *class, cs_object *object);
bool cs_empties_are(const cs_class *class, const cs_object *object);

// stubs_x86_64.S: the functions that metadata and zombies point at.
extern const uint8_t cs_stubs_absorb[]; // a listed class's destroy, where the deinit is put off
extern const uint8_t cs_stubs_now[];    // and under the other policies
extern const uint8_t cs_stubs_again[];  // a zombie's
extern const uint8_t cs_stubs_call[];
extern const uint8_t cs_stubs_async[];

// thread.c: what the quarantine keeps of each thread.
typedef struct cs_memos cs_memos;
typedef struct cs_thread {
  uint32_t number; // the kernel's; 0: nothing is known yet
  uint64_t random;
  cs_memos *memos; // NULL: none
  // A frame pointer is believed only within these bounds.
  uintptr_t stack_start, stack_end;
} cs_thread;
extern __thread cs_thread cs_this_thread __attribute__((tls_model("initial-exec")));
void cs_thread_learn(void) __attribute__((cold));
static inline cs_thread *cs_thread_known(void) {
  if (__builtin_expect(cs_this_thread.number == 0, false)) cs_thread_learn();
  return &cs_this_thread;
}
// By a thread that is known: Wang Yi's wyrand.
static inline uint64_t cs_thread_random(void) {
  const uint64_t state = cs_this_thread.random += UINT64_C(0xA0761D6478BD642F);
  const __uint128_t product = (__uint128_t)state * (state ^ UINT64_C(0xE7037ED1A0B428DB));
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// queue.c
// The limit is another one.
void cs_queue_resize(cs_class *class, uint32_t limit);
// Gives back what is there, and waits for the reaper where that is behind.
void cs_queue_empty(cs_class *class);
// The same without waiting: what cannot go now stays.
void cs_queue_sweep(cs_class *class);
// A copy of the record of an object; false: none, or it changes all the time.
bool cs_queue_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot);
// The youngest ghost of an object in the places of a class, as a record. False: there is none.
bool cs_queue_find_past(const cs_class *class, const cs_object *object, cs_slot *ret_slot);
// Each last release asks from now on whether there is room: the budget or the class is not as it was.
void cs_queue_close(cs_class *class);
extern _Atomic int64_t cs_queue_left; // of the budget; below 0: that has become smaller
extern _Atomic uint64_t cs_queue_budget;

// evict.c
// The end of an object's time: looks at what was done to it meanwhile, leaves a ghost record, and gives it back to
// Swift. Its deinit has run. False: somebody has retained it and may be using it now, so it gets a second time, unless
// `is_last`.
bool cs_evict(cs_class *class, cs_slot *slot, cs_object *object, bool is_last) __attribute__((cold));
bool cs_evict_deferred(cs_class *class, cs_slot *slot, bool is_last); // and runs its deinit
// The quarantine has done with the object: memory that nobody else refers to is given back.
void cs_claim_end(const cs_class *class, cs_object *object);

// reaper.c: a thread that runs the deinits that were put off, because only a thread without the program's locks may.
bool cs_reaper_start(void);
// What waits for it may be so much of the budget, beside that, or of a budget below the default; and what does.
#define CS_WAITING_SHARE       8
#define CS_WAITING_SHARE_SMALL 10
extern _Atomic uint64_t cs_reaper_most;
extern _Atomic uint64_t cs_reaper_bytes;
// False: it is behind. Until it gets to the object, that stays what it was.
bool cs_reaper_give(const cs_slot *slot, cs_object *object);
// Until it has done what it was given so far. False: it does not run in this process, or it is the caller.
bool cs_reaper_wait(void);
// There is something for it to do now.
void cs_reaper_call(void);
// The record of an object that waits for its deinit, or whose deinit runs. False: there is none.
bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot) SIGNAL_SAFE;

// stacks.c
// What a thread remembers of the stacks that it took last. NULL: no memory.
cs_memos *cs_memos_make(void);
extern _Atomic uint32_t cs_stacks_are_on;
// The number of a stack that reads the same as the caller's; 0: none. `frame` is where the walk begins.
uint32_t cs_stack_take(const void *frame, bool is_use);
// The same of a call of an async function, by the context that it was given: the function that awaits it is not on the
// stack.
uint32_t cs_stack_of_context(uint64_t context);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;
// With the functions that tail calls left without a frame: for what is shown.
void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;

// hits.c
typedef struct cs_touch {
  cs_class *class;
  const cs_object *object;
  const cs_slot *slot; // NULL: unknown
  const void *method;
  const void *frame;
  uint64_t context; // of an async call; 0: none
  uint32_t word;
  cs_quarantine_kind kind;
  int64_t drift;
} cs_touch;
void cs_hit(const cs_touch *touch);

// shown.c
extern cs_quarantine_incident_sink *_Atomic cs_incident_sink; // NULL: none
void cs_shown_by(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes);
void cs_shown_incident(const cs_touch *touch, uint32_t use_stack);
void cs_shown_class(cs_class *class);

// types.c
// "Module.Outer.Inner" of a class's descriptor. False: it has no such name, or too long a one.
#define CS_NAME_BYTES 512
bool cs_type_name(const void *descriptor, char *ret_name);

// layout_probe.c
// Has Swift release two objects of the class for the last time, and compares what its destroy function finds with what
// this code takes for granted. NULL: all as expected; else what is not.
const char *cs_layout_probe(const cs_metadata *metadata);

// destroy.c
// What keeps the objects of a class that is listed under this policy, or is to be.
cs_keep_function *cs_keep_of(const cs_class *class, cs_quarantine_policy policy);
extern bool cs_heap_is_glibc; // and Swift's objects come from its malloc
extern bool cs_libc_is_glibc; // the thread's number is where libc_x86_64.h says

// Of an object of the heap: what glibc's malloc says of it in front of it, with its three flags left out.
static inline uint64_t cs_chunk_bytes(const cs_object *object) {
  return ((const uint64_t *)object)[-1] & ~UINT64_C(7);
}

// liveness.c
// By a system call: the address may be anything.
bool cs_read_at(const void *address, void *ret_bytes, size_t size);
bool cs_metadata_is_readable_class(const cs_metadata *metadata);

// freed_objects.c
// Under absorb, of an object that had left its place.
void cs_freed_object_put(const cs_slot *slot, const cs_object *object);
bool cs_freed_object_find(const void *object, cs_quarantine_liveness *ret_liveness);

// clock_x86_64.c
uint64_t cs_ticks_ns(uint64_t ticks) SIGNAL_SAFE;
void cs_ticks_start(void);

#pragma GCC visibility pop

#endif
