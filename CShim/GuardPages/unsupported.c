// The interface of guard pages on unsupported platforms, where malloc is not interposed.
#include "cs_platform.h"

#if !CS_SUPPORTED

#include "cs_guard_pages.h"

const char *cs_pages_unavailable(void) {
  return CS_UNSUPPORTED_TEXT;
}

cs_pages_error cs_pages_list(const void *metadata, uint32_t bytes, uint32_t alignment, const char *name,
                             uint32_t name_bytes, cs_mode policy) {
  (void)metadata;
  (void)bytes;
  (void)alignment;
  (void)name;
  (void)name_bytes;
  (void)policy;
  return CS_PAGES_UNAVAILABLE;
}

bool cs_pages_unlist(const void *metadata) {
  (void)metadata;
  return false;
}

void cs_pages_configure(uint32_t slots, uint32_t one_in) {
  (void)slots;
  (void)one_in;
}

void cs_pages_count(cs_pages_counts *ret_counts) {
  *ret_counts = (cs_pages_counts){0};
}

bool cs_pages_incident_at(uint32_t index, cs_ring_incident *ret_incident) {
  (void)index;
  (void)ret_incident;
  return false;
}

uint64_t cs_pages_incidents_lost(void) {
  return 0;
}

#endif
