// What an object has behind its header.
#ifndef CS_QUARANTINE_FIELDS_H
#define CS_QUARANTINE_FIELDS_H

#include "quarantine.h"

#define CS_FIELDS_AUDITED 16 // words at most
#define CS_POISON_TAG     UINT64_C(0xEFED)

static inline uint32_t cs_fields_words(uint32_t bytes) {
  return bytes <= sizeof(cs_object) ? 0 : (bytes - (uint32_t)sizeof(cs_object)) / 8;
}

static inline uint32_t cs_fields_audited(uint32_t first, uint32_t bytes) {
  const uint32_t count = cs_fields_words(bytes);
  if (count <= first) return 0;
  return count - first < CS_FIELDS_AUDITED ? count - first : CS_FIELDS_AUDITED;
}

// Two instructions a word. The factor is odd, so a change of one word always shows.
static inline uint64_t cs_fields_checksum(const cs_class *class, const cs_object *object) {
  const uint64_t *word = object->fields + class->first_field, *const end = word + class->fields;
  uint64_t sum = 1;
  for (; word + 1 < end; word += 2)
    sum = (sum * UINT64_C(0x9E3779B97F4A7C15) + word[0]) * UINT64_C(0x9E3779B97F4A7C15) + word[1];
  if (word < end) sum = sum * UINT64_C(0x9E3779B97F4A7C15) + word[0];
  return sum;
}

// Bit 63 makes the runtime's retain and release of such a field do nothing, and every dereference a fault whose
// register tells the record.
static inline uint64_t cs_fields_filling(cs_quarantine_policy policy, uint32_t id) {
  return policy == CS_QUARANTINE_DIAGNOSE ? CS_POISON_TAG << 48 | (uint64_t)id << 16 | 0x8000 : 0;
}

static inline void cs_fields_fill(const cs_class *class, cs_object *object, uint64_t filling) {
  const uint32_t bytes = class->metadata->instance_size;
  uint64_t *word = object->fields + class->first_field;
  uint64_t *const end = object->fields + cs_fields_words(bytes);
  // The usual object is small: a loop that the compiler unrolls costs more to enter than it saves.
#pragma clang loop vectorize(disable) unroll(disable)
  for (; word < end; word++)
    *word = filling;
  if (bytes % 8 == 0 || word > end) return;
  uint8_t *const rest = (uint8_t *)word;
  for (uint32_t index = 0; index < bytes % 8; index++)
    rest[index] = (uint8_t)(filling >> (index * 8));
}

// Whether nobody wrote since.
static inline bool cs_fields_are(const cs_class *class, const cs_object *object, uint64_t filling) {
  const uint64_t *word = object->fields + class->first_field, *const end = word + class->fields;
  for (; word < end; word++) {
    if (*word != filling) return false;
  }
  return true;
}

#endif
