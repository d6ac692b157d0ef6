// Selects the parts of the ring for the record line, in the order of their importance.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record_parts.h"

#include "../Deliver/bare.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"

// The bytes that stay free until the end, for the numbers that are known only then (put_last_numbers).
#define LAST_BYTES 144
// The bytes that annotations leave free for images and frames.
#define EARLY_RESERVE_BYTES 1200
// The bytes of each text that go before the frames. The rest follows after the frames, if there is space.
#define MESSAGE_FIRST_BYTES 384
#define OTHER_FIRST_BYTES   128

void cs_parts_add_cut(uint16_t *count, uint64_t more) SIGNAL_SAFE {
  const uint64_t sum = *count + more;
  *count = sum < UINT16_MAX ? (uint16_t)sum : UINT16_MAX;
}

bool cs_parts_put_words(cs_record_parts *parts, uint64_t offset, const void *words, uint32_t count) SIGNAL_SAFE {
  return cs_pieces_put_words(&parts->pieces, offset, words, count, count) == count;
}

uint32_t cs_parts_text_bytes(const uint8_t *text, uint32_t limit) SIGNAL_SAFE {
  uint32_t size = 0;
  while (size < limit && text[size] != 0)
    size++;
  return size;
}

// Adds the bytes of a text from `from` on, up to `limit` of them, and returns the end of the part that the line has.
static uint32_t put_text(cs_record_parts *parts, uint64_t offset, const uint8_t *text, uint32_t from, uint32_t size,
                         uint32_t limit) SIGNAL_SAFE {
  const uint32_t to = size - from < limit ? size : from + limit;
  return from < to ? from + cs_pieces_put_bytes(&parts->pieces, offset + from, text + from, to - from) : from;
}

static void put_zero_terminated(cs_record_parts *parts, uint64_t offset, const uint8_t *text,
                                uint32_t limit) SIGNAL_SAFE {
  const uint32_t size = cs_parts_text_bytes(text, limit);
  cs_parts_add_cut(&parts->head.cut_text_bytes, size - put_text(parts, offset, text, 0, size, size));
}

// Copies the header and the record, and clears what the line does not hold. Counts the threads that the line lacks.
static void take_copies(cs_record_parts *parts) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  if (parts->is_bare) {
    cs_bare_header(&parts->header);
    cs_bare_record(&parts->slot->record, &parts->record);
  } else {
    parts->header = *header;
    parts->record = parts->slot->record;
  }
  const uint64_t breadcrumbs = cs_ring_counter(&parts->header.breadcrumb_head);
  cs_parts_add_cut(&parts->head.cut_breadcrumbs,
                   breadcrumbs < CS_RING_BREADCRUMB_LIMIT ? breadcrumbs : (uint64_t)CS_RING_BREADCRUMB_LIMIT);
  // The tickets since the last survived crash are those of the threads that crashed together.
  const uint64_t crashed = cs_ring_counter(&parts->header.slot_head) - parts->header.survived;
  cs_parts_add_cut(&parts->head.cut_threads, parts->header.thread_total + (crashed > 0 ? crashed - 1 : 0));
  parts->header.breadcrumb_head = parts->header.sweep_ns = 0;
  parts->header.thread_count = parts->header.thread_total = parts->header.sweep = 0;
  parts->header.class_count = parts->header.class_total = parts->header.request_high = 0;
  parts->record.frame_count = cs_at_most(parts->record.frame_count, CS_RING_FRAME_LIMIT);
  parts->record.frame_head = cs_at_most(parts->record.frame_head, parts->record.frame_count);
  parts->record.memory_count = cs_at_most(parts->record.memory_count, CS_RING_MEMORY_LIMIT);
  parts->record.stack_bytes = cs_at_most(parts->record.stack_bytes, CS_RING_STACK_LIMIT_BYTES);
}

// Adds the numbers of the copied header or record that are at the offsets from `from` to `to` in it.
static void put_header(cs_record_parts *parts, size_t from, size_t to) SIGNAL_SAFE {
  cs_parts_put_words(parts, from, (const uint8_t *)&parts->header + from, (uint32_t)((to - from) / WORD_BYTES));
}

static void put_record(cs_record_parts *parts, size_t from, size_t to) SIGNAL_SAFE {
  cs_parts_put_words(parts, RECORD_OFFSET(sequence) + from, (const uint8_t *)&parts->record + from,
                     (uint32_t)((to - from) / WORD_BYTES));
}

static void put_numbers(cs_record_parts *parts) SIGNAL_SAFE {
  put_header(parts, 0, offsetof(cs_ring_header, image_count));
  put_header(parts, offsetof(cs_ring_header, slot_head), offsetof(cs_ring_header, annotation_lost));
  put_header(parts, offsetof(cs_ring_header, slot_overwritten), offsetof(cs_ring_header, reserved));
  const uint64_t slot[2] = {UINT64_C(1) << 2 | CS_RING_STATE_COMMITTED, parts->slot->commit_ns};
  cs_parts_put_words(parts, SLOT_OFFSET, slot, 2);
  put_record(parts, 0, offsetof(cs_ring_record, frame_count));
  put_record(parts, offsetof(cs_ring_record, registers), offsetof(cs_ring_record, thread_name));
}

