// The fields of an object: the memory after its header.
#ifndef CS_QUARANTINE_FIELDS_H
#define CS_QUARANTINE_FIELDS_H

#include "../Machine/words.h"
#include "class.h"

#define CS_FIELDS_AUDITED 16 // the maximum number of words of an object that are checked for changes

// Computes a checksum with only two instructions for each word. Because the factor is odd, a change of a single word
// always changes the checksum.
static inline uint64_t cs_fields_checksum(const cs_class *class, const cs_object *object) {
  const uint64_t *word = (const uint64_t *)object + class->first_field;
  const uint64_t *const end = (const uint64_t *)object + class->audited_end;
  uint64_t sum = 1;
#pragma clang loop unroll(disable)
  for (; word < end; word++)
    sum = sum * UINT64_C(0x9E3779B97F4A7C15) + *word;
  return sum;
}

static inline uint64_t cs_fields_filling(cs_mode policy, uint64_t label) {
  return policy == CS_MODE_DIAGNOSE ? label & ~CS_LABEL_STAYED : 0;
}

// Fills the fields of an object. If the filling is 0, each field gets the empty value of its type.
static inline void cs_fields_fill(const cs_class *class, cs_object *object, uint64_t filling) {
  if (class->empties != NULL && filling == 0) return cs_empties_fill(class, object);
  uint64_t *const end = (uint64_t *)object + class->filled_end;
  cs_words_fill((uint64_t *)object + class->first_field, end, filling);
  if (class->tail_mask != 0) *end = (*end & ~class->tail_mask) | (filling & class->tail_mask);
}

// Returns whether the fields of the object have not changed since they were filled.
static inline bool cs_fields_are(const cs_class *class, const cs_object *object, uint64_t filling) {
  if (class->empties != NULL && filling == 0) return cs_empties_are(class, object);
  return cs_words_are((const uint64_t *)object + class->first_field, (const uint64_t *)object + class->audited_end,
                      filling);
}

#endif
