// Annotations: pairs of a key and a value, which each crash report of the process contains. A sequence lock protects
// each entry in the ring: a reader copies an entry completely or skips it.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>
#include <string.h>

#include "../setup.h"
#include "cs_ring_access.h"

// Only writers take this lock. The crash handler never takes it.
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

void cs_annotations_reset(void) {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  writing = fresh;
}

size_t cs_text_cut(const char *text, size_t text_bytes, size_t limit) {
  if (text_bytes <= limit) return text_bytes;
  size_t size = limit;
  while (size > 0 && ((uint8_t)text[size] & 0xc0) == 0x80)
    size--;
  return size;
}

static bool has_key(const cs_ring_annotation *annotation, const char *key, size_t key_bytes) {
  return annotation->key_bytes == key_bytes && memcmp(annotation->key, key, key_bytes) == 0;
}

// Returns the entry that has the key. If no entry has it, returns a free entry. Returns NULL if no entry has the key
// and no entry is free.
static cs_ring_annotation *entry_for(cs_ring *ring, const char *key, size_t key_bytes) {
  cs_ring_annotation *unused = NULL;
  for (size_t index = 0; index < CS_RING_ANNOTATION_LIMIT; index++) {
    cs_ring_annotation *annotation = &ring->annotations[index];
    if (has_key(annotation, key, key_bytes)) return annotation;
    if (unused == NULL && annotation->key_bytes == 0) unused = annotation;
  }
  return unused;
}

static void write_entry(cs_ring_annotation *annotation, const char *key, size_t key_bytes, const char *value,
                        size_t value_bytes) {
  const uint32_t sequence = annotation->sequence;
  __atomic_store_n(&annotation->sequence, sequence + 1, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE); // Ordering: the odd number becomes visible before the writes below.
  memcpy(annotation->key, key, key_bytes);
  if (value_bytes > 0) memcpy(annotation->value, value, value_bytes);
  annotation->value_bytes = (uint16_t)value_bytes;
  // A removed entry has no key.
  annotation->key_bytes = value_bytes > 0 ? (uint16_t)key_bytes : 0;
  // release: pairs with cs_ring_annotation_sequence_acquire() in readers.
  __atomic_store_n(&annotation->sequence, sequence + 2, __ATOMIC_RELEASE);
}

// The keys of the annotations whose values come from environment variables. They are written when the shield starts,
// before the program can add annotations.
#define FIXED_KEY_LIMIT 6
static const char *fixed_keys[FIXED_KEY_LIMIT];

static bool is_fixed_key(const char *key, size_t key_bytes) {
  for (size_t index = 0; index < FIXED_KEY_LIMIT; index++) {
    const char *const fixed = fixed_keys[index];
    if (fixed != NULL && strlen(fixed) == key_bytes && memcmp(fixed, key, key_bytes) == 0) return true;
  }
  return false;
}

static bool set(cs_ring *ring, const char *key, size_t key_bytes, const char *value, size_t value_bytes) {
  if (key_bytes == 0) return false;
  const size_t key_kept = cs_text_cut(key, key_bytes, CS_RING_KEY_LIMIT_BYTES);
  if (key_kept == 0) return false;
  const size_t value_kept = cs_text_cut(value, value_bytes, CS_RING_VALUE_LIMIT_BYTES);
  pthread_mutex_lock(&writing);
  cs_ring_annotation *annotation = entry_for(ring, key, key_kept);
  const bool has_room = annotation != NULL;
  if (has_room && (value_kept > 0 || annotation->key_bytes > 0)) {
    write_entry(annotation, key, key_kept, value, value_kept);
  }
  if (!has_room && value_kept > 0) __atomic_fetch_add(&ring->header.annotation_lost, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&writing);
  return (has_room || value_kept == 0) && key_kept == key_bytes && value_kept == value_bytes;
}

bool cs_shim_annotate(const char *key, size_t key_bytes, const char *value, size_t value_bytes) {
  // acquire: pairs with the release store at the end of cs_shim_start(), which stores the fixed keys before.
  cs_ring *const ring = cs_started_ring();
  return ring != NULL && !is_fixed_key(key, key_bytes) && set(ring, key, key_bytes, value, value_bytes);
}

void cs_annotations_fix(const char *key, const char *value) {
  const size_t key_bytes = strlen(key);
  (void)set(cs_process.ring, key, key_bytes, value, strlen(value));
  if (is_fixed_key(key, key_bytes)) return;
  for (size_t index = 0; index < FIXED_KEY_LIMIT; index++) {
    if (fixed_keys[index] != NULL) continue;
    fixed_keys[index] = key;
    return;
  }
}

// The parent can write into its ring during this copy. An entry that changes meanwhile is skipped. The copies are
// stored without gaps, because readers in the crash handler stop at the first entry that was never used.
void cs_annotations_inherit(const cs_ring *parent) {
  size_t count = 0;
  for (size_t index = 0; index < CS_RING_ANNOTATION_LIMIT; index++) {
    cs_ring_annotation copy;
    const cs_ring_annotation *entry = &parent->annotations[index];
    const uint32_t sequence = cs_ring_annotation_sequence_acquire(entry);
    if (sequence == 0 || sequence % 2 != 0) continue;
    cs_ring_copy(&copy, entry, sizeof copy);
    if (cs_ring_annotation_sequence_recheck(entry) != sequence || copy.key_bytes == 0) continue;
    copy.sequence = 2;
    cs_process.ring->annotations[count++] = copy;
  }
}

#endif
