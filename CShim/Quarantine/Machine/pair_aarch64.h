// A pair of two words, which one instruction loads or stores.
#ifndef CS_PAIR_AARCH64_H
#define CS_PAIR_AARCH64_H
#if defined(__aarch64__)

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// These functions are always inlined. Functions that read the frames of other functions are compiled without sanitizer
// checks (READS_FRAMES), and must not call a function that has these checks.
#define CS_PAIR_INLINE __attribute__((always_inline)) static inline

typedef struct cs_pair {
  uint64_t low;
  uint64_t high;
} cs_pair;

CS_PAIR_INLINE cs_pair cs_pair_of(uint64_t value) {
  return (cs_pair){value, value};
}

CS_PAIR_INLINE cs_pair cs_pair_load(const void *words) {
  cs_pair pair;
  memcpy(&pair, words, sizeof pair);
  return pair;
}

CS_PAIR_INLINE void cs_pair_store(void *ret_words, cs_pair pair) {
  memcpy(ret_words, &pair, sizeof pair);
}

// The result of several comparisons: the bits in which two pairs differ.
typedef uint64_t cs_pair_result;

CS_PAIR_INLINE cs_pair_result cs_pair_begin(void) {
  return 0;
}

CS_PAIR_INLINE cs_pair_result cs_pair_compare(cs_pair_result result, cs_pair left, cs_pair right) {
  return result | (left.low ^ right.low) | (left.high ^ right.high);
}

// Returns whether the pairs of all comparisons were equal.
CS_PAIR_INLINE bool cs_pair_are_equal(cs_pair_result result) {
  return result == 0;
}

#endif
#endif
