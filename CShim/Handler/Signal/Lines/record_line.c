// Selects the parts of the ring for the record line, in the order of their importance.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record_line.h"

#include "../Deliver/bare.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"
#include "pieces.h"

// The bytes that stay free until the end, for the numbers that are known only then (put_last_numbers) and the CRC.
#define LAST_BYTES 144
#define CRC_BYTES  4
// The bytes that images leave free for frames.
#define FRAME_RESERVE_BYTES 900
// The bytes of each text that go before the frames. The rest follows after the frames, if there is space.
#define MESSAGE_FIRST_BYTES   512
#define ABORT_FIRST_BYTES     256
#define EXCEPTION_FIRST_BYTES 128

#define WORD_BYTES  sizeof(uint64_t)
#define FRAME_WORDS (sizeof(cs_ring_frame) / WORD_BYTES)
#define NOT_MAPPED  CS_RING_NO_IMAGE

// The offsets in slot 0, which always holds the record.
#define SLOT_OFFSET             offsetof(cs_ring, slots)
#define RECORD_OFFSET(field)    (SLOT_OFFSET + offsetof(cs_ring_slot, record) + offsetof(cs_ring_record, field))
#define REQUEST_OFFSET(field)   (SLOT_OFFSET + offsetof(cs_ring_slot, request) + offsetof(cs_ring_request, field))
#define ANNOTATION_OFFSET(n, f) (offsetof(cs_ring, annotations) + (n) * sizeof(cs_ring_annotation) + (f))

// The buffers are static, because the stack of the crashing thread may be small.
static struct {
  cs_pieces pieces;
  cs_record_line_head head;
  uint8_t payload[CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES];
  const cs_ring_slot *slot;
  bool is_bare;
  cs_ring_header header; // as the line holds it
  cs_ring_record record;
  cs_ring_image image;
  cs_ring_annotation annotation;
  cs_ring_incident incident;
  uint16_t image_index[CS_RING_IMAGE_LIMIT]; // in the line, by the index in the ring; NOT_MAPPED: not in the line
  uint32_t image_count;
} now;

static void add_cut(uint16_t *count, uint64_t more) SIGNAL_SAFE {
  const uint64_t sum = *count + more;
  *count = sum < UINT16_MAX ? (uint16_t)sum : UINT16_MAX;
}

static bool put_words(uint64_t offset, const void *words, uint32_t count) SIGNAL_SAFE {
  return cs_pieces_put_words(&now.pieces, offset, words, count, count) == count;
}

// Adds the bytes of a text from `from` on, up to `limit` of them, and returns the end of the part that the line has.
static uint32_t put_text(uint64_t offset, const uint8_t *text, uint32_t from, uint32_t size,
                         uint32_t limit) SIGNAL_SAFE {
  const uint32_t to = size - from < limit ? size : from + limit;
  return from < to ? from + cs_pieces_put_bytes(&now.pieces, offset + from, text + from, to - from) : from;
}

static uint32_t text_bytes(const uint8_t *text, uint32_t limit) SIGNAL_SAFE {
  uint32_t size = 0;
  while (size < limit && text[size] != 0)
    size++;
  return size;
}

static void put_zero_terminated(uint64_t offset, const uint8_t *text, uint32_t limit) SIGNAL_SAFE {
  const uint32_t size = text_bytes(text, limit);
  add_cut(&now.head.cut_text_bytes, size - put_text(offset, text, 0, size, size));
}

