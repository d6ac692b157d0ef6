// Geometric sampling: on average, 1 of 20 objects is sampled and goes to the explorer, from which objects are evicted
// at random (turn.h). As with the SampleRate of GWP-ASan, the selection does not depend on the program's allocation
// pattern. One random number determines the distance (the number of objects) to the next sampled object. This costs
// less than a random number for each object. The rest of a distance has the same distribution as a new distance, so a
// new distance can be drawn at any time.
#ifndef CS_QUARANTINE_SAMPLING_H
#define CS_QUARANTINE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "../Table/class.h"

#define CS_SAMPLE_RATE      20 // on average, one of this many objects is sampled
#define CS_SAMPLE_DISTANCES 128
#define CS_SAMPLE_GUIDES    256

#pragma GCC visibility push(hidden)

// The probability, multiplied by 2^32, that the distance to the next sampled object is larger than the index.
extern uint32_t cs_sample_probability[CS_SAMPLE_DISTANCES + 1]; // the last element is 0
// For the highest eight bits of a random number: the index in cs_sample_probability at which the search for this number
// starts.
extern uint8_t cs_sample_guide[CS_SAMPLE_GUIDES];

#pragma GCC visibility pop

static inline bool cs_sample_is_chosen(uint32_t random) {
  return random < UINT32_MAX / CS_SAMPLE_RATE + 1;
}

// Returns a random distance above CS_SAMPLE_DISTANCES, the largest distance in the table.
CS_SELDOM uint32_t cs_sample_distance_beyond(void) __attribute__((visibility("hidden")));

// Returns the distance to the next sampled object, at least 1. Precondition: cs_thread_known() was called on this
// thread.
static inline uint32_t cs_sample_distance(uint32_t random) {
  uint32_t first = cs_sample_guide[random / (UINT32_MAX / CS_SAMPLE_GUIDES + 1)];
#pragma clang loop unroll(disable)
  while (random < cs_sample_probability[first])
    first++;
  return __builtin_expect(first < CS_SAMPLE_DISTANCES, true) ? first + 1 : cs_sample_distance_beyond();
}

#endif
