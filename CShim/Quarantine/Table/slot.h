// The slot of one object in quarantine. It contains the object's record: the object, the time, the thread and the stack
// of its last release.
#ifndef CS_QUARANTINE_SLOT_H
#define CS_QUARANTINE_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Runtime/abi.h"
#include "cs_quarantine.h"

// A slot is one cache line. The thread that swaps CS_SLOT_BUSY for `object` holds the slot until it stores another
// value there. It writes `ticks` before the rest of the first half. A reader that finds `ticks` unchanged has read the
// record of one object.
typedef struct cs_slot {
  cs_object *_Atomic object; // or CS_SLOT_BUSY, CS_SLOT_EMPTY; NULL: the slot has never been used
  uint64_t ticks;            // time of the last release; 0: the slot has had no object yet
  uint64_t label;
  // These two fields form one word and are written at once.
  uint32_t thread;
  uint32_t stack;
  // The freed-object record of the slot's previous object, with the same words. Under absorb, this record is elsewhere
  // (freed_objects.h): `past` is NULL, and the checksum of the fields follows.
  const cs_object *past;
  union {
    uint64_t past_ticks;
    uint64_t checksum;
  };
  uint64_t past_label;
  uint32_t past_thread;
  uint32_t past_stack;
} cs_slot;

// Marks that are not objects. They can be read like objects, and their counts are those of no object in quarantine. One
// test of the counts therefore covers the marks as well.
extern const uint64_t cs_slot_marks[2][2] __attribute__((visibility("hidden")));
#define CS_SLOT_BUSY  ((cs_object *)(uintptr_t)cs_slot_marks[0])
#define CS_SLOT_EMPTY ((cs_object *)(uintptr_t)cs_slot_marks[1])

_Static_assert(sizeof(cs_slot) == 64, "a cache line");
_Static_assert(offsetof(cs_slot, past) == 32, "both records have the same size");

// A label consists of 16 bits for the size of the object's chunk, 32 bits for the number of the record, and 16 bits for
// the mark of its policy. Under diagnose, the object's fields are filled with its label. Each record has a unique
// filling, and one comparison for each field detects a write. The mark of diagnose sets bit 63. Retains and releases of
// such a field have no effect, and the field is not a valid address. Each dereference faults, and the register leads to
// the record. This also works with an offset added, because the lowest 16 bits are near the middle of their range.
#define CS_LABEL_SIZE_BITS     16
#define CS_LABEL_SIZE          UINT64_C(0xFFFF)
#define CS_LABEL_NUMBER        (UINT64_C(0xFFFFFFFF) << CS_LABEL_SIZE_BITS)
#define CS_LABEL_MARK_SHIFT    48
#define CS_LABEL_MARK_ABSORB   UINT64_C(2)
#define CS_LABEL_MARK_ZERO     UINT64_C(1)
#define CS_LABEL_MARK_DIAGNOSE UINT64_C(0xEFED)
// A bit next to the mark: the object was retained when it was to be evicted, and stays for a second round.
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

// The size of a chunk: in units of 16 bytes below 256 KiB, and above in units of 16 KiB, rounded up.
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

// Returns the bytes that are charged to the budget.
static inline uint32_t cs_slot_bytes(const cs_slot *slot) {
  return cs_label_bytes(slot->label) + (uint32_t)sizeof *slot;
}

// The number of a record consists of its class, whether its slot is the explorer's, and an ordinal. The ordinal starts
// with the slot's index, and grows by a stride with each object. The stride is 2^20 divided by the golden ratio: some
// 400,000 objects of a class have different ordinals, whatever the limit of the class is.
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
