// The program's memory in a record: the stack, and the memory around the registers' pointers.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "registers.h"

// After an overflow the stack pointer may be below the stack: the search for the stack ends this far above it.
#define GUARD_PAGE_LIMIT 16
// The bytes before a pointer that are recorded: the header of malloc's block, and a little more.
#define BYTES_BEFORE 32
#define FLAGS_MASK   (UINT64_MAX >> 8)

// Above the first thread's stack are the program's arguments and its environment.
static size_t stack_limit(uint64_t start, size_t limit) SIGNAL_SAFE {
  const uint64_t end = cs_process.first_stack_end;
  return start < end && end - start < limit ? (size_t)(end - start) & ~(size_t)7 : limit;
}

void cs_record_stack(cs_ring_slot *slot, cs_memory *memory) SIGNAL_SAFE {
  cs_ring_record *record = &slot->record;
  const uint32_t mode = cs_memory_mode();
  const uint64_t stack_pointer = record->registers.general[CS_REGISTER_STACK_POINTER] & ~UINT64_C(7);
  // Below a guard page there may be another thread's stack: do not skip memory outside of this one.
  const bool is_on_stack = cs_memory_is_readable(stack_pointer);
  uint64_t start = is_on_stack ? stack_pointer - CS_RED_ZONE_BYTES : stack_pointer;
  for (int page = 0; page < GUARD_PAGE_LIMIT && !cs_memory_is_readable(start); page++) {
    start = (start & ~(CS_PAGE_BYTES - 1)) + CS_PAGE_BYTES;
  }
  if (!cs_memory_is_readable(start)) return;
  // Each mode records its start.
  record->stack_start = start;
  if (mode == CS_RING_MEMORY_NONE) return;
  const size_t size = cs_memory_copy(slot->stack, start, stack_limit(start, sizeof slot->stack));
  if (mode != CS_RING_MEMORY_FULL) cs_scrub(slot->stack, size, &record->registers);
  record->stack_bytes = (uint32_t)size;
  memory->low = start;
  memory->high = start + record->stack_bytes;
}

// Whether the record already contains the word at the address.
static bool is_known(const cs_ring_record *record, uint64_t address) SIGNAL_SAFE {
  if (address >= record->stack_start && address - record->stack_start < record->stack_bytes) return true;
  for (uint32_t index = 0; index < record->memory_count; index++) {
    const cs_ring_memory *memory = &record->memory[index];
    if (address >= memory->start && address - memory->start < memory->bytes) return true;
  }
  return false;
}

static void add_words_at(cs_ring_record *record, uint64_t address) SIGNAL_SAFE {
  if (address < CS_PAGE_BYTES || address >> 47 != 0 || record->memory_count >= CS_RING_MEMORY_LIMIT) return;
  // The kernel put the arguments and the environment there; the program has nothing above them.
  if (cs_process.first_stack_end != 0 && address >= cs_process.first_stack_end) return;
  if (is_known(record, address) || !cs_memory_is_readable(address)) return;
  uint64_t start = address - BYTES_BEFORE;
  if (!cs_memory_is_readable(start)) start = address & ~(CS_PAGE_BYTES - 1);
  cs_ring_memory *memory = &record->memory[record->memory_count];
  const size_t size = cs_memory_copy(memory->contents, start, sizeof memory->contents) & ~(size_t)7;
  if (cs_memory_mode() != CS_RING_MEMORY_FULL) cs_scrub(memory->contents, size, &record->registers);
  memory->start = start;
  memory->bytes = (uint32_t)size;
  record->memory_count++;
}

void cs_record_memory(cs_ring_record *record) SIGNAL_SAFE {
  if (cs_memory_mode() == CS_RING_MEMORY_NONE) return;
  record->heap_end = (uint64_t)cs_system_call(SYS_brk, 0, 0, 0, 0, 0, 0);
  for (uint32_t index = 0; index < CS_REGISTER_COUNT; index++) {
    // `instruction` has the bytes at the pc.
    if (index != CS_REGISTER_PC) add_words_at(record, record->registers.general[index] & FLAGS_MASK & ~UINT64_C(7));
  }
}

#endif
