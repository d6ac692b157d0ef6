// Ticks in nanoseconds: their rate is measured over the whole time since the first class was listed.
#include <time.h>

#include "quarantine.h"
#include "ticks_x86_64.h"

static uint64_t start_ticks, start_ns;

static uint64_t monotonic_ns(void) {
  struct timespec time = {0};
  if (clock_gettime(CLOCK_MONOTONIC, &time) != 0) return 0;
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

void cs_ticks_start(void) {
  if (start_ticks != 0) return;
  start_ns = monotonic_ns();
  start_ticks = cs_ticks();
}

uint64_t cs_ticks_ns(uint64_t ticks) {
  const uint64_t elapsed = cs_ticks() - start_ticks;
  if (elapsed == 0 || (int64_t)ticks < 0) return 0;
  const long double rate = (long double)(monotonic_ns() - start_ns) / (long double)elapsed;
  return (uint64_t)((long double)ticks * rate);
}