// Copies the header and the record, and clears what the line does not hold. Counts the threads that the line lacks.
static void take_copies(void) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  if (now.is_bare) {
    cs_bare_header(&now.header);
    cs_bare_record(&now.slot->record, &now.record);
  } else {
    now.header = *header;
    now.record = now.slot->record;
  }
  const uint64_t breadcrumbs = cs_ring_counter(&now.header.breadcrumb_head);
  add_cut(&now.head.cut_breadcrumbs,
          breadcrumbs < CS_RING_BREADCRUMB_LIMIT ? breadcrumbs : (uint64_t)CS_RING_BREADCRUMB_LIMIT);
  // The tickets since the last survived crash are those of the threads that crashed together.
  const uint64_t crashed = cs_ring_counter(&now.header.slot_head) - now.header.survived;
  add_cut(&now.head.cut_threads, now.header.thread_total + (crashed > 0 ? crashed - 1 : 0));
  now.header.breadcrumb_head = now.header.sweep_ns = 0;
  now.header.thread_count = now.header.thread_total = now.header.sweep = 0;
  now.header.class_count = now.header.class_total = now.header.request_high = 0;
  now.record.frame_count = cs_at_most(now.record.frame_count, CS_RING_FRAME_LIMIT);
  now.record.frame_head = cs_at_most(now.record.frame_head, now.record.frame_count);
  now.record.memory_count = cs_at_most(now.record.memory_count, CS_RING_MEMORY_LIMIT);
  now.record.stack_bytes = cs_at_most(now.record.stack_bytes, CS_RING_STACK_LIMIT_BYTES);
}

// Adds the numbers of the copied header or record that are at the offsets from `from` to `to` in it.
static void put_header(size_t from, size_t to) SIGNAL_SAFE {
  put_words(from, (const uint8_t *)&now.header + from, (uint32_t)((to - from) / WORD_BYTES));
}

static void put_record(size_t from, size_t to) SIGNAL_SAFE {
  put_words(RECORD_OFFSET(sequence) + from, (const uint8_t *)&now.record + from, (uint32_t)((to - from) / WORD_BYTES));
}

static void put_numbers(void) SIGNAL_SAFE {
  put_header(0, offsetof(cs_ring_header, image_count));
  put_header(offsetof(cs_ring_header, slot_head), offsetof(cs_ring_header, annotation_lost));
  put_header(offsetof(cs_ring_header, slot_overwritten), offsetof(cs_ring_header, reserved));
  const uint64_t slot[2] = {UINT64_C(1) << 2 | CS_RING_STATE_COMMITTED, now.slot->commit_ns};
  put_words(SLOT_OFFSET, slot, 2);
  put_record(0, offsetof(cs_ring_record, frame_count));
  put_record(offsetof(cs_ring_record, registers), offsetof(cs_ring_record, thread_name));
}

