// Reads the verdict (whether the shield contained the trap), the drain and the crash record from the program's ring.
#include "host.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The names of the verdicts and reasons, as in reports.
static const char *const verdicts[] = {"none", "contain", "drain", "die"};
static const char *const reasons[] = {
    "none",        "budget", "deepStack",  "unknownFrames", "libc",      "dispatch", "lazyGlobal",
    "concurrency", "actor",  "stream",     "noTask",        "noRequest", "notTrap",  "foreignCode",
    "forkedChild", "sent",   "shieldLock", "corrupt",       "replaced",  "runtime",  "ringFull",
    "repeated",    "waits",  "draining",   "unavailable",   "eventLoop",
};
static const char *const drain_ends[] = {"none", "done", "deadline", "stall", "secondCrash", "exit", "waiter"};

#define NAME(names, number) ((number) < sizeof(names) / sizeof *(names) ? (names)[number] : "?")

static int open_ring(const char *folder) {
  DIR *directory = opendir(folder);
  int file = -1;
  if (directory == NULL) return -1;
  for (struct dirent *entry; file < 0 && (entry = readdir(directory)) != NULL;) {
    char path[512];
    char target[64] = {0};
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "/memfd:crash-shield", 19) == 0)
      file = open(path, O_RDONLY | O_CLOEXEC);
  }
  closedir(directory);
  return file;
}

const cs_ring *ch_ring_of(pid_t pid) {
  char folder[64];
  snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
  const int file = open_ring(folder);
  if (file < 0) return NULL;
  const cs_ring *ring = mmap(NULL, sizeof *ring, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return ring == MAP_FAILED ? NULL : ring;
}

// Returns the crash that began the drain, or else the first crash.
static const cs_ring_slot *crash(const cs_ring *ring) {
  const uint64_t wanted = ring->header.drain_sequence != 0 ? ring->header.drain_sequence - 1 : 0;
  for (size_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_ring_slot *slot = &ring->slots[index];
    if ((slot->state & CS_RING_STATE_MASK) == CS_RING_STATE_COMMITTED && slot->record.sequence == wanted) return slot;
  }
  return NULL;
}

static int crash_count(const cs_ring *ring) {
  int count = 0;
  for (size_t index = 0; index < CS_RING_SLOT_LIMIT; index++)
    count += (ring->slots[index].state & CS_RING_STATE_MASK) == CS_RING_STATE_COMMITTED;
  return count;
}

// Returns the number of trapped requests that the ring reports as incidents.
static uint64_t incident_count(const cs_ring *ring) {
  uint64_t count = 0;
  for (size_t index = 0; index < CS_RING_INCIDENT_LIMIT; index++) {
    const cs_ring_incident *incident = &ring->incidents[index];
    if (incident->key != 0 && incident->source == CS_RING_INCIDENT_CONTAINED &&
        incident->kind == CS_RING_CONTAINED_REQUEST)
      count += incident->count;
  }
  return count;
}

void ch_print_ring(const cs_ring *ring) {
  const cs_ring_header *header = &ring->header;
  const cs_ring_slot *slot = crash(ring);
  printf(", \"contained\": %u, \"incidents\": %llu, \"obstacle\": %u, \"crashes\": %d", header->containment_count,
         (unsigned long long)incident_count(ring), header->containment_obstacle, crash_count(ring));
  printf(", \"drainEnd\": \"%s\", \"drainFinished\": %u, \"drainLost\": %u, \"drain_ns\": %llu",
         NAME(drain_ends, header->drain_end), header->drain_finished, header->drain_lost,
         header->drain_end_ns > header->drain_begin_ns
             ? (unsigned long long)(header->drain_end_ns - header->drain_begin_ns)
             : 0);
  if (slot == NULL) return;
  const cs_ring_record *record = &slot->record;
  printf(", \"verdict\": \"%s\", \"reason\": \"%s\", \"signal\": %d, \"frames\": %u, \"message\": %u, \"threads\": %u",
         NAME(verdicts, record->verdict), NAME(reasons, record->verdict_reason), record->signal, record->frame_count,
         record->message_bytes, header->thread_count);
  printf(", \"request\": \"%.*s\"", slot->request.operation_bytes, (const char *)slot->request.operation);
}
