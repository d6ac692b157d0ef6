// Geometric sampling, 1 in 20: independent of allocation patterns, as the SampleRate of GWP-ASan. One random number
// gives the distance to the next sampled object, which costs less than one for each object. A distance may be drawn
// anew at any time: what is left of it is distributed as a new one.
#ifndef CS_QUARANTINE_SAMPLING_H
#define CS_QUARANTINE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "../Table/class.h"

#define CS_SAMPLE_RATE      20 // one in so many
#define CS_SAMPLE_DISTANCES 128
#define CS_SAMPLE_GUIDES    256

#pragma GCC visibility push(hidden)

// Out of 2^32: the probability that more objects than this come before the next sampled one.
extern uint32_t cs_sample_probability[CS_SAMPLE_DISTANCES + 1]; // the last is 0
// Where the search begins for a random number, by its first eight bits.
extern uint8_t cs_sample_guide[CS_SAMPLE_GUIDES];

#pragma GCC visibility pop

static inline bool cs_sample_is_chosen(uint32_t random) {
  return random < UINT32_MAX / CS_SAMPLE_RATE + 1;
}

// A distance beyond the table.
CS_SELDOM uint32_t cs_sample_distance_beyond(void) __attribute__((visibility("hidden")));

// The distance to the next sampled object, from 1. Precondition: cs_thread_known() on this thread.
static inline uint32_t cs_sample_distance(uint32_t random) {
  uint32_t first = cs_sample_guide[random / (UINT32_MAX / CS_SAMPLE_GUIDES + 1)];
#pragma clang loop unroll(disable)
  while (random < cs_sample_probability[first])
    first++;
  return __builtin_expect(first < CS_SAMPLE_DISTANCES, true) ? first + 1 : cs_sample_distance_beyond();
}

#endif
