// Selects the annotations and the incidents of the record line.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record_parts.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"

// The annotations of the deployment leave this number of bytes free for images and frames.
#define EARLY_RESERVE_BYTES 1200

static bool begins_with(const uint8_t *text, size_t size, const char *start, size_t start_bytes) SIGNAL_SAFE {
  return size >= start_bytes && memcmp(text, start, start_bytes) == 0;
}

static const char release[] = "release";
static const char environment[] = "environment";
static const char container[] = "k8s.";

// Returns whether the annotation describes the deployment: the release, the environment, or the pod and container.
static bool is_of_deployment(const cs_ring_annotation *annotation) SIGNAL_SAFE {
  const size_t size = annotation->key_bytes;
  return (size == sizeof release - 1 && begins_with(annotation->key, size, release, size)) ||
         (size == sizeof environment - 1 && begins_with(annotation->key, size, environment, size)) ||
         begins_with(annotation->key, size, container, sizeof container - 1);
}

// Returns whether the entry was ever used. The entries after the first unused one were not used either, and reading
// them would allocate their pages.
static bool was_used(uint32_t index) SIGNAL_SAFE {
  return index < CS_RING_ANNOTATION_LIMIT &&
         cs_ring_annotation_sequence_acquire(&cs_process.ring->annotations[index]) != 0;
}

// Copies an annotation. Returns false if the entry is not used or is being written.
static bool take_annotation(cs_record_parts *parts, uint32_t index) SIGNAL_SAFE {
  const cs_ring_annotation *entry = &cs_process.ring->annotations[index];
  const uint32_t sequence = cs_ring_annotation_sequence_acquire(entry);
  if (sequence == 0 || sequence % 2 != 0) return false;
  parts->annotation = *entry;
  if (cs_ring_annotation_sequence_recheck(entry) != sequence) return false;
  return parts->annotation.key_bytes > 0 && parts->annotation.key_bytes <= CS_RING_KEY_LIMIT_BYTES &&
         parts->annotation.value_bytes > 0 && parts->annotation.value_bytes <= CS_RING_VALUE_LIMIT_BYTES;
}

static bool put_annotation(cs_record_parts *parts, uint32_t index) SIGNAL_SAFE {
  cs_ring_annotation *annotation = &parts->annotation;
  const cs_piece_state before = parts->pieces.state;
  const uint64_t value = ANNOTATION_OFFSET(index, offsetof(cs_ring_annotation, value));
  const uint64_t key = ANNOTATION_OFFSET(index, offsetof(cs_ring_annotation, key));
  annotation->sequence = 2;
  const bool is_whole =
      cs_parts_put_words(parts, ANNOTATION_OFFSET(index, 0), annotation, 1) &&
      cs_pieces_put_bytes(&parts->pieces, key, annotation->key, annotation->key_bytes) == annotation->key_bytes &&
      cs_pieces_put_bytes(&parts->pieces, value, annotation->value, annotation->value_bytes) == annotation->value_bytes;
  if (!is_whole) parts->pieces.state = before;
  return is_whole;
}

_Static_assert(CS_RING_ANNOTATION_LIMIT <= 64, "annotations_put has a bit for each annotation");

// Adds the annotations of the deployment, if they leave enough space for images and frames.
void cs_parts_put_first_annotations(cs_record_parts *parts) SIGNAL_SAFE {
  const size_t limit = parts->pieces.limit;
  parts->pieces.limit = limit - EARLY_RESERVE_BYTES;
  for (uint32_t index = 0; was_used(index) && parts->pieces.state.count < parts->pieces.limit; index++) {
    if (take_annotation(parts, index) && is_of_deployment(&parts->annotation) && put_annotation(parts, index)) {
      parts->annotations_put |= UINT64_C(1) << index;
    }
  }
  parts->pieces.limit = limit;
}

void cs_parts_put_other_annotations(cs_record_parts *parts) SIGNAL_SAFE {
  for (uint32_t index = 0; was_used(index); index++) {
    const bool is_put = (parts->annotations_put & UINT64_C(1) << index) != 0;
    if (!is_put && take_annotation(parts, index) && !put_annotation(parts, index))
      cs_parts_add_cut(&parts->head.cut_annotations, 1);
  }
}

// Returns whether the incident is evidence of this crash: a freed object to which a register of the crash points, or an
// invalid access at the fault's address.
static bool is_of_crash(const cs_record_parts *parts, const cs_ring_incident *incident) SIGNAL_SAFE {
  const bool is_object = incident->source == CS_RING_INCIDENT_QUARANTINE &&
                         (incident->kind == CS_RING_DANGLING_FREED || incident->kind == CS_RING_DANGLING_HELD);
  const bool is_here = is_object ? (uint64_t)incident->amount == parts->record.sequence
                                 : incident->method != 0 && incident->method == parts->record.address;
  return is_here && incident->use_tid == parts->record.tid;
}

// If the process has recorded no incident, as is usual, returns without reading the entries: reading them would
// allocate pages of the ring.
void cs_parts_put_incidents(cs_record_parts *parts) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_process.has_incidents, __ATOMIC_ACQUIRE) == 0) return; // acquire: pairs with incident.c
  for (uint32_t index = 0; index < CS_RING_INCIDENT_LIMIT; index++) {
    const cs_ring_incident *entry = &cs_process.ring->incidents[index];
    const uint64_t sequence = cs_ring_incident_sequence_acquire(entry);
    if (sequence == 0 || cs_ring_counter(&entry->key) == 0) continue;
    parts->incident = *entry;
    if (!is_of_crash(parts, &parts->incident)) continue;
    const uint64_t offset = offsetof(cs_ring, incidents) + index * sizeof *entry;
    if (!cs_parts_put_words(parts, offset, &parts->incident, sizeof parts->incident / WORD_BYTES))
      cs_parts_add_cut(&parts->head.cut_incidents, 1);
  }
}

#endif
