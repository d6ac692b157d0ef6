// A pair of two words, which one instruction loads, stores or compares.
#ifndef CS_PAIR_X86_64_H
#define CS_PAIR_X86_64_H
#if defined(__x86_64__)

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

// These functions are always inlined. Functions that read the frames of other functions are compiled without sanitizer
// checks (READS_FRAMES), and must not call a function that has these checks.
#define CS_PAIR_INLINE __attribute__((always_inline)) static inline

typedef __m128i cs_pair;

CS_PAIR_INLINE cs_pair cs_pair_of(uint64_t value) {
  return _mm_set1_epi64x((int64_t)value);
}

CS_PAIR_INLINE cs_pair cs_pair_load(const void *words) {
  return _mm_loadu_si128(words);
}

CS_PAIR_INLINE void cs_pair_store(void *ret_words, cs_pair pair) {
  _mm_storeu_si128(ret_words, pair);
}

// The result of several comparisons. Each of the four 32-bit parts contains only ones while all compared pairs are
// equal in this part, else zeros.
typedef __m128i cs_pair_result;

CS_PAIR_INLINE cs_pair_result cs_pair_begin(void) {
  return _mm_set1_epi8(-1);
}

CS_PAIR_INLINE cs_pair_result cs_pair_compare(cs_pair_result result, cs_pair left, cs_pair right) {
  return _mm_and_si128(result, _mm_cmpeq_epi32(left, right));
}

// Returns whether the pairs of all comparisons were equal.
CS_PAIR_INLINE bool cs_pair_are_equal(cs_pair_result result) {
  return _mm_movemask_epi8(result) == 0xffff;
}

#endif
#endif