static void put_names(void) SIGNAL_SAFE {
  cs_pieces_put_bytes(&now.pieces, RECORD_OFFSET(instruction), now.record.instruction,
                      cs_at_most(now.record.instruction_bytes, CS_RING_INSTRUCTION_LIMIT_BYTES));
  put_zero_terminated(RECORD_OFFSET(thread_name), now.record.thread_name, CS_RING_THREAD_NAME_LIMIT_BYTES);
  put_zero_terminated(offsetof(cs_ring_header, name), now.header.name, CS_RING_NAME_LIMIT_BYTES);
  put_zero_terminated(offsetof(cs_ring_header, executable), now.header.executable, CS_RING_PATH_LIMIT_BYTES);
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

static void begin_texts(void) SIGNAL_SAFE {
  cs_ring_record *record = &now.record;
  texts[0] = (record_text){RECORD_OFFSET(message),      record->message,     &record->message_bytes,
                           CS_RING_MESSAGE_LIMIT_BYTES, MESSAGE_FIRST_BYTES, 0};
  texts[1] = (record_text){RECORD_OFFSET(abort_message), record->abort_message, &record->abort_bytes,
                           CS_RING_ABORT_LIMIT_BYTES,    ABORT_FIRST_BYTES,     0};
  texts[2] = (record_text){RECORD_OFFSET(exception),      record->exception,     &record->exception_bytes,
                           CS_RING_EXCEPTION_LIMIT_BYTES, EXCEPTION_FIRST_BYTES, 0};
  texts[3] = (record_text){RECORD_OFFSET(exception_text),      record->exception_text, &record->exception_text_bytes,
                           CS_RING_EXCEPTION_TEXT_LIMIT_BYTES, ABORT_FIRST_BYTES,      0};
  texts[4] = (record_text){RECORD_OFFSET(task_name),      record->task_name,     &record->task_name_bytes,
                           CS_RING_TASK_NAME_LIMIT_BYTES, EXCEPTION_FIRST_BYTES, 0};
}

// Adds the next part of each text. `is_rest`: all the bytes that fit.
static void put_texts(bool is_rest) SIGNAL_SAFE {
  for (uint32_t index = 0; index < TEXT_COUNT; index++) {
    record_text *text = &texts[index];
    const uint32_t size = cs_at_most(*text->size, text->limit);
    text->done = put_text(text->offset, text->bytes, text->done, size, is_rest ? size : text->first);
    if (!is_rest) continue;
    add_cut(&now.head.cut_text_bytes, size - text->done);
    *text->size = text->done;
  }
}

// A reader takes a request whose number is 0 as none. The number goes last, so that it is only there with its texts.
static void put_request(void) SIGNAL_SAFE {
  const cs_ring_request *request = &now.slot->request;
  if (request->number == 0) return;
  const uint32_t operation = cs_at_most(request->operation_bytes, CS_RING_OPERATION_LIMIT_BYTES);
  const uint32_t id = cs_at_most(request->id_bytes, CS_RING_REQUEST_ID_LIMIT_BYTES);
  const uint32_t tags = cs_at_most(request->tag_bytes, CS_RING_REQUEST_TAG_LIMIT_BYTES);
  const bool is_whole =
      cs_pieces_put_bytes(&now.pieces, REQUEST_OFFSET(operation), request->operation, operation) == operation &&
      cs_pieces_put_bytes(&now.pieces, REQUEST_OFFSET(id), request->id, id) == id &&
      cs_pieces_put_bytes(&now.pieces, REQUEST_OFFSET(tags), request->tags, tags) == tags;
  if (is_whole) put_words(REQUEST_OFFSET(state), request, offsetof(cs_ring_request, operation) / WORD_BYTES);
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
static bool take_annotation(uint32_t index) SIGNAL_SAFE {
  const cs_ring_annotation *entry = &cs_process.ring->annotations[index];
  const uint32_t sequence = cs_ring_annotation_sequence_acquire(entry);
  if (sequence == 0 || sequence % 2 != 0) return false;
  now.annotation = *entry;
  if (cs_ring_annotation_sequence_recheck(entry) != sequence) return false;
  return now.annotation.key_bytes > 0 && now.annotation.key_bytes <= CS_RING_KEY_LIMIT_BYTES &&
         now.annotation.value_bytes <= CS_RING_VALUE_LIMIT_BYTES;
}

static void put_annotation(uint32_t index) SIGNAL_SAFE {
  cs_ring_annotation *annotation = &now.annotation;
  const cs_piece_state before = now.pieces.state;
  const uint64_t value = ANNOTATION_OFFSET(index, offsetof(cs_ring_annotation, value));
  const uint64_t key = ANNOTATION_OFFSET(index, offsetof(cs_ring_annotation, key));
  annotation->sequence = 2;
  const bool is_whole =
      put_words(ANNOTATION_OFFSET(index, 0), annotation, 1) &&
      cs_pieces_put_bytes(&now.pieces, key, annotation->key, annotation->key_bytes) == annotation->key_bytes &&
      cs_pieces_put_bytes(&now.pieces, value, annotation->value, annotation->value_bytes) == annotation->value_bytes;
  if (is_whole) return;
  now.pieces.state = before;
  add_cut(&now.head.cut_annotations, 1);
}

static void put_annotations(bool is_of_deployments) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_ANNOTATION_LIMIT; index++) {
    if (take_annotation(index) && is_of_deployment(&now.annotation) == is_of_deployments) put_annotation(index);
  }
}