static void put_names(cs_record_parts *parts) SIGNAL_SAFE {
  cs_pieces_put_bytes(&parts->pieces, RECORD_OFFSET(instruction), parts->record.instruction,
                      cs_at_most(parts->record.instruction_bytes, CS_RING_INSTRUCTION_LIMIT_BYTES));
  put_zero_terminated(parts, RECORD_OFFSET(thread_name), parts->record.thread_name, CS_RING_THREAD_NAME_LIMIT_BYTES);
  put_zero_terminated(parts, offsetof(cs_ring_header, name), parts->header.name, CS_RING_NAME_LIMIT_BYTES);
  put_zero_terminated(parts, offsetof(cs_ring_header, executable), parts->header.executable, CS_RING_PATH_LIMIT_BYTES);
}

// A text of the record, and how many of its bytes the line has.
typedef struct record_text {
  uint64_t offset;
  const uint8_t *bytes;
  uint32_t *size; // in the copy of the record; at the end the size in the line
  uint32_t limit;
  uint32_t first; // the bytes that go before the frames
  uint32_t done;
} record_text;

#define TEXT_COUNT 5

static record_text texts[TEXT_COUNT];

static void begin_texts(cs_record_parts *parts) SIGNAL_SAFE {
  cs_ring_record *record = &parts->record;
  texts[0] = (record_text){RECORD_OFFSET(message),      record->message,     &record->message_bytes,
                           CS_RING_MESSAGE_LIMIT_BYTES, MESSAGE_FIRST_BYTES, 0};
  texts[1] = (record_text){RECORD_OFFSET(abort_message), record->abort_message, &record->abort_bytes,
                           CS_RING_ABORT_LIMIT_BYTES,    OTHER_FIRST_BYTES,     0};
  texts[2] = (record_text){RECORD_OFFSET(exception),      record->exception, &record->exception_bytes,
                           CS_RING_EXCEPTION_LIMIT_BYTES, OTHER_FIRST_BYTES, 0};
  texts[3] = (record_text){RECORD_OFFSET(exception_text),      record->exception_text, &record->exception_text_bytes,
                           CS_RING_EXCEPTION_TEXT_LIMIT_BYTES, OTHER_FIRST_BYTES,      0};
  texts[4] = (record_text){RECORD_OFFSET(task_name),      record->task_name, &record->task_name_bytes,
                           CS_RING_TASK_NAME_LIMIT_BYTES, OTHER_FIRST_BYTES, 0};
}

// Adds the next part of each text. `is_rest`: all the bytes that fit.
static void put_texts(cs_record_parts *parts, bool is_rest) SIGNAL_SAFE {
  for (uint32_t index = 0; index < TEXT_COUNT; index++) {
    record_text *text = &texts[index];
    const uint32_t size = cs_at_most(*text->size, text->limit);
    text->done = put_text(parts, text->offset, text->bytes, text->done, size, is_rest ? size : text->first);
    if (!is_rest) continue;
    cs_parts_add_cut(&parts->head.cut_text_bytes, size - text->done);
    *text->size = text->done;
  }
}

// A reader takes a request whose number is 0 as none. The number goes last, so that it is only there with its texts.
static void put_request(cs_record_parts *parts) SIGNAL_SAFE {
  const cs_ring_request *request = &parts->slot->request;
  if (request->number == 0) return;
  const uint32_t operation = cs_at_most(request->operation_bytes, CS_RING_OPERATION_LIMIT_BYTES);
  const uint32_t id = cs_at_most(request->id_bytes, CS_RING_REQUEST_ID_LIMIT_BYTES);
  const uint32_t tags = cs_at_most(request->tag_bytes, CS_RING_REQUEST_TAG_LIMIT_BYTES);
  const bool is_whole =
      cs_pieces_put_bytes(&parts->pieces, REQUEST_OFFSET(operation), request->operation, operation) == operation &&
      cs_pieces_put_bytes(&parts->pieces, REQUEST_OFFSET(id), request->id, id) == id &&
      cs_pieces_put_bytes(&parts->pieces, REQUEST_OFFSET(tags), request->tags, tags) == tags;
  if (is_whole)
    cs_parts_put_words(parts, REQUEST_OFFSET(state), request, offsetof(cs_ring_request, operation) / WORD_BYTES);
}

static bool begins_with(const uint8_t *text, size_t size, const char *start, size_t start_bytes) SIGNAL_SAFE {
  return size >= start_bytes && memcmp(text, start, start_bytes) == 0;
}

static const char release[] = "release";
static const char environment[] = "environment";
static const char container[] = "k8s.";

