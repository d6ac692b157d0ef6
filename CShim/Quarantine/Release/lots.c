// The tables of lots.h.
#include "lots.h"

uint32_t cs_lot_turns[CS_LOT_TURNS + 1];
uint8_t cs_lot_guide[CS_LOT_GUIDES];

uint32_t cs_lot_draw_more(void) {
  uint32_t turns = CS_LOT_TURNS, first = CS_LOT_TURNS;
  for (uint32_t round = 0; round < 16 && first == CS_LOT_TURNS; round++) {
    const uint32_t lot = (uint32_t)(cs_thread_random() >> 32);
    for (first = 0; lot < cs_lot_turns[first];)
      first++;
    turns += first;
  }
  return turns + 1;
}

__attribute__((constructor)) static void prepare(void) {
  uint64_t probability = UINT32_MAX;
  for (uint32_t index = 0; index < CS_LOT_TURNS; index++) {
    probability = probability * (CS_LOT_WINNERS - 1) / CS_LOT_WINNERS;
    cs_lot_turns[index] = (uint32_t)probability;
  }
  const uint32_t width = UINT32_MAX / CS_LOT_GUIDES + 1;
  for (uint32_t index = 0; index < CS_LOT_GUIDES; index++) {
    const uint32_t last = index * width + (width - 1);
    while (cs_lot_guide[index] < CS_LOT_TURNS && last < cs_lot_turns[cs_lot_guide[index]])
      cs_lot_guide[index]++;
  }
}