// Adds an image under the next index, and returns this index. If the space is short, adds only the path's last
// component.
static uint16_t put_image(uint32_t index, size_t reserve) SIGNAL_SAFE {
  if (now.is_bare) {
    cs_bare_image(index, &now.image);
  } else {
    now.image = cs_process.ring->images[index];
  }
  const cs_piece_state before = now.pieces.state;
  const uint64_t offset = offsetof(cs_ring, images) + now.image_count * sizeof now.image;
  const uint32_t id = cs_at_most(now.image.build_id_bytes, CS_RING_BUILD_ID_LIMIT_BYTES);
  const uint32_t path = text_bytes(now.image.path, CS_RING_PATH_LIMIT_BYTES);
  uint32_t from = 0;
  if (now.pieces.state.count + id + path + reserve > now.pieces.limit) {
    for (uint32_t at = 0; at < path; at++)
      from = now.image.path[at] == '/' ? at + 1 : from;
    now.image.flags |= CS_RING_IMAGE_PATH_TRUNCATED;
    add_cut(&now.head.cut_text_bytes, from);
  }
  const uint32_t rest = path - from;
  const bool is_whole =
      put_words(offset, &now.image, offsetof(cs_ring_image, build_id) / WORD_BYTES) &&
      cs_pieces_put_bytes(&now.pieces, offset + offsetof(cs_ring_image, build_id), now.image.build_id, id) == id &&
      cs_pieces_put_bytes(&now.pieces, offset + offsetof(cs_ring_image, path), now.image.path + from, rest) == rest;
  if (is_whole && now.image_count < CS_RING_IMAGE_LIMIT) return (uint16_t)now.image_count++;
  now.pieces.state = before;
  add_cut(&now.head.cut_images, 1);
  return NOT_MAPPED;
}

static void put_image_once(uint32_t index, size_t reserve) SIGNAL_SAFE {
  if (index >= cs_image_count(cs_process.ring) || now.image_index[index] != NOT_MAPPED) return;
  now.image_index[index] = put_image(index, reserve);
}

static void put_images_of_frames(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_IMAGE_LIMIT; index++)
    now.image_index[index] = NOT_MAPPED;
  for (uint32_t index = 0; index < now.record.frame_count; index++)
    put_image_once(now.record.frames[index].image, FRAME_RESERVE_BYTES);
}

static void put_image_at(uint64_t address) SIGNAL_SAFE {
  const uint32_t count = cs_image_count(cs_process.ring);
  for (uint32_t index = 0; index < count; index++) {
    const cs_ring_image *image = &cs_process.ring->images[index];
    if (image->start <= address && address < image->end) put_image_once(index, 0);
  }
}

static void put_images_of_addresses(void) SIGNAL_SAFE {
  put_image_at(now.record.address);
  for (uint32_t index = 0; index < cs_at_most((uint32_t)now.record.registers.general_count, CS_RING_REGISTER_LIMIT);
       index++)
    put_image_at(now.record.registers.general[index]);
}

// If not all frames fit, the line has the innermost ones. frame_total then shows how many the stack has.
static void put_frames(void) SIGNAL_SAFE {
  const uint32_t count = now.record.frame_count;
  for (uint32_t index = 0; index < count; index++) {
    uint16_t *image = &now.record.frames[index].image;
    *image = *image < CS_RING_IMAGE_LIMIT ? now.image_index[*image] : CS_RING_NO_IMAGE;
  }
  const uint32_t words = cs_pieces_put_words(&now.pieces, RECORD_OFFSET(frames), now.record.frames,
                                             count * (uint32_t)FRAME_WORDS, FRAME_WORDS);
  const uint32_t done = words / (uint32_t)FRAME_WORDS;
  add_cut(&now.head.cut_frames, count - done);
  now.record.frame_count = done;
  now.record.frame_head = cs_at_most(now.record.frame_head, done);
}

// Returns whether the incident is evidence of this crash: a record of a freed object, or of a guard page.
static bool is_of_crash(const cs_ring_incident *incident) SIGNAL_SAFE {
  return incident->use_tid == now.record.tid &&
         (incident->method == now.record.address || (uint64_t)incident->amount == now.record.sequence);
}

static void put_incidents(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_INCIDENT_LIMIT; index++) {
    const cs_ring_incident *entry = &cs_process.ring->incidents[index];
    const uint64_t sequence = cs_ring_incident_sequence_acquire(entry);
    if (sequence == 0 || cs_ring_counter(&entry->key) == 0) continue;
    now.incident = *entry;
    if (!is_of_crash(&now.incident)) continue;
    const uint64_t offset = offsetof(cs_ring, incidents) + index * sizeof *entry;
    if (!put_words(offset, &now.incident, sizeof now.incident / WORD_BYTES)) add_cut(&now.head.cut_incidents, 1);
  }
}

