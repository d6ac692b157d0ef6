// The interface of the quarantine on unsupported platforms: no class can be listed.
#include "cs_platform.h"

#if !CS_SUPPORTED

#include "cs_quarantine.h"

bool cs_quarantine_check(const void *probe, const void *instance, uint64_t probe_size) {
  (void)probe;
  (void)instance;
  (void)probe_size;
  return false;
}

const char *cs_quarantine_unavailable(void) {
  return CS_UNSUPPORTED_TEXT;
}

cs_quarantine_error cs_quarantine_list(const void *metadata, cs_mode policy, uint32_t limit) {
  (void)metadata;
  (void)policy;
  (void)limit;
  return CS_QUARANTINE_UNAVAILABLE;
}

bool cs_quarantine_unlist(const void *metadata) {
  (void)metadata;
  return false;
}

void cs_quarantine_set_budget(uint64_t bytes) {
  (void)bytes;
}

void cs_quarantine_set_stacks(bool is_on) {
  (void)is_on;
}

void cs_quarantine_drain(void) {}

void cs_quarantine_show(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes) {
  (void)incidents;
  (void)classes;
}

void cs_quarantine_crashed(const cs_ring_record *record) SIGNAL_SAFE {
  (void)record;
}

bool cs_quarantine_class(uint32_t index, cs_quarantine_counts *ret_counts) {
  (void)index;
  (void)ret_counts;
  return false;
}

uint64_t cs_quarantine_bytes(void) {
  return 0;
}

void cs_quarantine_here(cs_quarantine_stack *ret_stack) {
  *ret_stack = (cs_quarantine_stack){0};
}

uint64_t cs_quarantine_caller(void) {
  return 0;
}

void cs_quarantine_stack_bounds(uintptr_t *ret_start, uintptr_t *ret_end) {
  *ret_start = *ret_end = 0;
}

void cs_quarantine_missed(const char *name, uint64_t bytes, const cs_quarantine_stack *use) {
  (void)name;
  (void)bytes;
  (void)use;
}

bool cs_quarantine_hit_at(uint32_t index, cs_quarantine_hit *ret_hit) {
  (void)index;
  (void)ret_hit;
  return false;
}

uint64_t cs_quarantine_hits_lost(void) {
  return 0;
}

void cs_quarantine_visit_types(cs_quarantine_type_visitor *visitor, void *context) {
  (void)visitor;
  (void)context;
}

void cs_quarantine_ask(const void *pointer, cs_quarantine_liveness *ret_liveness) {
  (void)pointer;
  *ret_liveness = (cs_quarantine_liveness){0};
}

#endif
