// One byte a kind of guard.
#include <stdatomic.h>

#include "cs_guards.h"

// Kept as the difference from what holds until somebody says otherwise.
#define STANDARD CS_GUARD_ABSORB

static _Atomic uint8_t modes[CS_GUARD_KINDS];

cs_guard_mode cs_guard_mode_of(uint32_t kind) {
  if (kind >= CS_GUARD_KINDS) return CS_GUARD_OFF;
  return atomic_load_explicit(&modes[kind], memory_order_relaxed) ^ STANDARD;
}

void cs_guard_set_mode(uint32_t kind, cs_guard_mode mode) {
  if (kind < CS_GUARD_KINDS) atomic_store_explicit(&modes[kind], mode ^ STANDARD, memory_order_relaxed);
}