static void put_memory(void) SIGNAL_SAFE {
  const uint32_t count = now.record.memory_count;
  uint32_t done = 0;
  for (; done < count; done++) {
    const cs_ring_memory *memory = &now.record.memory[done];
    const uint32_t words = cs_at_most(memory->bytes, CS_RING_MEMORY_LIMIT_BYTES) / (uint32_t)WORD_BYTES;
    const uint32_t head = offsetof(cs_ring_memory, contents) / WORD_BYTES;
    if (!put_words(RECORD_OFFSET(memory) + done * sizeof *memory, memory, head + words)) break;
  }
  for (uint32_t index = done; index < count; index++)
    add_cut(&now.head.cut_memory_words, now.record.memory[index].bytes / WORD_BYTES);
  now.record.memory_count = done;

  const uint32_t words = now.record.stack_bytes / (uint32_t)WORD_BYTES;
  const uint32_t kept =
      cs_pieces_put_words(&now.pieces, SLOT_OFFSET + offsetof(cs_ring_slot, stack), now.slot->stack, words, 1);
  add_cut(&now.head.cut_memory_words, words - kept);
  now.record.stack_bytes = kept * (uint32_t)WORD_BYTES;
}

// Adds the numbers that depend on what fitted. LAST_BYTES are enough for their longest coding.
static void put_last_numbers(void) SIGNAL_SAFE {
  now.pieces.limit = CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES - CRC_BYTES;
  now.header.image_count = now.image_count;
  now.header.image_total = now.image_count + now.head.cut_images;
  now.header.annotation_lost += now.head.cut_annotations;
  put_header(offsetof(cs_ring_header, image_count), offsetof(cs_ring_header, slot_head));
  put_header(offsetof(cs_ring_header, annotation_lost), offsetof(cs_ring_header, breadcrumb_head));
  put_record(offsetof(cs_ring_record, frame_count), offsetof(cs_ring_record, registers));
  put_record(offsetof(cs_ring_record, exception_text_bytes), offsetof(cs_ring_record, exception_text));
}

static void put_all(void) SIGNAL_SAFE {
  put_numbers();
  put_names();
  put_texts(false);
  if (!now.is_bare) put_request();
  if (!now.is_bare) put_annotations(true);
  put_images_of_frames();
  put_frames();
  put_images_of_addresses();
  put_texts(true);
  if (!now.is_bare) put_annotations(false);
  if (!now.is_bare) put_incidents();
  if (!now.is_bare) put_memory();
  put_last_numbers();
}

static const char prefix[] = CS_RECORD_LINE_PREFIX;
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Writes base64url without padding, and returns the number of characters.
static size_t put_base64(char *to, const uint8_t *bytes, size_t size) SIGNAL_SAFE {
  size_t count = 0;
  uint32_t bits = 0, bit_count = 0;
  for (size_t index = 0; index < size; index++) {
    bits = bits << 8 | bytes[index];
    for (bit_count += 8; bit_count >= 6; bit_count -= 6)
      to[count++] = digits[bits >> (bit_count - 6) & 63];
  }
  if (bit_count > 0) to[count++] = digits[bits << (6 - bit_count) & 63];
  return count;
}

size_t cs_record_line(uint32_t slot, bool is_bare, char ret_line[CS_RECORD_LINE_LIMIT_BYTES]) SIGNAL_SAFE {
  now.slot = &cs_process.ring->slots[slot % CS_RING_SLOT_LIMIT];
  now.is_bare = is_bare;
  now.image_count = 0;
  memset(&now.head, 0, sizeof now.head);
  now.pieces =
      cs_pieces_begin(now.payload, sizeof now.head, CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES - CRC_BYTES - LAST_BYTES);
  take_copies();
  begin_texts();
  put_all();

  const size_t size = now.pieces.state.count;
  now.head.bytes = (uint16_t)(size + CRC_BYTES);
  memcpy(now.payload, &now.head, sizeof now.head);
  const uint32_t crc = cs_ring_crc32c(0, now.payload, size);
  memcpy(now.payload + size, &crc, sizeof crc);
  memcpy(ret_line, prefix, sizeof prefix - 1);
  size_t count = sizeof prefix - 1;
  count += put_base64(ret_line + count, now.payload, size + CRC_BYTES);
  ret_line[count++] = '\n';
  return count;
}

#endif
