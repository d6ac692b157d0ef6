// Removes the program's memory from copies of rings, for readers that store them. The crash handler does not use this
// code.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <signal.h>
#include <stdbool.h>

#include "cs_ring_access.h"

static uint32_t checksum(const cs_ring_slot *slot) {
  const uint32_t limit = sizeof slot->stack;
  const uint32_t size = slot->record.stack_bytes < limit ? slot->record.stack_bytes : limit;
  return cs_ring_crc32c(cs_ring_crc32c(0, &slot->record, sizeof slot->record), slot->stack, size);
}

// Returns whether the processor could not fetch the instruction at the pc, because the thread jumped to data or to an
// unmapped address.
static bool is_bad_fetch(const cs_ring_record *record) {
  const uint64_t fault_address = record->registers.fault_address;
  if (record->signal != SIGSEGV && record->signal != SIGBUS) return false;
  // The pc of the first frame is the location of the crash. If it equals the address of the fault, the instruction
  // could not be fetched.
  return record->frame_count == 0 || record->frames[0].pc == fault_address || record->frames[0].pc == record->address;
}

void cs_ring_header_withhold(cs_ring_header *header) {
  if (header->memory_mode != CS_RING_MEMORY_NONE) header->memory_mode = CS_RING_MEMORY_WITHHELD;
  header->heap_key = header->heap_start = 0;
}

void cs_ring_slot_withhold(cs_ring_slot *slot) {
  cs_ring_record *record = &slot->record;
  // A slot is damaged if its length is invalid or its CRC does not match. A damaged slot gets a CRC that does not
  // match, so that readers still detect the damage.
  const bool is_whole = record->stack_bytes <= sizeof slot->stack && slot->crc == checksum(slot);
  // Clears the arrays completely: the unused parts of a reused slot can contain data of an earlier crash.
  memset(slot->stack, 0, sizeof slot->stack);
  memset(record->memory, 0, sizeof record->memory);
  if (is_bad_fetch(record)) {
    memset(record->instruction, 0, sizeof record->instruction);
    record->instruction_bytes = 0;
  }
  record->stack_bytes = record->memory_count = 0;
  record->heap_end = 0;
  slot->crc = is_whole ? checksum(slot) : ~checksum(slot);
}

#endif
