// The tables that sampling.h declares.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "sampling.h"

#include "../Stacks/thread.h"

uint32_t cs_sample_probability[CS_SAMPLE_DISTANCES + 1];
uint8_t cs_sample_guide[CS_SAMPLE_GUIDES];

uint32_t cs_sample_distance_beyond(void) {
  uint32_t turns = CS_SAMPLE_DISTANCES, first = CS_SAMPLE_DISTANCES;
  for (uint32_t round = 0; round < 16 && first == CS_SAMPLE_DISTANCES; round++) {
    const uint32_t random = (uint32_t)(cs_thread_random() >> 32);
    for (first = 0; random < cs_sample_probability[first];)
      first++;
    turns += first;
  }
  return turns + 1;
}

__attribute__((constructor)) static void prepare(void) {
  uint64_t probability = UINT32_MAX;
  for (uint32_t index = 0; index < CS_SAMPLE_DISTANCES; index++) {
    probability = probability * (CS_SAMPLE_RATE - 1) / CS_SAMPLE_RATE;
    cs_sample_probability[index] = (uint32_t)probability;
  }
  const uint32_t width = UINT32_MAX / CS_SAMPLE_GUIDES + 1;
  for (uint32_t index = 0; index < CS_SAMPLE_GUIDES; index++) {
    const uint32_t last = index * width + (width - 1);
    while (cs_sample_guide[index] < CS_SAMPLE_DISTANCES && last < cs_sample_probability[cs_sample_guide[index]])
      cs_sample_guide[index]++;
  }
}

#endif
