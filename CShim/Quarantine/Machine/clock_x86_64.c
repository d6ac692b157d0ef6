// Converts ticks of the processor's counter into nanoseconds. The tick rate is measured over the whole time since
// cs_ticks_start(), which is called when the first class is listed.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__x86_64__)

#include "../../Handler/Signal/Dispatch/trusted.h"
#include "clock_x86_64.h"

static uint64_t start_ticks, start_ns;

void cs_ticks_start(void) {
  if (start_ticks != 0) return;
  start_ns = cs_clock_ns(CLOCK_MONOTONIC);
  start_ticks = cs_ticks();
}

uint64_t cs_ticks_ns(uint64_t ticks) SIGNAL_SAFE {
  const uint64_t elapsed = cs_ticks() - start_ticks;
  if (elapsed == 0 || (int64_t)ticks < 0) return 0;
  const long double rate = (long double)(cs_clock_ns(CLOCK_MONOTONIC) - start_ns) / (long double)elapsed;
  return (uint64_t)((long double)ticks * rate);
}

#endif
