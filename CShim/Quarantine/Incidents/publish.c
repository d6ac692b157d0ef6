// Passes the incidents of the quarantine and the counters of its classes to two callbacks (sinks), which the start of
// the shield sets. The sinks write to the ring, which crashd reads.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <string.h>

#include "../Machine/clock.h"
#include "../Stacks/stacks.h"
#include "../Stacks/thread.h"
#include "incidents.h"

cs_quarantine_incident_sink *_Atomic cs_incident_sink;
static cs_quarantine_class_sink *_Atomic class_sink;

_Static_assert((uint32_t)CS_QUARANTINE_CALL == CS_RING_DANGLING_CALL, "the same numbers");
_Static_assert((uint32_t)CS_QUARANTINE_ASYNC_CALL == CS_RING_DANGLING_ASYNC_CALL, "the same numbers");
_Static_assert((uint32_t)CS_QUARANTINE_OVER_RELEASE == CS_RING_DANGLING_OVER_RELEASE, "the same numbers");
_Static_assert((uint32_t)CS_QUARANTINE_DRIFT == CS_RING_DANGLING_DRIFT, "the same numbers");
_Static_assert((uint32_t)CS_QUARANTINE_WRITE == CS_RING_DANGLING_WRITE, "the same numbers");
_Static_assert(CS_QUARANTINE_FRAMES == CS_RING_INCIDENT_FRAME_LIMIT, "as many frames");

void cs_publish_to(cs_quarantine_incident_sink *incidents, cs_quarantine_class_sink *classes) {
  atomic_store(&cs_incident_sink, incidents);
  atomic_store(&class_sink, classes);
}

// Copies a name. If it is too long, copies only its end, because the end is more specific than the beginning.
static uint32_t copy_end(const char *name, size_t length, uint8_t *ret_text) {
  const char *from = length > CS_RING_SUBJECT_LIMIT_BYTES ? name + length - CS_RING_SUBJECT_LIMIT_BYTES : name;
  // The copy does not start in the middle of a UTF-8 character.
  while (((uint8_t)*from & 0xc0) == 0x80)
    from++;
  const size_t kept = length - (size_t)(from - name);
  memcpy(ret_text, from, kept);
  return (uint32_t)kept;
}

static uint32_t copy_name(const cs_metadata *metadata, uint8_t *ret_text) {
  char name[CS_NAME_BYTES];
  return cs_type_name(metadata->descriptor, name) ? copy_end(name, strlen(name), ret_text) : 0;
}

static uint32_t copy_stack(uint32_t number, uint64_t *ret_frames) {
  cs_quarantine_stack stack;
  cs_stack_read_whole(number, &stack);
  memcpy(ret_frames, stack.frames, stack.count * sizeof *ret_frames);
  return stack.count;
}

void cs_publish_use(const cs_use *use, uint32_t use_stack) {
  cs_quarantine_incident_sink *const sink = atomic_load(&cs_incident_sink);
  if (!sink) return;
  cs_ring_incident incident = {
      .address = (uintptr_t)use->object,
      .method = (uintptr_t)use->method,
      .amount = use->drift,
      .source = CS_RING_INCIDENT_QUARANTINE,
      .kind = use->kind,
      .mode = atomic_load(&use->class->policy),
      .word = use->word,
      .use_tid = use->frame != NULL ? (int32_t)cs_thread_known()->number : 0,
  };
  incident.subject_bytes = copy_name(use->class->metadata, incident.subject);
  incident.use_count = copy_stack(use_stack, incident.use);
  if (use->slot != NULL) {
    incident.mode = cs_slot_policy(use->slot);
    incident.id = cs_label_number(use->slot->label);
    incident.flags =
        CS_RING_INCIDENT_RECORD | ((incident.id & CS_NUMBER_EXPLORER) != 0 ? CS_RING_INCIDENT_EXPLORER : 0);
    incident.age_ns = cs_ticks_ns(cs_ticks() - use->slot->ticks);
    incident.free_tid = (int32_t)use->slot->thread;
    incident.free_count = copy_stack(use->slot->stack, incident.detail.object.free);
  }
  sink(&incident);
}

void cs_quarantine_missed(const char *name, uint64_t bytes, const cs_quarantine_stack *use) {
  cs_quarantine_incident_sink *const sink = atomic_load(&cs_incident_sink);
  if (!sink) return;
  cs_ring_incident incident = {
      .source = CS_RING_INCIDENT_QUARANTINE,
      .kind = CS_RING_DANGLING_HANDLE,
      .mode = CS_MODE_ABSORB,
      .use_tid = (int32_t)use->thread,
      .use_count = use->count < CS_RING_INCIDENT_FRAME_LIMIT ? use->count : CS_RING_INCIDENT_FRAME_LIMIT,
  };
  incident.subject_bytes = copy_end(name, bytes, incident.subject);
  memcpy(incident.use, use->frames, incident.use_count * sizeof *incident.use);
  sink(&incident);
}

// Precondition: the caller holds the lock of the class table.
void cs_publish_class(cs_class *class) {
  cs_quarantine_class_sink *const sink = atomic_load(&class_sink);
  cs_ring_class *counts = atomic_load(&class->counts);
  if (counts == &class->own && sink != NULL) {
    class->own.instance_bytes = class->metadata->instance_size;
    class->own.name_bytes = copy_name(class->metadata, class->own.name);
    // If another thread increments the old counters while this code copies them to the ring, the increments can be
    // lost.
    cs_ring_class *const shown = sink(&class->own);
    if (shown != NULL) atomic_store(&class->counts, counts = shown);
  }
  __atomic_store_n(&counts->policy, atomic_load(&class->policy), __ATOMIC_RELAXED);
  __atomic_store_n(&counts->limit, atomic_load(&class->limit), __ATOMIC_RELAXED);
  __atomic_store_n(&counts->is_listed, atomic_load(&class->is_listed) & 1, __ATOMIC_RELAXED);
}

#endif
