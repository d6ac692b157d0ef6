// The slot of one object in quarantine, and its record: the object, the time and the thread of its last release.
#ifndef CS_QUARANTINE_SLOT_H
#define CS_QUARANTINE_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Runtime/abi.h"
#include "cs_quarantine.h"

// One cache line. The thread that swaps CS_SLOT_BUSY for `object` holds the slot until it stores something else there.
// It writes `ticks` before the rest of the first half: a reader that sees them unchanged has read one object's record.
typedef struct cs_slot {
  cs_object *_Atomic object; // or CS_SLOT_EMPTY; NULL: the slot has never been used
  uint64_t ticks;            // of the last release; 0: the slot has had no object yet
  uint64_t label;
  // One word, so that both are written at once.
  uint32_t thread;
  uint32_t stack;
  // The freed-object record of the slot's previous object: the same words. Under absorb it is elsewhere
  // (freed_objects.h): NULL, and what follows is the checksum of the fields.
  const cs_object *past;
  union {
    uint64_t past_ticks;
    uint64_t checksum;
  };
  uint64_t past_label;
  uint32_t past_thread;
  uint32_t past_stack;
} cs_slot;

// Marks that stand for no object. They can be read as one, with counts that no object in quarantine has: so one test
// covers them as well.
extern const uint64_t cs_slot_marks[2][2] __attribute__((visibility("hidden")));
#define CS_SLOT_BUSY  ((cs_object *)(uintptr_t)cs_slot_marks[0])
#define CS_SLOT_EMPTY ((cs_object *)(uintptr_t)cs_slot_marks[1])

_Static_assert(sizeof(cs_slot) == 64, "a cache line");
_Static_assert(offsetof(cs_slot, past) == 32, "as long as what it is of");

// A label: 16 bits for the bytes of the object's chunk, 32 of the record's number, and 16 that are the mark of its
// policy. Under diagnose the object's fields are filled with its label: no two records have the same filling, and a
// write shows by one comparison a field. The mark of diagnose has bit 63: retain and release of such a field do
// nothing, and it is no address. Every dereference is a fault whose register leads to the record, also with an offset
// added, as the lowest half is about in the middle of its range.
#define CS_LABEL_SIZE_BITS     16
#define CS_LABEL_SIZE          UINT64_C(0xFFFF)
#define CS_LABEL_NUMBER        (UINT64_C(0xFFFFFFFF) << CS_LABEL_SIZE_BITS)
#define CS_LABEL_MARK_SHIFT    48
#define CS_LABEL_MARK_ABSORB   UINT64_C(2)
#define CS_LABEL_MARK_ZERO     UINT64_C(1)
#define CS_LABEL_MARK_DIAGNOSE UINT64_C(0xEFED)
// Beside it: the object was retained when its time had come, so it got more.
#define CS_LABEL_STAYED (UINT64_C(1) << 60)
_Static_assert((CS_LABEL_MARK_DIAGNOSE << CS_LABEL_MARK_SHIFT & CS_LABEL_STAYED) == 0, "no bit of a mark");

static inline uint64_t cs_label_mark_of(cs_mode policy) {
  return (policy == CS_MODE_ABSORB ? CS_LABEL_MARK_ABSORB
          : policy == CS_MODE_ZERO ? CS_LABEL_MARK_ZERO
                                   : CS_LABEL_MARK_DIAGNOSE)
         << CS_LABEL_MARK_SHIFT;
}

static inline cs_mode cs_label_policy(uint64_t label) {
  const uint64_t mark = (label & ~CS_LABEL_STAYED) >> CS_LABEL_MARK_SHIFT;
  return mark == CS_LABEL_MARK_ABSORB ? CS_MODE_ABSORB : mark == CS_LABEL_MARK_ZERO ? CS_MODE_ZERO : CS_MODE_DIAGNOSE;
}

static inline cs_mode cs_slot_policy(const cs_slot *slot) {
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

// A record's number: its class, whether its place is the explorer's, and above an ordinal that begins with the slot's
// index and grows by a stride with each object. The stride is 2^20 divided by the golden ratio, so that some 400,000
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

#endif
