// Operations on an array of words, which process two words at a time. Most objects have only few words: the setup code
// that a compiler generates for a vectorized loop would take more time than it saves.
#ifndef CS_WORDS_H
#define CS_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "pair_aarch64.h"
#include "pair_x86_64.h"

// If the number of words is odd, the last pair overlaps the pair before it.
static inline void cs_words_fill(uint64_t *word, uint64_t *end, uint64_t value) {
  uint64_t *const last = end - 2;
  if (__builtin_expect(word > last, false)) {
    if (word < end) *word = value;
    return;
  }
  const cs_pair pair = cs_pair_of(value);
#pragma clang loop vectorize(disable) unroll(disable)
  for (; __builtin_expect(word < last, false); word += 2)
    cs_pair_store(word, pair);
  cs_pair_store(last, pair);
}

static inline bool cs_words_are(const uint64_t *word, const uint64_t *end, uint64_t value) {
  const uint64_t *const last = end - 2;
  if (__builtin_expect(word > last, false)) return word >= end || *word == value;
  uint64_t differences = 0;
#pragma clang loop vectorize(disable) unroll(disable)
  for (; __builtin_expect(word < last, false); word += 2)
    differences |= (word[0] ^ value) | (word[1] ^ value);
  return (differences | (last[0] ^ value) | (last[1] ^ value)) == 0;
}

static inline bool cs_words_equal(const uint64_t *word, const uint64_t *other, uint32_t count) {
  const uint64_t *const end = word + count;
  cs_pair_result result = cs_pair_begin();
#pragma clang loop vectorize(disable) unroll(disable)
  for (; end - word >= 2; word += 2, other += 2)
    result = cs_pair_compare(result, cs_pair_load(word), cs_pair_load(other));
  if (word < end && *word != *other) return false;
  return cs_pair_are_equal(result);
}

#endif
