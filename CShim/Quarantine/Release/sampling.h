// Which objects are an explorer's: one in twenty, as if each drew a lot of its own, so that no program's rhythm is in
// step with it. To ask for each would cost more than the rest: one lot says how many objects come before the next one.
// How often one has drawn makes no difference: what is left of such a wait is as long as a new one.
#ifndef CS_QUARANTINE_LOTS_H
#define CS_QUARANTINE_LOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../Table/class.h"

#define CS_SAMPLE_WINNERS 20 // one in so many
#define CS_SAMPLE_TURNS   128
#define CS_SAMPLE_GUIDES  256

#pragma GCC visibility push(hidden)

// Out of 2^32: the probability that more objects than this come before the next winner.
extern uint32_t cs_sample_turns[CS_SAMPLE_TURNS + 1]; // the last is 0
// Of a lot, by its first eight bits: how many of these are above all such lots.
extern uint8_t cs_sample_guide[CS_SAMPLE_GUIDES];

#pragma GCC visibility pop

static inline bool cs_sample_wins(uint32_t lot) {
  return lot < UINT32_MAX / CS_SAMPLE_WINNERS + 1;
}

// Of a lot longer than the table: it goes on as it began.
CS_SELDOM uint32_t cs_sample_draw_more(void) __attribute__((visibility("hidden")));

// Which of the objects from now on wins, from 1. By a thread that is known.
static inline uint32_t cs_sample_draw(uint32_t lot) {
  uint32_t first = cs_sample_guide[lot / (UINT32_MAX / CS_SAMPLE_GUIDES + 1)];
#pragma clang loop unroll(disable)
  while (lot < cs_sample_turns[first])
    first++;
  return __builtin_expect(first < CS_SAMPLE_TURNS, true) ? first + 1 : cs_sample_draw_more();
}

#endif