// Returns whether the annotation says which program this is and where it runs.
static bool is_of_deployment(const cs_ring_annotation *annotation) SIGNAL_SAFE {
  const size_t size = annotation->key_bytes;
  return (size == sizeof release - 1 && begins_with(annotation->key, size, release, size)) ||
         (size == sizeof environment - 1 && begins_with(annotation->key, size, environment, size)) ||
         begins_with(annotation->key, size, container, sizeof container - 1);
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
static void put_first_annotations(cs_record_parts *parts) SIGNAL_SAFE {
  const size_t limit = parts->pieces.limit;
  parts->pieces.limit = limit - EARLY_RESERVE_BYTES;
  for (uint32_t index = 0; index < CS_RING_ANNOTATION_LIMIT && parts->pieces.state.count < parts->pieces.limit;
       index++) {
    if (take_annotation(parts, index) && is_of_deployment(&parts->annotation) && put_annotation(parts, index)) {
      parts->annotations_put |= UINT64_C(1) << index;
    }
  }
  parts->pieces.limit = limit;
}

static void put_other_annotations(cs_record_parts *parts) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_ANNOTATION_LIMIT; index++) {
    const bool is_put = (parts->annotations_put & UINT64_C(1) << index) != 0;
    if (!is_put && take_annotation(parts, index) && !put_annotation(parts, index))
      cs_parts_add_cut(&parts->head.cut_annotations, 1);
  }
}

// Returns whether the incident is evidence of this crash: a record of a freed object, or of a guard page.
static bool is_of_crash(cs_record_parts *parts, const cs_ring_incident *incident) SIGNAL_SAFE {
  return incident->use_tid == parts->record.tid &&
         (incident->method == parts->record.address || (uint64_t)incident->amount == parts->record.sequence);
}

static void put_incidents(cs_record_parts *parts) SIGNAL_SAFE {
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

static void put_memory(cs_record_parts *parts) SIGNAL_SAFE {
  const uint32_t count = parts->record.memory_count;
  uint32_t done = 0;
  for (; done < count; done++) {
    const cs_ring_memory *memory = &parts->record.memory[done];
    const uint32_t words = cs_at_most(memory->bytes, CS_RING_MEMORY_LIMIT_BYTES) / (uint32_t)WORD_BYTES;
    const uint32_t head = offsetof(cs_ring_memory, contents) / WORD_BYTES;
    if (!cs_parts_put_words(parts, RECORD_OFFSET(memory) + done * sizeof *memory, memory, head + words)) break;
  }
  for (uint32_t index = done; index < count; index++)
    cs_parts_add_cut(&parts->head.cut_memory_words, parts->record.memory[index].bytes / WORD_BYTES);
  parts->record.memory_count = done;

  const uint32_t words = parts->record.stack_bytes / (uint32_t)WORD_BYTES;
  const uint32_t kept =
      cs_pieces_put_words(&parts->pieces, SLOT_OFFSET + offsetof(cs_ring_slot, stack), parts->slot->stack, words, 1);
  cs_parts_add_cut(&parts->head.cut_memory_words, words - kept);
  parts->record.stack_bytes = kept * (uint32_t)WORD_BYTES;
}

// Adds the numbers that depend on what fitted. LAST_BYTES are enough for their longest coding.
static void put_last_numbers(cs_record_parts *parts) SIGNAL_SAFE {
  parts->pieces.limit += LAST_BYTES;
  parts->header.image_count = parts->image_count;
  parts->header.image_total = parts->image_count + parts->head.cut_images;
  parts->header.annotation_lost += parts->head.cut_annotations;
  put_header(parts, offsetof(cs_ring_header, image_count), offsetof(cs_ring_header, slot_head));
  put_header(parts, offsetof(cs_ring_header, annotation_lost), offsetof(cs_ring_header, breadcrumb_head));
  put_record(parts, offsetof(cs_ring_record, frame_count), offsetof(cs_ring_record, registers));
  put_record(parts, offsetof(cs_ring_record, exception_text_bytes), offsetof(cs_ring_record, exception_text));
}

void cs_parts_put(cs_record_parts *parts, const cs_ring_slot *slot, bool is_bare) SIGNAL_SAFE {
  parts->slot = slot;
  parts->is_bare = is_bare;
  parts->image_count = 0;
  parts->annotations_put = 0;
  parts->pieces.limit -= LAST_BYTES;
  take_copies(parts);
  begin_texts(parts);
  put_numbers(parts);
  put_names(parts);
  put_texts(parts, false);
  if (!parts->is_bare) put_request(parts);
  if (!parts->is_bare) put_first_annotations(parts);
  cs_parts_put_images_of_frames(parts);
  cs_parts_put_frames(parts);
  cs_parts_put_images_of_addresses(parts);
  put_texts(parts, true);
  if (!parts->is_bare) put_other_annotations(parts);
  if (!parts->is_bare) put_incidents(parts);
  if (!parts->is_bare) put_memory(parts);
  put_last_numbers(parts);
}

#endif
