// The last things the program says it did.
#include <string.h>

#include "../setup.h"

#include "../../Signal/Dispatch/trusted.h"

// Takes the entry for writing. Each has one writer at a time: a thread that was overtaken by a whole round of the ring
// loses its text rather than mixing it with another.
static bool take(cs_ring_breadcrumb *breadcrumb, uint64_t ticket) {
  // The first round finds the entries as they were made.
  if (ticket < CS_RING_BREADCRUMB_LIMIT) return true;
  uint64_t seen = __atomic_load_n(&breadcrumb->sequence, __ATOMIC_RELAXED);
  if (seen == 0 || seen > ticket) return false;
  return __atomic_compare_exchange_n(&breadcrumb->sequence, &seen, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void cs_shim_breadcrumb(const char *text, size_t text_bytes) {
  cs_ring *ring = cs_started_ring();
  if (ring == NULL) return;
  const uint64_t ticket = __atomic_fetch_add(&ring->header.breadcrumb_head, 1, __ATOMIC_RELAXED);
  cs_ring_breadcrumb *breadcrumb = &ring->breadcrumbs[ticket % CS_RING_BREADCRUMB_LIMIT];
  if (!take(breadcrumb, ticket)) return;
  __atomic_thread_fence(__ATOMIC_RELEASE); // the 0 is seen before any of what follows
  const size_t kept = cs_text_cut(text, text_bytes, sizeof breadcrumb->text);
  breadcrumb->time_ns = cs_clock_ns(CLOCK_REALTIME);
  breadcrumb->text_bytes = (uint32_t)kept;
  memcpy(breadcrumb->text, text, kept);
  // release: pairs with cs_ring_breadcrumb_sequence_acquire().
  __atomic_store_n(&breadcrumb->sequence, ticket + 1, __ATOMIC_RELEASE);
}
