// What a record keeps of the program's memory: as the program chose, unless crashd says that it is to be nothing. One
// thread at a time: that which starts the shield, then the idle thread; a forked child's only one.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../setup.h"

static uint32_t own_mode; // cs_ring_memory_mode
// Both survive a new start: a forked child withholds memory as its parent did until crashd answers the child.
static bool is_withheld;
static uint32_t withheld_round;

static void apply(void) {
  // Who chose to keep nothing is the one who said so.
  const bool counts = is_withheld && own_mode != CS_RING_MEMORY_NONE;
  const uint32_t mode = counts ? (uint32_t)CS_RING_MEMORY_NONE : own_mode;
  const uint32_t shown = counts ? (uint32_t)CS_RING_MEMORY_WITHHELD : own_mode;
  // relaxed: a crash at this very moment may still have some of what was kept before; crashd takes it out.
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
