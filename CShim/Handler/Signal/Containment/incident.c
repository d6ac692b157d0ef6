// Records incidents (events that a component of the shield detects) in the ring, where crashd reads them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "containment.h"
#include "incident_wait.h"

#include "../Deliver/news.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_shim.h"

#define PROBES 32

static uint64_t mix(uint64_t hash, uint64_t word) SIGNAL_SAFE {
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

// Returns the key of an incident. Incidents with equal keys share one entry, which counts them.
static uint64_t key_of(const cs_ring_incident *incident) SIGNAL_SAFE {
  uint64_t hash = mix((uint64_t)incident->source << 32 | incident->kind, incident->word);
  for (uint32_t index = 0; index < incident->subject_bytes; index++)
    hash = mix(hash, incident->subject[index]);
  for (uint32_t index = 0; index < incident->use_count; index++)
    hash = mix(hash, incident->use[index]);
  return hash | 1;
}

static void fill_in(cs_ring_incident *entry, const cs_ring_incident *incident, uint64_t times,
                    uint64_t now_ns) SIGNAL_SAFE {
  const size_t first = offsetof(cs_ring_incident, address);
  memcpy((uint8_t *)entry + first, (const uint8_t *)incident + first, sizeof *entry - first);
  entry->first_ns = now_ns;
  __atomic_store_n(&entry->last_ns, now_ns, __ATOMIC_RELAXED);
  __atomic_fetch_add(&entry->count, times, __ATOMIC_RELAXED);
  // release: pairs with the acquire load of cs_ring_incident_sequence_acquire() in readers.
  __atomic_store_n(&entry->sequence, 1, __ATOMIC_RELEASE);
}

void cs_shim_incident(const cs_ring_incident *incident) SIGNAL_SAFE {
  cs_shim_incident_times(incident, 1);
}

static bool keep(cs_ring *ring, const cs_ring_incident *incident, uint64_t times) SIGNAL_SAFE {
  const uint64_t key = incident->key != 0 ? incident->key : key_of(incident), now_ns = cs_clock_ns(CLOCK_REALTIME);
  for (uint32_t probe = 0; probe < PROBES; probe++) {
    cs_ring_incident *const entry = &ring->incidents[((key >> 1) + probe) % CS_RING_INCIDENT_LIMIT];
    uint64_t found = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
    if (found == 0 &&
        __atomic_compare_exchange_n(&entry->key, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      // release: pairs with the acquire load in cs_parts_put_incidents().
      __atomic_store_n(&cs_process.has_incidents, 1, __ATOMIC_RELEASE);
      fill_in(entry, incident, times, now_ns);
      return true;
    }
    if (found == key) {
      __atomic_fetch_add(&entry->count, times, __ATOMIC_RELAXED);
      __atomic_store_n(&entry->last_ns, now_ns, __ATOMIC_RELAXED);
      return true;
    }
  }
  __atomic_fetch_add(&ring->header.incident_lost, times, __ATOMIC_RELAXED);
  return false;
}

// Returns the ring, or NULL if this process has no ring or if the incident does not fit into an entry.
static cs_ring *ring_for(const cs_ring_incident *incident) SIGNAL_SAFE {
  const bool fits =
      incident->subject_bytes <= CS_RING_SUBJECT_LIMIT_BYTES && incident->use_count <= CS_RING_INCIDENT_FRAME_LIMIT &&
      incident->free_count <= CS_RING_INCIDENT_FRAME_LIMIT && incident->origin_count <= CS_RING_INCIDENT_FRAME_LIMIT;
  return fits && cs_getpid() == cs_process.pid ? cs_started_ring() : NULL;
}

bool cs_incident_is_of_crash(const cs_ring_incident *incident) SIGNAL_SAFE {
  const bool is_kept_object = incident->source == CS_RING_INCIDENT_QUARANTINE &&
                              (incident->kind == CS_RING_DANGLING_FREED || incident->kind == CS_RING_DANGLING_HELD);
  return is_kept_object || incident->mode == CS_MODE_CRASH;
}

static bool keep_and_announce(cs_ring *ring, const cs_ring_incident *incident, uint64_t times) SIGNAL_SAFE {
  if (!keep(ring, incident, times)) return false;
  if (cs_incident_is_of_crash(incident)) return true;
  cs_news_add();
  cs_incident_note();
  return true;
}

bool cs_incident_keep(const cs_ring_incident *incident) SIGNAL_SAFE {
  cs_ring *const ring = ring_for(incident);
  return ring != NULL && keep_and_announce(ring, incident, 1);
}

bool cs_shim_incident_times(const cs_ring_incident *incident, uint64_t times) SIGNAL_SAFE {
  cs_ring *const ring = ring_for(incident);
  if (ring != NULL) keep_and_announce(ring, incident, times);
  return ring != NULL;
}

#endif
