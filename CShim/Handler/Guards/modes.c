// The modes of guards (whether a guard absorbs a failure, observes it, or is off): one byte for each kind of guard, and
// one for each kind of implicit guard. Separate bytes contain the operator's overrides, which take precedence. All
// accesses are relaxed, because a mode does not refer to other data.
#include <stdatomic.h>

#include "cs_attach.h"
#include "cs_guards.h"

_Static_assert(CS_CONTROL_GUARD_KINDS == CS_GUARD_KINDS, "a message has a byte for each kind");
// Each byte contains the difference from the default mode, so that 0, the initial value of static memory, means the
// default mode.
#define STANDARD          CS_MODE_ABSORB
#define IMPLICIT_STANDARD CS_MODE_OBSERVE

static _Atomic uint8_t modes[CS_GUARD_KINDS];
static _Atomic uint8_t implicit_modes[CS_GUARD_KINDS];
// The operator's overrides. Each byte is a cs_control_guard.
static _Atomic uint8_t operator_words[CS_GUARD_KINDS];
static _Atomic uint8_t implicit_operator_words[CS_GUARD_KINDS];
static _Atomic uint32_t operator_round;
static __thread uint64_t probe_line, probe_pc;

// Precondition: the operator has set a mode for this kind. control.c rejects invalid numbers.
static cs_mode mode_of(cs_control_guard word) {
  return word == CS_CONTROL_GUARD_OBSERVE  ? CS_MODE_OBSERVE
         : word == CS_CONTROL_GUARD_ABSORB ? CS_MODE_ABSORB
                                           : CS_MODE_OFF;
}

cs_mode cs_guard_mode_of(uint32_t kind) {
  if (kind >= CS_GUARD_KINDS) return CS_MODE_OFF;
  const uint8_t word = atomic_load_explicit(&operator_words[kind], memory_order_relaxed);
  if (word != CS_CONTROL_GUARD_PROGRAM) return mode_of(word);
  return atomic_load_explicit(&modes[kind], memory_order_relaxed) ^ STANDARD;
}

void cs_guard_set_mode(uint32_t kind, cs_mode mode) {
  if (kind < CS_GUARD_KINDS) atomic_store_explicit(&modes[kind], mode ^ STANDARD, memory_order_relaxed);
}

cs_mode cs_guard_implicit_mode_of(uint32_t kind) {
  if (kind >= CS_GUARD_KINDS) return CS_MODE_OFF;
  const uint8_t word = atomic_load_explicit(&implicit_operator_words[kind], memory_order_relaxed);
  if (word != CS_CONTROL_GUARD_PROGRAM) return mode_of(word);
  return atomic_load_explicit(&implicit_modes[kind], memory_order_relaxed) ^ IMPLICIT_STANDARD;
}

void cs_guard_set_implicit_mode(uint32_t kind, cs_mode mode) {
  if (kind < CS_GUARD_KINDS)
    atomic_store_explicit(&implicit_modes[kind], mode ^ IMPLICIT_STANDARD, memory_order_relaxed);
}

// Returns the number of kinds for which `new_words` contains a mode.
static uint32_t set_words(_Atomic uint8_t *words, const uint8_t *new_words) {
  uint32_t count = 0;
  for (uint32_t kind = 0; kind < CS_GUARD_KINDS; kind++) {
    atomic_store_explicit(&words[kind], new_words[kind], memory_order_relaxed);
    if (new_words[kind] != 0) count++;
  }
  return count;
}

uint32_t cs_guard_set_operator_modes(const uint8_t *new_modes, const uint8_t *new_implicit_modes, uint32_t round) {
  atomic_store_explicit(&operator_round, round, memory_order_relaxed);
  return set_words(operator_words, new_modes) + set_words(implicit_operator_words, new_implicit_modes);
}

void cs_guard_sweep(uint32_t round) {
  static const uint8_t nothing[CS_GUARD_KINDS] = {0};
  // A round is a set of controls that crashd sends together. In round 0, crashd sends no overrides. A sweep of round 0
  // therefore removes all overrides, even if `operator_round` is also 0.
  if (round == 0 || atomic_load_explicit(&operator_round, memory_order_relaxed) != round)
    (void)cs_guard_set_operator_modes(nothing, nothing, round);
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
