// Records an incident for each invalid access and each invalid free: describes it and the object in the slot.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "pages.h"

#include "../../Handler/Signal/Dispatch/trusted.h"
#include "../../Handler/Signal/Kernel/copy_by_kernel.h"
#include "cs_callees.h"
#include "cs_shim.h"

// How long this code tries to copy a slot that another thread is changing: at most 500 attempts with a pause of 20 µs
// between two attempts.
#define COPY_TRIES    500
#define COPY_SLEEP_NS 20000

cs_ring_incident cs_page_incidents[CS_PAGES_INCIDENT_LIMIT];
uint64_t cs_page_incidents_lost;

// Reads the first word of an object, whose memory can become inaccessible at any time; returns 0 if the kernel cannot
// copy the word.
static uint64_t first_word(uint64_t object) SIGNAL_SAFE {
  uint64_t word = 0;
  return cs_copy_by_kernel(&word, object, sizeof word) ? word : 0;
}

bool cs_page_copy(uint32_t index, cs_page_slot *ret_copy) SIGNAL_SAFE {
  const cs_page_slot *slot = &cs_page_slots[index];
  for (int attempt = 0; attempt < COPY_TRIES; attempt++) {
    const uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    const uint32_t generation = __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE);
    if (state != CS_PAGE_BUSY) {
      memcpy(ret_copy, slot, sizeof *ret_copy);
      // acquire: the copy ends before the second reads of the state and the generation, which detect a change during
      // the copy. The state is read before the generation. If the slot was reused and has the same state again, the
      // generation that is read therefore differs from the first one.
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == state &&
          __atomic_load_n(&slot->generation, __ATOMIC_RELAXED) == generation && ret_copy->state == state) {
        if (state == CS_PAGE_LIVE)
          ret_copy->class = cs_page_class_with(first_word(ret_copy->object), ret_copy->object_bytes);
        return true;
      }
    }
    cs_sleep_ns(COPY_SLEEP_NS);
  }
  return false;
}

cs_mode cs_page_policy(const cs_page_slot *slot) SIGNAL_SAFE {
  if (slot->class == 0 || slot->class > CS_PAGES_CLASS_LIMIT) return CS_MODE_ABSORB;
  return (cs_mode)__atomic_load_n(&cs_page_classes[slot->class - 1].policy, __ATOMIC_RELAXED);
}

static void describe(cs_ring_incident *incident, const cs_page_slot *slot) SIGNAL_SAFE {
  incident->flags |= CS_RING_INCIDENT_RECORD;
  incident->address = slot->object;
  incident->id = slot->generation;
  incident->object_bytes = slot->object_bytes;
  incident->origin_tid = slot->origin_tid;
  incident->origin_count = cs_callees_add(slot->origin, slot->origin_count, false, incident->detail.object.origin,
                                          CS_RING_INCIDENT_FRAME_LIMIT);
  if (slot->free_tid != 0) {
    incident->free_tid = slot->free_tid;
    incident->free_count =
        cs_callees_add(slot->free, slot->free_count, false, incident->detail.object.free, CS_RING_INCIDENT_FRAME_LIMIT);
    incident->age_ns = cs_clock_ns(CLOCK_MONOTONIC) - slot->free_ns;
  }
  if (slot->class == 0 || slot->class > CS_PAGES_CLASS_LIMIT) return;
  cs_page_class *class = &cs_page_classes[slot->class - 1];
  incident->subject_bytes = class->name_bytes;
  memcpy(incident->subject, class->name, sizeof incident->subject);
  __atomic_fetch_add(&class->incidents, 1, __ATOMIC_RELAXED);
}

static bool is_same(const cs_ring_incident *left, const cs_ring_incident *right) SIGNAL_SAFE {
  return left->kind == right->kind && left->mode == right->mode && left->subject_bytes == right->subject_bytes &&
         left->use_count == right->use_count && memcmp(left->subject, right->subject, left->subject_bytes) == 0 &&
         memcmp(left->use, right->use, left->use_count * sizeof left->use[0]) == 0;
}

// Stores the incident in a table of this process, which cs_pages_incident_at() reads. Equal incidents share an entry.
// If two threads record equal incidents at the same time, they can get two entries.
static void keep(const cs_ring_incident *incident) SIGNAL_SAFE {
  const uint64_t now_ns = cs_clock_ns(CLOCK_REALTIME);
  for (uint32_t index = 0; index < CS_PAGES_INCIDENT_LIMIT; index++) {
    cs_ring_incident *entry = &cs_page_incidents[index];
    uint64_t unused = 0;
    if (__atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE) == 1 && is_same(entry, incident)) {
      __atomic_fetch_add(&entry->count, 1, __ATOMIC_RELAXED);
      __atomic_store_n(&entry->last_ns, now_ns, __ATOMIC_RELAXED);
      return;
    }
    if (!__atomic_compare_exchange_n(&entry->key, &unused, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    const size_t from = offsetof(cs_ring_incident, address);
    memcpy((uint8_t *)entry + from, (const uint8_t *)incident + from, sizeof *entry - from);
    entry->first_ns = entry->last_ns = now_ns;
    entry->count = 1;
    // release: pairs with the acquire loads above and in cs_pages_incident_at().
    __atomic_store_n(&entry->sequence, 1, __ATOMIC_RELEASE);
    return;
  }
  __atomic_fetch_add(&cs_page_incidents_lost, 1, __ATOMIC_RELAXED);
}

void cs_page_record(const cs_page_event *event, const cs_page_slot *slot) SIGNAL_SAFE {
  cs_ring_incident incident;
  memset(&incident, 0, sizeof incident);
  incident.source = CS_RING_INCIDENT_PAGES;
  incident.kind = event->kind;
  incident.mode = event->is_fatal ? CS_MODE_CRASH : CS_MODE_ABSORB;
  // The key by which the ring merges equal incidents includes this word. A fatal access therefore gets its own
  // incident, even if an equal access that did not end the process was recorded before.
  incident.word = event->is_fatal;
  incident.method = event->is_fatal ? event->fatal_address : event->address;
  incident.address = event->address;
  if (slot != NULL) describe(&incident, slot);
  incident.amount = (int64_t)(event->address - incident.address);
  incident.use_tid = cs_gettid();
  uint64_t use[CS_RING_INCIDENT_FRAME_LIMIT];
  const bool is_exact = event->context != NULL;
  if (is_exact) incident.flags |= CS_RING_INCIDENT_EXACT;
  const size_t count = is_exact ? cs_shim_stack_of(event->context, use, CS_RING_INCIDENT_FRAME_LIMIT)
                                : cs_shim_stack_here(event->caller, use, CS_RING_INCIDENT_FRAME_LIMIT);
  incident.use_count = cs_callees_add(use, (uint32_t)count, is_exact, incident.use, CS_RING_INCIDENT_FRAME_LIMIT);
  CS_PAGES_COUNT(incidents);
  keep(&incident);
  cs_shim_incident(&incident);
}

#endif
