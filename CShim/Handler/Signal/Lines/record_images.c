// Selects the images and the frames of the record line.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record_parts.h"

#include "../Deliver/bare.h"
#include "../Dispatch/state.h"
#include "cs_ring_access.h"

// The images that belong to frames leave this number of bytes free for the frames themselves.
#define FRAME_RESERVE_BYTES 600

#define FRAME_WORDS (sizeof(cs_ring_frame) / WORD_BYTES)
#define NOT_MAPPED  CS_RING_NO_IMAGE
#define CUT         0xfffe // the image does not fit, and is counted as omitted

_Static_assert(CS_RING_IMAGE_LIMIT <= CUT, "CUT is not the index of an image");

// Adds an image to the line, with the next index of the line's own image list, and returns this index. If the whole
// path would leave less than `reserve` bytes free, adds only the path's last component. Returns CUT if the image does
// not fit.
static uint16_t put_image(cs_record_parts *parts, uint32_t index, size_t reserve) SIGNAL_SAFE {
  if (parts->is_bare) {
    cs_bare_image(index, &parts->image);
  } else {
    parts->image = cs_process.ring->images[index];
  }
  const cs_piece_state before = parts->pieces.state;
  const uint64_t offset = offsetof(cs_ring, images) + parts->image_count * sizeof parts->image;
  const uint32_t id = cs_at_most(parts->image.build_id_bytes, CS_RING_BUILD_ID_LIMIT_BYTES);
  const uint32_t path = cs_parts_text_bytes(parts->image.path, CS_RING_PATH_LIMIT_BYTES);
  uint32_t from = 0;
  if (parts->pieces.state.count + id + path + reserve > parts->pieces.limit) {
    for (uint32_t at = 0; at < path; at++)
      from = parts->image.path[at] == '/' ? at + 1 : from;
    if (from > 0) parts->image.flags |= CS_RING_IMAGE_PATH_TRUNCATED;
  }
  const uint32_t rest = path - from;
  const bool is_whole =
      cs_parts_put_words(parts, offset, &parts->image, offsetof(cs_ring_image, build_id) / WORD_BYTES) &&
      cs_pieces_put_bytes(&parts->pieces, offset + offsetof(cs_ring_image, build_id), parts->image.build_id, id) ==
          id &&
      cs_pieces_put_bytes(&parts->pieces, offset + offsetof(cs_ring_image, path), parts->image.path + from, rest) ==
          rest;
  if (is_whole && parts->image_count < CS_RING_IMAGE_LIMIT) {
    cs_parts_add_cut(&parts->head.cut_text_bytes, from);
    return (uint16_t)parts->image_count++;
  }
  parts->pieces.state = before;
  cs_parts_add_cut(&parts->head.cut_images, 1);
  return CUT;
}

static void put_image_once(cs_record_parts *parts, uint32_t index, size_t reserve) SIGNAL_SAFE {
  if (index >= cs_image_count(cs_process.ring) || parts->image_index[index] != NOT_MAPPED) return;
  parts->image_index[index] = put_image(parts, index, reserve);
}

void cs_parts_put_images_of_frames(cs_record_parts *parts) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_IMAGE_LIMIT; index++)
    parts->image_index[index] = NOT_MAPPED;
  for (uint32_t index = 0; index < parts->record.frame_count; index++)
    put_image_once(parts, parts->record.frames[index].image, FRAME_RESERVE_BYTES);
}

static void put_image_at(cs_record_parts *parts, uint64_t address) SIGNAL_SAFE {
  const uint32_t count = cs_image_count(cs_process.ring);
  for (uint32_t index = 0; index < count; index++) {
    const cs_ring_image *image = &cs_process.ring->images[index];
    if (image->start <= address && address < image->end) put_image_once(parts, index, 0);
  }
}

void cs_parts_put_images_of_addresses(cs_record_parts *parts) SIGNAL_SAFE {
  put_image_at(parts, parts->record.address);
  for (uint32_t index = 0; index < cs_at_most((uint32_t)parts->record.registers.general_count, CS_RING_REGISTER_LIMIT);
       index++)
    put_image_at(parts, parts->record.registers.general[index]);
}

// If not all frames fit, the line contains the innermost ones. `frame_total` still contains the number of frames on the
// stack.
void cs_parts_put_frames(cs_record_parts *parts) SIGNAL_SAFE {
  const uint32_t count = parts->record.frame_count;
  for (uint32_t index = 0; index < count; index++) {
    uint16_t *image = &parts->record.frames[index].image;
    const uint16_t mapped = *image < CS_RING_IMAGE_LIMIT ? parts->image_index[*image] : NOT_MAPPED;
    *image = mapped == CUT ? CS_RING_NO_IMAGE : mapped;
  }
  const uint32_t words = cs_pieces_put_words(&parts->pieces, RECORD_OFFSET(frames), parts->record.frames,
                                             count * (uint32_t)FRAME_WORDS, FRAME_WORDS);
  const uint32_t done = words / (uint32_t)FRAME_WORDS;
  cs_parts_add_cut(&parts->head.cut_frames, count - done);
  parts->record.frame_count = done;
  parts->record.frame_head = cs_at_most(parts->record.frame_head, done);
}

#endif
