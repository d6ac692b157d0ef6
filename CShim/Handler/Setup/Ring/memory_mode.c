// Determines how much memory of the program a crash record contains. The program chooses the mode, and crashd can
// request records without any memory. Only one thread at a time calls these functions: first the thread that starts the
// shield, and later the connection's thread. A forked child calls them on its only thread.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../setup.h"

static uint32_t own_mode; // cs_ring_memory_mode
// The next two variables keep their values when the program starts the shield again. If the parent withheld memory at
// crashd's request, a forked child also withholds it until crashd has answered the child's first message (hello).
static bool is_withheld;
static uint32_t withheld_round;

static void apply(void) {
  // If the program chose the mode "none", the ring shows "none". It does not show "withheld", even if crashd also
  // requested to withhold memory.
  const bool counts = is_withheld && own_mode != CS_RING_MEMORY_NONE;
  const uint32_t mode = counts ? (uint32_t)CS_RING_MEMORY_NONE : own_mode;
  const uint32_t shown = counts ? (uint32_t)CS_RING_MEMORY_WITHHELD : own_mode;
  // relaxed: a concurrent crash can still record memory under the old mode. crashd removes this memory from the report.
  __atomic_store_n(&cs_process.memory_mode, mode, __ATOMIC_RELAXED);
  __atomic_store_n(&cs_process.memory_shown, shown, __ATOMIC_RELAXED);
  cs_memory_mode_show();
}

void cs_memory_mode_choose(uint32_t mode) {
  own_mode = mode;
  apply();
}

void cs_memory_mode_withhold(uint32_t round) {
  is_withheld = true;
  withheld_round = round;
  apply();
}

void cs_memory_mode_sweep(uint32_t round) {
  if (!is_withheld || round == withheld_round) return;
  is_withheld = false;
  apply();
}

#endif
