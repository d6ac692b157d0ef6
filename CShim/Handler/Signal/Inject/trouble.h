// What tests let happen inside the handler: cs_testing.h. In a program it costs a load and a branch a place.
#ifndef CS_TROUBLE_H
#define CS_TROUBLE_H

#include "cs_signal_safe.h"
#include "cs_testing.h"
#include "../Dispatch/state.h"

// The trouble that was asked for at `place`; does not return then.
void cs_trouble_begin(void) SIGNAL_SAFE;

// The process that holds a thread; 0 when none does.
int cs_trouble_holder(void) SIGNAL_SAFE;

static inline void cs_trouble_here(cs_trouble_place place) SIGNAL_SAFE {
  if ((cs_process.trouble_places & place) != 0) cs_trouble_begin();
}

// Whether the watcher is to wait until there is trouble.
static inline bool cs_trouble_is_awaited(void) SIGNAL_SAFE {
  return __atomic_load_n(&cs_process.trouble_met, __ATOMIC_RELAXED) < cs_process.trouble_awaited;
}

#endif
