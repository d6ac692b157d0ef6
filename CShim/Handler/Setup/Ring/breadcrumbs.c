// Breadcrumbs: short messages about the last actions of the program.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <string.h>

#include "../setup.h"

#include "../../Signal/Dispatch/trusted.h"

// Claims the entry for writing, because two threads must not write the same entry at the same time. Messages fill the
// entries cyclically. The claim fails if another thread is still writing the entry, or has already written a newer
// message to it. This thread's message is then lost. An entry therefore never contains parts of two messages.
static bool take(cs_ring_breadcrumb *breadcrumb, uint64_t ticket) {
  // At the first write to this entry, no earlier writer can still hold it.
  if (ticket < CS_RING_BREADCRUMB_LIMIT) return true;
  uint64_t seen = __atomic_load_n(&breadcrumb->sequence, __ATOMIC_RELAXED);
  if (seen == 0 || seen > ticket) return false;
  return __atomic_compare_exchange_n(&breadcrumb->sequence, &seen, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// If there is not enough space, a long message is cut so that the metadata gets up to this many bytes. The metadata can
// contain the ID of the current request.
#define METADATA_SHARE_BYTES 96

// Returns the size of the first pair of metadata. A pair consists of a key and a value, which each end with a NUL.
// Returns 0 if there is no complete pair.
static size_t pair_bytes(const char *start, size_t bytes) {
  const char *const key_end = memchr(start, 0, bytes);
  if (key_end == NULL) return 0;
  const size_t key_bytes = (size_t)(key_end - start) + 1;
  const char *const value_end = memchr(key_end + 1, 0, bytes - key_bytes);
  return value_end == NULL ? 0 : (size_t)(value_end - start) + 1;
}

// Copies each pair that still fits into `room` bytes, in order. Returns the total size of the copied pairs. If `to` is
// NULL, only computes the size.
static size_t copy_pairs(uint8_t *to, cs_shim_text pairs, size_t room) {
  size_t kept = 0;
  for (size_t at = 0, bytes; (bytes = pair_bytes(pairs.start + at, pairs.bytes - at)) != 0; at += bytes) {
    if (bytes > room - kept) continue;
    if (to != NULL) memcpy(to + kept, pairs.start + at, bytes);
    kept += bytes;
  }
  return kept;
}

static void write_text(cs_ring_breadcrumb *breadcrumb, cs_shim_text message, cs_shim_text category,
                       cs_shim_text metadata) {
  const size_t category_kept = cs_text_cut(category.start, category.bytes, CS_RING_CATEGORY_LIMIT_BYTES);
  const size_t rest = sizeof breadcrumb->text - category_kept;
  const size_t asked = message.bytes < rest - METADATA_SHARE_BYTES ? message.bytes : rest - METADATA_SHARE_BYTES;
  const size_t metadata_kept = copy_pairs(NULL, metadata, rest - asked);
  const size_t message_kept = cs_text_cut(message.start, message.bytes, rest - metadata_kept);
  breadcrumb->text_bytes = (uint32_t)message_kept;
  breadcrumb->category_bytes = (uint8_t)category_kept;
  breadcrumb->metadata_bytes = (uint16_t)metadata_kept;
  uint8_t *to = breadcrumb->text;
  memcpy(to, message.start, message_kept);
  memcpy(to + message_kept, category.start, category_kept);
  copy_pairs(to + message_kept + category_kept, metadata, rest - asked);
}

void cs_shim_breadcrumb(const char *text, size_t text_bytes) {
  const cs_shim_text none = {.start = "", .bytes = 0};
  cs_shim_breadcrumb_with((cs_shim_text){.start = text, .bytes = text_bytes}, CS_RING_LEVEL_NONE, none, none, 0);
}

void cs_shim_breadcrumb_with(cs_shim_text message, cs_ring_level level, cs_shim_text category, cs_shim_text metadata,
                             uint64_t request) {
  cs_ring *ring = cs_started_ring();
  if (ring == NULL) return;
  const uint64_t ticket = __atomic_fetch_add(&ring->header.breadcrumb_head, 1, __ATOMIC_RELAXED);
  cs_ring_breadcrumb *breadcrumb = &ring->breadcrumbs[ticket % CS_RING_BREADCRUMB_LIMIT];
  if (!take(breadcrumb, ticket)) return;
  __atomic_thread_fence(__ATOMIC_RELEASE); // Ordering: the sequence number 0 of a claimed entry becomes visible before
                                           // the writes below.
  breadcrumb->time_ns = cs_clock_ns(CLOCK_REALTIME);
  breadcrumb->level = level;
  breadcrumb->request = request;
  write_text(breadcrumb, message, category, metadata);
  // release: pairs with cs_ring_breadcrumb_sequence_acquire() in readers.
  __atomic_store_n(&breadcrumb->sequence, ticket + 1, __ATOMIC_RELEASE);
}

#endif
