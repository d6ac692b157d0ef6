// The table of the failures that guards detected. Each entry (record) belongs to one call site. A thread claims a free
// entry by storing the call site's key in it. Entries are never freed.
#include <stdatomic.h>
#include <string.h>

#include "cs_guards.h"

#define PROBES 32

struct cs_guard_record {
  _Atomic uint64_t key;      // 0: free
  _Atomic uint32_t is_ready; // set with a release store after all fields below were written
  _Atomic uint64_t count;
  _Atomic uint64_t unpublished; // the number of occurrences that are not in the ring yet
  cs_guard_copy copy;
  cs_ring_incident incident;
};

static cs_guard_record records[CS_GUARD_SITES];
static _Atomic uint64_t lost;
static __thread bool is_in_observer;
static __thread const void *entered_queue;

static uint64_t mix(uint64_t hash, uint64_t word) {
  const __uint128_t product = (__uint128_t)(hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// The key depends on the characters of the file name, not on its address: a guard that is inlined into several modules
// has a copy of the file name in each of them.
static uint64_t key_of(const cs_guard_site *site) {
  uint64_t hash = mix(UINT64_C(0x243F6A8885A308D3), (uint64_t)site->kind << 32 | site->line);
  uint32_t at = 0;
  for (; at + sizeof(uint64_t) <= site->file_bytes; at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, site->file + at, sizeof word);
    hash = mix(hash, word);
  }
  for (; at < site->file_bytes; at++)
    hash = mix(hash, site->file[at] + UINT64_C(256));
  if (site->pc != 0) hash = mix(hash, site->pc);
  return hash | 1;
}

// Copies a string of `bytes` bytes. If it is longer than `limit`, copies only its end, because the end of a file name
// is more specific. The copy does not start in the middle of a UTF-8 character.
static uint32_t copy_end(const uint8_t *text, uint32_t bytes, uint8_t *ret_text, uint32_t limit) {
  if (bytes == 0) return 0;
  uint32_t from = bytes > limit ? bytes - limit : 0;
  while (from < bytes && (text[from] & 0xc0) == 0x80 && from > 0)
    from++;
  memcpy(ret_text, text + from, bytes - from);
  return bytes - from;
}

// Copies a string of `bytes` bytes. If it is longer than `limit`, copies only its beginning. The copy does not end in
// the middle of a UTF-8 character.
static uint32_t copy_start(const uint8_t *text, uint32_t bytes, uint8_t *ret_text, uint32_t limit) {
  uint32_t count = bytes < limit ? bytes : limit;
  while (count < bytes && count > 0 && (text[count] & 0xc0) == 0x80)
    count--;
  memcpy(ret_text, text, count);
  return count;
}

static void claim(cs_guard_record *record, const cs_guard_site *site) {
  record->copy.kind = site->kind;
  record->copy.line = site->line;
  record->copy.file_bytes = copy_end(site->file, site->file_bytes, record->copy.file, CS_GUARD_FILE_BYTES);
}

cs_guard_record *cs_guard_count(const cs_guard_site *site, uint64_t *ret_count) {
  const uint64_t key = key_of(site);
  for (uint32_t probe = 0; probe < PROBES; probe++) {
    cs_guard_record *const record = &records[((key >> 1) + probe) % CS_GUARD_SITES];
    uint64_t found = atomic_load_explicit(&record->key, memory_order_acquire);
    if (found == 0 && atomic_compare_exchange_strong(&record->key, &found, key)) {
      claim(record, site);
      found = key;
      // This thread claimed the entry, so it must also fill it (cs_guard_describe). The number 1 tells the caller to do
      // so, even if other threads have already counted occurrences.
      atomic_fetch_add(&record->count, 1);
      atomic_fetch_add(&record->unpublished, 1);
      *ret_count = 1;
      return record;
    }
    if (found == key) {
      const uint64_t count = atomic_fetch_add(&record->count, 1) + 1;
      atomic_fetch_add(&record->unpublished, 1);
      // Only the thread that claimed the entry is allowed to get the number 1. If that thread has not counted its
      // occurrence yet, the count here can be 1, and this thread returns 2 instead.
      *ret_count = count > 1 ? count : 2;
      return record;
    }
  }
  atomic_fetch_add(&lost, 1);
  *ret_count = 0;
  return NULL;
}

// Writes "Module/File.swift: " and the reason, cut to the ring's limit. The incident's `word` contains the source line.
// If the call site has no file, writes only the reason. The first frame of the program in the incident is then the call
// site.
static void fill_subject(cs_ring_incident *incident, const cs_guard_copy *copy) {
  // The file name gets at most half of the space, which leaves the other half for the reason.
  uint32_t at = copy_end(copy->file, copy->file_bytes, incident->subject, CS_RING_SUBJECT_LIMIT_BYTES / 2);
  if (at > 0) {
    incident->subject[at++] = ':';
    incident->subject[at++] = ' ';
  }
  incident->subject_bytes =
      at + copy_start(copy->reason, copy->reason_bytes, incident->subject + at, CS_RING_SUBJECT_LIMIT_BYTES - at);
}

void cs_guard_describe(cs_guard_record *record, const cs_guard_details *details) {
  cs_guard_copy *const copy = &record->copy;
  cs_ring_incident *const incident = &record->incident;
  copy->mode = details->mode;
  copy->thread = details->thread;
  copy->task = details->task;
  copy->reason_bytes = copy_start(details->reason, details->reason_bytes, copy->reason, sizeof copy->reason);
  copy->frame_count =
      details->frame_count < CS_RING_INCIDENT_FRAME_LIMIT ? details->frame_count : CS_RING_INCIDENT_FRAME_LIMIT;
  memcpy(copy->frames, details->frames, copy->frame_count * sizeof *copy->frames);
  incident->key = atomic_load(&record->key);
  incident->source = CS_RING_INCIDENT_GUARD;
  incident->kind = copy->kind;
  incident->mode = details->mode;
  incident->word = copy->line;
  incident->use_tid = details->thread;
  incident->use_count = copy->frame_count;
  memcpy(incident->use, copy->frames, copy->frame_count * sizeof *copy->frames);
  fill_subject(incident, copy);
  // Ordering: sequentially consistent with the additions to `unpublished`, so that every occurrence is published. A
  // thread that adds an occurrence either reads that the record is ready and publishes the occurrence, or this thread
  // publishes it.
  atomic_store(&record->is_ready, 1);
}

uint64_t cs_guard_take_unpublished(cs_guard_record *record, const cs_ring_incident **ret_incident) {
  if (atomic_load(&record->is_ready) == 0) return 0;
  *ret_incident = &record->incident;
  return atomic_exchange(&record->unpublished, 0);
}

void cs_guard_give_back(cs_guard_record *record, uint64_t times) {
  atomic_fetch_add(&record->unpublished, times);
}

uint64_t cs_guard_lost(void) {
  return atomic_load(&lost);
}

cs_guard_record *cs_guard_at(uint32_t place) {
  if (place >= CS_GUARD_SITES || atomic_load(&records[place].is_ready) == 0) return NULL;
  return &records[place];
}

void cs_guard_read(const cs_guard_record *record, cs_guard_copy *ret_copy) {
  *ret_copy = record->copy;
  ret_copy->count = atomic_load(&record->count);
}

bool cs_guard_enter_observer(void) {
  if (is_in_observer) return false;
  is_in_observer = true;
  return true;
}

void cs_guard_leave_observer(void) {
  is_in_observer = false;
}

const void *cs_guard_entered(void) {
  return entered_queue;
}

void cs_guard_set_entered(const void *entered) {
  entered_queue = entered;
}
