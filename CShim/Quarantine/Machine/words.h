// Operations on an array of words, which process two words at a time. Most objects have only few words. For these
// objects, the entry of a loop that a compiler generates takes more time than the loop saves.
#ifndef CS_WORDS_X86_64_H
#define CS_WORDS_X86_64_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

// If the number of words is odd, the last pair overlaps the pair before it.
static inline void cs_words_fill(uint64_t *word, uint64_t *end, uint64_t value) {
  uint64_t *const last = end - 2;
  if (__builtin_expect(word > last, false)) {
    if (word < end) *word = value;
    return;
  }
  const __m128i pair = _mm_set1_epi64x((int64_t)value);
#pragma clang loop vectorize(disable) unroll(disable)
  for (; __builtin_expect(word < last, false); word += 2)
    _mm_storeu_si128((__m128i *)(void *)word, pair);
  _mm_storeu_si128((__m128i *)(void *)last, pair);
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
  __m128i equal = _mm_set1_epi8(-1);
#pragma clang loop vectorize(disable) unroll(disable)
  for (; end - word >= 2; word += 2, other += 2)
    equal = _mm_and_si128(equal, _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(const void *)word),
                                                 _mm_loadu_si128((const __m128i *)(const void *)other)));
  if (word < end && *word != *other) return false;
  return _mm_movemask_epi8(equal) == 0xffff;
}

#endif
