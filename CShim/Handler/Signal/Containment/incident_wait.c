#include "cs_platform.h"

#if CS_SUPPORTED

#include "incident_wait.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#include "../Dispatch/state.h"
#include "../Kernel/system_call.h"
#include "cs_ring_access.h"
#include "cs_shim.h"

// Ordering: all accesses are sequentially consistent. A thread that records an incident (recorder) writes its entry,
// increments `noted`, and then reads `is_awaited`. The reader writes `is_awaited` and then reads `noted`. At least one
// of the two threads therefore reads the other's write.
static uint32_t noted;      // atomic, a futex: the number of recorded incidents
static uint32_t is_awaited; // atomic: whether the reader sleeps or is about to sleep

void cs_incident_note(void) SIGNAL_SAFE {
  __atomic_add_fetch(&noted, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&is_awaited, __ATOMIC_SEQ_CST) == 0) return;
  // If several threads record incidents at the same time, only one of them makes the system call.
  if (__atomic_exchange_n(&is_awaited, 0, __ATOMIC_SEQ_CST) == 0) return;
  cs_system_call(SYS_futex, (long)&noted, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}

uint32_t cs_incident_wait(uint32_t seen) {
  for (;;) {
    __atomic_store_n(&is_awaited, 1, __ATOMIC_SEQ_CST);
    const uint32_t now = __atomic_load_n(&noted, __ATOMIC_SEQ_CST);
    if (now != seen) return now;
    cs_system_call(SYS_futex, (long)&noted, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, 0, 0, 0);
  }
}

bool cs_shim_incident_at(uint32_t index, cs_ring_incident *ret_incident) {
  const cs_ring *const ring = cs_started_ring();
  if (ring == NULL || index >= CS_RING_INCIDENT_LIMIT) return false;
  const cs_ring_incident *const entry = &ring->incidents[index];
  if (cs_ring_incident_sequence_acquire(entry) != 1 || cs_incident_is_of_crash(entry)) return false;
  // The sequence number 1 shows that the entry is complete. From now on, recorders change only the entry's count and
  // the time of its last occurrence.
  ret_incident->key = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);
  ret_incident->sequence = 1;
  ret_incident->count = __atomic_load_n(&entry->count, __ATOMIC_RELAXED);
  ret_incident->first_ns = entry->first_ns;
  ret_incident->last_ns = __atomic_load_n(&entry->last_ns, __ATOMIC_RELAXED);
  const size_t rest = offsetof(cs_ring_incident, address);
  memcpy((uint8_t *)ret_incident + rest, (const uint8_t *)entry + rest, sizeof *entry - rest);
  return true;
}

uint64_t cs_shim_incidents_lost(void) {
  const cs_ring *const ring = cs_started_ring();
  return ring == NULL ? 0 : __atomic_load_n(&ring->header.incident_lost, __ATOMIC_RELAXED);
}

#endif
