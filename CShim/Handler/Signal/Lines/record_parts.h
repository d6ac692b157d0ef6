// Functions that select the parts of the ring that the record line contains, and the state of this selection.
#ifndef CS_RECORD_PARTS_H
#define CS_RECORD_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "pieces.h"

#define WORD_BYTES sizeof(uint64_t)

// Offsets in slot 0 of the ring. In the ring that a reader makes from the line, the record is always in slot 0.
#define SLOT_OFFSET             offsetof(cs_ring, slots)
#define RECORD_OFFSET(field)    (SLOT_OFFSET + offsetof(cs_ring_slot, record) + offsetof(cs_ring_record, field))
#define REQUEST_OFFSET(field)   (SLOT_OFFSET + offsetof(cs_ring_slot, request) + offsetof(cs_ring_request, field))
#define ANNOTATION_OFFSET(n, f) (offsetof(cs_ring, annotations) + (n) * sizeof(cs_ring_annotation) + (f))

// A string of the record, and how many of its bytes were added to the line.
typedef struct cs_record_text {
  uint64_t offset;
  const uint8_t *bytes;
  uint32_t *size; // the size field in the copy of the record; finally set to `done`
  uint32_t limit;
  uint32_t first; // the maximum number of bytes that are added before the frames
  uint32_t done;
} cs_record_text;

#define CS_RECORD_TEXT_COUNT 5

typedef struct cs_record_parts {
  cs_pieces pieces;
  cs_record_line_head head;
  uint8_t payload[CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES];
  const cs_ring_slot *slot;
  bool is_bare;
  cs_ring_header header; // a copy, as the line contains it
  cs_ring_record record;
  cs_ring_image image;
  cs_ring_annotation annotation;
  cs_ring_incident incident;
  cs_record_text texts[CS_RECORD_TEXT_COUNT];
  uint16_t image_index[CS_RING_IMAGE_LIMIT]; // the index in the line for each index in the ring, or NOT_MAPPED or CUT
  uint32_t image_count;
  uint64_t annotations_put; // one bit for each annotation in the line
} cs_record_parts;

// Selects the parts of the record in `slot` and writes them as pieces, in the order of their importance. The caller
// writes the payload's head and CRC. Precondition: cs_pieces_begin() has initialized `parts->pieces`, and `parts->head`
// is cleared.
void cs_parts_put(cs_record_parts *parts, const cs_ring_slot *slot, bool is_bare) SIGNAL_SAFE;

// Adds `more` to a count of omitted items. The number saturates at UINT16_MAX.
void cs_parts_add_cut(uint16_t *count, uint64_t more) SIGNAL_SAFE;

// Adds all words or none of them. Returns whether they fit.
bool cs_parts_put_words(cs_record_parts *parts, uint64_t offset, const void *words, uint32_t count) SIGNAL_SAFE;

// Returns the number of bytes before the first zero byte.
uint32_t cs_parts_text_bytes(const uint8_t *text, uint32_t limit) SIGNAL_SAFE;

// record_images.c: these three functions add the images that the frames use, the frames, and the images that contain
// the fault address or the address in a register.
void cs_parts_put_images_of_frames(cs_record_parts *parts) SIGNAL_SAFE;
void cs_parts_put_frames(cs_record_parts *parts) SIGNAL_SAFE;
void cs_parts_put_images_of_addresses(cs_record_parts *parts) SIGNAL_SAFE;

// record_notes.c: these three functions add the annotations of the deployment (unless too little space for images and
// frames would remain), the other annotations, and the incidents of this crash.
void cs_parts_put_first_annotations(cs_record_parts *parts) SIGNAL_SAFE;
void cs_parts_put_other_annotations(cs_record_parts *parts) SIGNAL_SAFE;
void cs_parts_put_incidents(cs_record_parts *parts) SIGNAL_SAFE;

#endif
