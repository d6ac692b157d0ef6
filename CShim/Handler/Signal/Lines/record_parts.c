// Selects the parts of the ring for the record line, in the order of their importance.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record_parts.h"

#include "../Deliver/bare.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"

// The number of bytes that are reserved for put_last_numbers(). These numbers are known only after all other parts were
// added.
#define LAST_BYTES 144
// The maximum number of bytes of the message, and of each other string, that are added before the frames. The rest is
// added after the frames, if there is space.
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

// Adds at most `limit` bytes of a string, starting at the index `from`. Returns the index after the last added byte.
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

// Returns the number of threads that crashed together: the number of committed records since the last crash that the
// process survived. The record of a fault that the program repaired was withdrawn and does not count. Reads only slots
// that were used, because reading another slot would allocate its page.
static uint32_t count_crashes(const cs_record_parts *parts) SIGNAL_SAFE {
  const uint64_t survived = parts->header.survived, head = cs_ring_counter(&parts->header.slot_head);
  uint32_t count = 0;
  for (uint64_t ticket = survived; ticket < head && ticket - survived < CS_RING_SLOT_LIMIT; ticket++) {
    const cs_ring_slot *slot = &cs_process.ring->slots[ticket % CS_RING_SLOT_LIMIT];
    const bool is_committed = (cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK) == CS_RING_STATE_COMMITTED;
    count += is_committed && slot->record.sequence >= survived;
  }
  return count;
}

// Copies the header and the record. The line never contains breadcrumbs, threads, classes and the table of requests:
// clears the fields that describe them, and counts the omitted breadcrumbs and threads.
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
  const uint32_t crashed = count_crashes(parts);
  cs_parts_add_cut(&parts->head.cut_threads, parts->header.thread_total + (crashed > 0 ? crashed - 1 : 0));
  parts->header.breadcrumb_head = parts->header.sweep_ns = 0;
  parts->header.thread_count = parts->header.thread_total = parts->header.sweep = 0;
  parts->header.class_count = parts->header.class_total = parts->header.request_high = 0;
  parts->record.frame_count = cs_at_most(parts->record.frame_count, CS_RING_FRAME_LIMIT);
  parts->record.frame_head = cs_at_most(parts->record.frame_head, parts->record.frame_count);
  parts->record.memory_count = cs_at_most(parts->record.memory_count, CS_RING_MEMORY_LIMIT);
  parts->record.stack_bytes = cs_at_most(parts->record.stack_bytes, CS_RING_STACK_LIMIT_BYTES);
}

// Adds the words of the copied header from the offset `from` to the offset `to`.
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

static void begin_texts(cs_record_parts *parts) SIGNAL_SAFE {
  cs_ring_record *record = &parts->record;
  cs_record_text *const texts = parts->texts;
  texts[0] = (cs_record_text){RECORD_OFFSET(message),      record->message,     &record->message_bytes,
                              CS_RING_MESSAGE_LIMIT_BYTES, MESSAGE_FIRST_BYTES, 0};
  texts[1] = (cs_record_text){RECORD_OFFSET(abort_message), record->abort_message, &record->abort_bytes,
                              CS_RING_ABORT_LIMIT_BYTES,    OTHER_FIRST_BYTES,     0};
  texts[2] = (cs_record_text){RECORD_OFFSET(exception),      record->exception, &record->exception_bytes,
                              CS_RING_EXCEPTION_LIMIT_BYTES, OTHER_FIRST_BYTES, 0};
  texts[3] = (cs_record_text){RECORD_OFFSET(exception_text),      record->exception_text, &record->exception_text_bytes,
                              CS_RING_EXCEPTION_TEXT_LIMIT_BYTES, OTHER_FIRST_BYTES,      0};
  texts[4] = (cs_record_text){RECORD_OFFSET(task_name),      record->task_name, &record->task_name_bytes,
                              CS_RING_TASK_NAME_LIMIT_BYTES, OTHER_FIRST_BYTES, 0};
}

// Adds the first part of each string, or, if `is_rest` is true, as much of the rest as fits.
static void put_texts(cs_record_parts *parts, bool is_rest) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RECORD_TEXT_COUNT; index++) {
    cs_record_text *text = &parts->texts[index];
    const uint32_t size = cs_at_most(*text->size, text->limit);
    text->done = put_text(parts, text->offset, text->bytes, text->done, size, is_rest ? size : text->first);
    if (!is_rest) continue;
    cs_parts_add_cut(&parts->head.cut_text_bytes, size - text->done);
    *text->size = text->done;
  }
}

// Adds the request of the crashing thread. A reader ignores a request whose number is 0, so the number is added only if
// all of the request's strings fit.
static void put_request(cs_record_parts *parts) SIGNAL_SAFE {
  const cs_ring_request *request = &parts->slot->request;
  if (request->number == 0) return;
  const uint32_t operation = cs_at_most(request->operation_bytes, CS_RING_OPERATION_LIMIT_BYTES);
  const uint32_t id = cs_at_most(request->id_bytes, CS_RING_REQUEST_ID_LIMIT_BYTES);
  const uint32_t tags = cs_at_most(request->tag_bytes, CS_RING_REQUEST_TAG_LIMIT_BYTES);
  const cs_piece_state before = parts->pieces.state;
  const bool is_whole =
      cs_pieces_put_bytes(&parts->pieces, REQUEST_OFFSET(operation), request->operation, operation) == operation &&
      cs_pieces_put_bytes(&parts->pieces, REQUEST_OFFSET(id), request->id, id) == id &&
      cs_pieces_put_bytes(&parts->pieces, REQUEST_OFFSET(tags), request->tags, tags) == tags &&
      cs_parts_put_words(parts, REQUEST_OFFSET(state), request, offsetof(cs_ring_request, operation) / WORD_BYTES);
  if (is_whole) return;
  parts->pieces.state = before;
  cs_parts_add_cut(&parts->head.cut_text_bytes, operation + id + tags);
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

// Adds the numbers that depend on which other parts fitted. LAST_BYTES is enough for the longest encoding of these
// numbers.
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
  if (!parts->is_bare) cs_parts_put_first_annotations(parts);
  cs_parts_put_images_of_frames(parts);
  cs_parts_put_frames(parts);
  cs_parts_put_images_of_addresses(parts);
  put_texts(parts, true);
  if (!parts->is_bare) cs_parts_put_other_annotations(parts);
  if (!parts->is_bare) cs_parts_put_incidents(parts);
  if (!parts->is_bare) put_memory(parts);
  put_last_numbers(parts);
}

#endif
