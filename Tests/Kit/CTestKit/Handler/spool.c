#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cs_attach.h"
#include "cs_ring_access.h"
#include "cs_test_support.h"

static bool ends_with(const char *text, const char *end) {
  const size_t text_bytes = strlen(text);
  const size_t end_bytes = strlen(end);
  return text_bytes >= end_bytes && strcmp(text + text_bytes - end_bytes, end) == 0;
}

static void describe(const cs_ring_slot *slot, cs_test_spool *spool) {
  const cs_ring_record *record = &slot->record;
  spool->signal = record->signal;
  spool->code = record->code;
  spool->address = record->address;
  spool->sender_pid = record->sender_pid;
  spool->pid = record->pid;
  // Removes the flag for a task: a Swift task of the test program forks the children, and they inherit the task.
  spool->flags = record->flags & ~CS_RING_RECORD_TASK;
  spool->has_task = (record->flags & CS_RING_RECORD_TASK) != 0;
  spool->stack_start = record->stack_start;
  spool->stack_bytes = record->stack_bytes;
  spool->memory_count = record->memory_count;
  for (uint32_t index = 0; index < record->stack_bytes; index++) {
    if (slot->stack[index] == CS_RING_SCRUBBED_BYTE) spool->scrubbed_count++;
  }
  spool->frame_count = record->frame_count;
  spool->frame_total = record->frame_total;
  spool->frame_head = record->frame_head;
  spool->unwind_stop = record->unwind_stop;
  spool->frame1_trust = record->frames[1].trust;
  spool->commit_after_ns = slot->commit_ns - record->entry_ns;
}

static void read_ring(const cs_ring *ring, cs_test_spool *spool) {
  spool->slot_head = ring->header.slot_head;
  spool->slot_lost = ring->header.slot_lost;
  spool->record_minimal = ring->header.record_minimal;
  spool->image_count = ring->header.image_count;
  spool->is_restricted = ring->header.is_restricted != 0;
  spool->request_begun = ring->header.request_begun;
  for (size_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_ring_slot *slot = &ring->slots[index];
    const uint64_t state = slot->state & CS_RING_STATE_MASK;
    if (state == CS_RING_STATE_WRITING) spool->writing_count++;
    if (state == CS_RING_STATE_PENDING && spool->pending_count++ == 0) describe(slot, spool);
    if (state == CS_RING_STATE_COMMITTED && spool->committed_count++ == 0) describe(slot, spool);
    if (state != CS_RING_STATE_COMMITTED && state != CS_RING_STATE_PENDING) continue;
    uint32_t crc = cs_ring_crc32c(0, &slot->record, sizeof slot->record);
    crc = cs_ring_crc32c(crc, slot->stack, slot->record.stack_bytes);
    if (crc != slot->crc) spool->bad_checksum_count++;
  }
}

static void read_threads(const cs_ring *ring, cs_test_spool *spool) {
  spool->sweep = ring->header.sweep;
  spool->survived = ring->header.survived;
  spool->sweep_ns = ring->header.sweep_ns;
  spool->thread_count = ring->header.thread_count;
  spool->thread_total = ring->header.thread_total;
  spool->thread_frame_minimum = CS_RING_THREAD_FRAME_LIMIT;
  for (uint32_t index = 0; index < spool->thread_count && index < CS_RING_THREAD_LIMIT; index++) {
    const cs_ring_thread *thread = &ring->threads[index];
    const uint32_t answer = thread->record.answer;
    const uint32_t frames = thread->record.frame_count;
    const uint32_t crc = cs_ring_crc32c(0, &thread->record, sizeof thread->record);
    const uint64_t committed = (uint64_t)spool->survived << 2 | CS_RING_STATE_COMMITTED;
    if (thread->state != committed || crc != thread->crc) spool->thread_bad_count++;
    if (answer == CS_RING_ANSWER_WHOLE) spool->thread_whole_count++;
    if (answer == CS_RING_ANSWER_BLOCKED) spool->thread_blocked_count++;
    if (answer == CS_RING_ANSWER_NONE) spool->thread_none_count++;
    if (answer == CS_RING_ANSWER_WHOLE && frames < spool->thread_frame_minimum) spool->thread_frame_minimum = frames;
  }
}

static bool has_address(const cs_ring *ring) {
  const uint64_t *words = (const uint64_t *)ring;
  const uint64_t near = (uint64_t)(uintptr_t)&has_address >> 32;
  for (size_t index = 0; index < sizeof *ring / sizeof *words; index++) {
    if (words[index] >> 32 == near) return true;
  }
  return false;
}

static bool read_file(int directory, const char *name, cs_test_spool *spool) {
  const int file = openat(directory, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status = {0};
  bool is_ring = fstat(file, &status) == 0 && status.st_size == (off_t)sizeof(cs_ring);
  const bool is_empty = !is_ring && status.st_ino != 0 && status.st_size == 0;
  // If the ring exceeds the file size limit, the handler leaves an empty file.
  if (is_empty) spool->empty_count++;
  if (is_ring) {
    spool->mode = status.st_mode & 07777;
    const cs_ring *ring = mmap(NULL, sizeof *ring, PROT_READ, MAP_PRIVATE, file, 0);
    is_ring = ring != MAP_FAILED && ring->header.magic == CS_RING_MAGIC;
    if (is_ring) read_ring(ring, spool);
    if (is_ring) read_threads(ring, spool);
    if (is_ring) spool->has_address = has_address(ring);
    if (ring != MAP_FAILED) munmap((void *)(uintptr_t)ring, sizeof *ring);
  }
  close(file);
  return is_ring || is_empty;
}

bool cs_test_spool_contains(const char *directory, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/spool", directory);
  DIR *entries = opendir(path);
  bool is_there = false;
  for (const struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL;
       entry = readdir(entries)) {
    const int file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC);
    const size_t size = sizeof(cs_ring);
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    struct stat status = {0};
    const bool is_ring = fstat(file, &status) == 0 && status.st_size == (off_t)size && bytes != MAP_FAILED;
    if (is_ring && memmem(bytes, size, text, strlen(text)) != NULL) is_there = true;
    if (bytes != MAP_FAILED) munmap(bytes, size);
    close(file);
  }
  if (entries != NULL) closedir(entries);
  return is_there;
}

bool cs_test_read_spool(const char *directory, cs_test_spool *ret_spool) {
  char path[256];
  snprintf(path, sizeof path, "%s/spool", directory);
  cs_test_spool spool = {0};
  bool is_good = true;
  DIR *entries = opendir(path);
  if (entries != NULL) {
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
      if (entry->d_name[0] == '.') continue;
      const bool is_ring = ends_with(entry->d_name, CS_ATTACH_SPOOL_SUFFIX);
      if (is_ring) {
        spool.file_count++;
        is_good = read_file(dirfd(entries), entry->d_name, &spool) && is_good;
      } else {
        spool.partial_count++;
      }
    }
    closedir(entries);
  }
  *ret_spool = spool;
  return is_good;
}
