// One byte a kind of guard, and one for what protects without being asked at the place.
#include <stdatomic.h>

#include "cs_guards.h"

// Kept as the difference from what holds until somebody says otherwise.
#define STANDARD          CS_GUARD_ABSORB
#define IMPLICIT_STANDARD CS_GUARD_OBSERVE

static _Atomic uint8_t modes[CS_GUARD_KINDS];
static _Atomic uint8_t implicit_modes[CS_GUARD_KINDS];
static __thread uint64_t probe_line, probe_pc;

cs_guard_mode cs_guard_mode_of(uint32_t kind) {
  if (kind >= CS_GUARD_KINDS) return CS_GUARD_OFF;
  return atomic_load_explicit(&modes[kind], memory_order_relaxed) ^ STANDARD;
}

void cs_guard_set_mode(uint32_t kind, cs_guard_mode mode) {
  if (kind < CS_GUARD_KINDS) atomic_store_explicit(&modes[kind], mode ^ STANDARD, memory_order_relaxed);
}

cs_guard_mode cs_guard_implicit_mode_of(uint32_t kind) {
  if (kind >= CS_GUARD_KINDS) return CS_GUARD_OFF;
  return atomic_load_explicit(&implicit_modes[kind], memory_order_relaxed) ^ IMPLICIT_STANDARD;
}

void cs_guard_set_implicit_mode(uint32_t kind, cs_guard_mode mode) {
  if (kind < CS_GUARD_KINDS)
    atomic_store_explicit(&implicit_modes[kind], mode ^ IMPLICIT_STANDARD, memory_order_relaxed);
}

uint64_t cs_guard_probe_line(void) {
  return probe_line;
}

void cs_guard_set_probe_line(uint64_t line) {
  probe_line = line;
}

uint64_t cs_guard_probe_pc(void) {
  return probe_pc;
}

void cs_guard_set_probe_pc(uint64_t pc) {
  probe_pc = pc;
}
