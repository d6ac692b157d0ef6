// Writes a reduced ring to a spool file, for a reader who must not read the process's data. The reduced ring contains
// only the fields that the code below copies.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../Dispatch/state.h"
#include "bare.h"
#include "cs_ring_access.h"
#include "deliver.h"

// In the file, image n begins at the artificial address (n + 1) << 36. No image is larger than 2^36 bytes, and the last
// image is below 2^46.
#define PLACE_SHIFT 36

// The buffer is static, because the stack of the crashing thread can be small. Only one thread at a time writes a spool
// file.
static union {
  cs_ring_header header;
  cs_ring_image image;
  cs_ring_record record;
} bare;

static uint64_t distance(uint32_t index) SIGNAL_SAFE {
  return ((uint64_t)(index + 1) << PLACE_SHIFT) - cs_process.ring->images[index].start;
}

void cs_bare_header(cs_ring_header *ret_header) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  memset(ret_header, 0, sizeof *ret_header);
  // Copies the first fields, from the magic to the executable's path, which identify the process, and then some
  // counters.
  memcpy(ret_header, header, offsetof(cs_ring_header, slot_overwritten));
  ret_header->breadcrumb_head = ret_header->annotation_lost = 0;
  ret_header->slot_overwritten = cs_ring_counter(&header->slot_overwritten);
  ret_header->survived = __atomic_load_n(&header->survived, __ATOMIC_RELAXED);
  ret_header->memory_mode = CS_RING_MEMORY_NONE;
  ret_header->is_restricted = 1;
}

void cs_bare_image(uint32_t index, cs_ring_image *ret_image) SIGNAL_SAFE {
  *ret_image = cs_process.ring->images[index];
  ret_image->bias += distance(index);
  ret_image->start += distance(index);
  ret_image->end += distance(index);
}

static bool put_header(int file) SIGNAL_SAFE {
  cs_bare_header(&bare.header);
  return cs_spool_put(file, &bare.header, sizeof bare.header, 0);
}

static bool put_images(int file) SIGNAL_SAFE {
  const cs_ring *ring = cs_process.ring;
  const size_t count = cs_image_count(ring);
  for (uint32_t index = 0; index < count; index++) {
    cs_bare_image(index, &bare.image);
    const uint64_t offset = offsetof(cs_ring, images) + index * sizeof bare.image;
    if (!cs_spool_put(file, &bare.image, sizeof bare.image, offset)) return false;
  }
  return true;
}

// Returns the frame with an artificial address. If the frame is outside of all images, it has no address.
static cs_ring_frame moved(const cs_ring_frame *frame) SIGNAL_SAFE {
  cs_ring_frame result = {.trust = frame->trust, .flags = frame->flags, .image = CS_RING_NO_IMAGE};
  if (frame->image >= cs_image_count(cs_process.ring)) return result;
  const cs_ring_image *image = &cs_process.ring->images[frame->image];
  if (frame->pc < image->start || frame->pc >= image->end) return result;
  result.image = frame->image;
  result.pc = frame->pc + distance(frame->image);
  if (frame->function_start >= image->start && frame->function_start < image->end) {
    result.function_start = frame->function_start + distance(frame->image);
  }
  return result;
}

void cs_bare_record(const cs_ring_record *record, cs_ring_record *ret_record) SIGNAL_SAFE {
  memset(ret_record, 0, sizeof *ret_record);
  // Copies the first fields, up to the unwinder's results: times, IDs, signal and counts.
  memcpy(ret_record, record, offsetof(cs_ring_record, instruction_bytes));
  ret_record->address = 0;
  ret_record->flags &= CS_RING_RECORD_MINIMAL | CS_RING_RECORD_LATE | CS_RING_RECORD_BUDGET;
  ret_record->flags |= CS_RING_RECORD_BARE;
  memcpy(ret_record->thread_name, record->thread_name, sizeof record->thread_name);
  const uint32_t count = cs_at_most(record->frame_count, CS_RING_FRAME_LIMIT);
  for (uint32_t index = 0; index < count; index++)
    ret_record->frames[index] = moved(&record->frames[index]);
}

static bool put_slot(int file, uint32_t index) SIGNAL_SAFE {
  const cs_ring_slot *slot = &cs_process.ring->slots[index];
  const uint64_t offset = offsetof(cs_ring, slots) + index * sizeof *slot;
  uint64_t state = cs_ring_slot_state_acquire(slot);
  const uint64_t step = state & CS_RING_STATE_MASK;
  if (step == CS_RING_STATE_COMMITTED || step == CS_RING_STATE_PENDING) {
    cs_bare_record(&slot->record, &bare.record);
    const uint32_t crc = cs_ring_crc32c(0, &bare.record, sizeof bare.record);
    const bool is_put =
        cs_spool_put(file, &slot->commit_ns, sizeof slot->commit_ns, offset + offsetof(cs_ring_slot, commit_ns)) &&
        cs_spool_put(file, &crc, sizeof crc, offset + offsetof(cs_ring_slot, crc)) &&
        cs_spool_put(file, &bare.record, sizeof bare.record, offset + offsetof(cs_ring_slot, record));
    if (!is_put) return false;
    // If another crash claimed the slot during the copy, the copy is torn, and its state in the file is WRITING.
    if (cs_ring_slot_state_recheck(slot) != state) state = CS_RING_STATE_WRITING;
  }
  return state == CS_RING_STATE_FREE ||
         cs_spool_put(file, &state, sizeof state, offset + offsetof(cs_ring_slot, state));
}

bool cs_spool_put_bare_ring(int file) SIGNAL_SAFE {
  if (!put_header(file) || !put_images(file)) return false;
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    if (!put_slot(file, index)) return false;
  }
  return cs_ftruncate(file, sizeof(cs_ring)) == 0;
}

#endif
