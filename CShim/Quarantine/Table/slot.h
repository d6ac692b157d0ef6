// The slot of an object in quarantine. Its first half is the record of the object's last release: the object's address,
// and the time, the thread and the stack of the release. Its second half is the record of the slot's previous object
// (freed-object record).
#ifndef CS_QUARANTINE_SLOT_H
#define CS_QUARANTINE_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Runtime/abi.h"
#include "cs_quarantine.h"

// A slot is one cache line. A thread locks it by exchanging `object` for CS_SLOT_BUSY, and unlocks it by storing
// another value in `object`. The thread's writes to the other fields become visible in between. If a reader finds that
// `object`, `ticks` and `label` have not changed during its reads, all fields that it has read belong to the same
// object.
typedef struct cs_slot {
  cs_object *_Atomic object; // the object, CS_SLOT_BUSY or CS_SLOT_EMPTY; NULL: the slot was never used
  uint64_t ticks;            // the time of the last release in ticks of the clock; 0: the slot was never used
  uint64_t label;
  // `thread` and `stack` form one 64-bit word, and one store writes both.
  uint32_t thread;
  uint32_t stack;
  // The freed-object record of the slot's previous object, with the same fields as the first half. Under the policy
  // absorb, this record is in a separate table (freed_objects.h): `past` is NULL, and `checksum` is the checksum of the
  // present object's fields.
  const cs_object *past;
  union {
    uint64_t past_ticks;
    uint64_t checksum;
  };
  uint64_t past_label;
  uint32_t past_thread;
  uint32_t past_stack;
} cs_slot;

// Two values of `object` that are not objects. They point to memory that can be read like an object, and whose counts
// differ from those of all objects in quarantine. A single test of the counts therefore also detects these two values.
extern const uint64_t cs_slot_marks[2][2] __attribute__((visibility("hidden")));
#define CS_SLOT_BUSY  ((cs_object *)(uintptr_t)cs_slot_marks[0])
#define CS_SLOT_EMPTY ((cs_object *)(uintptr_t)cs_slot_marks[1])

_Static_assert(sizeof(cs_slot) == 64, "a cache line");
_Static_assert(offsetof(cs_slot, past) == 32, "both records have the same size");

// A label consists of the size of the object's chunk (16 bits), the record number (32 bits), and the mark of the policy
// (16 bits). Under the policy diagnose, the label fills the fields of the object. If the program then uses such a field
// as a reference, retains and releases have no effect, because the mark sets bit 63, and each access faults, because
// the label is not a valid address. The register that was used for the access contains the label and thus identifies
// the record, even if an offset was added: the lowest 16 bits are near the middle of their range, so the addition does
// not change the higher bits.
#define CS_LABEL_SIZE_BITS     16
#define CS_LABEL_SIZE          UINT64_C(0xFFFF)
#define CS_LABEL_NUMBER        (UINT64_C(0xFFFFFFFF) << CS_LABEL_SIZE_BITS)
#define CS_LABEL_MARK_SHIFT    48
#define CS_LABEL_MARK_ABSORB   UINT64_C(2)
#define CS_LABEL_MARK_ZERO     UINT64_C(1)
#define CS_LABEL_MARK_DIAGNOSE UINT64_C(0xEFED)
// A bit in the mark: the object was retained when it was to be evicted, so it stays until its slot is evicted the next
// time (a second round).
#define CS_LABEL_STAYED (UINT64_C(1) << 60)
_Static_assert((CS_LABEL_MARK_DIAGNOSE << CS_LABEL_MARK_SHIFT & CS_LABEL_STAYED) == 0,
               "the mark does not use this bit");

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

// The encoding of a chunk's size in a label: below 256 KiB in units of 16 bytes, otherwise in units of 16 KiB, rounded
// up.
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

// Returns the number of bytes that are charged to the budget for the slot and its object.
static inline uint32_t cs_slot_bytes(const cs_slot *slot) {
  return cs_label_bytes(slot->label) + (uint32_t)sizeof *slot;
}

// A record number identifies a record. It consists of the index of the class, a bit that is set for slots of the
// explorer (turn.h), and an ordinal. The ordinal starts at the slot's index, and each object in the slot increases it
// by a stride. With this stride, 2^20 divided by the golden ratio, about 400,000 successive objects of a class have
// different ordinals, for any limit of the class.
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
