// Records memory of the program: the stack, and the memory near the addresses in registers.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "registers.h"

// After a stack overflow, the stack pointer can be below the stack, in the guard pages. The search for readable stack
// goes up at most this many pages of CS_PAGE_BYTES. If the kernel's pages have 64 KiB, this is one page of the kernel.
#define GUARD_PAGE_LIMIT 16
// The number of bytes to record before an address that a register contains. These bytes contain the header of malloc's
// block and 16 more bytes.
#define BYTES_BEFORE 32
#define FLAGS_MASK   (UINT64_MAX >> 8)

// Limits the size to the end of the first thread's stack, because the program's arguments and environment are above it.
static size_t stack_limit(uint64_t start, size_t limit) SIGNAL_SAFE {
  const uint64_t end = cs_process.first_stack_end;
  return start < end && end - start < limit ? (size_t)(end - start) & ~(size_t)7 : limit;
}

void cs_record_stack(cs_ring_slot *slot, cs_memory *memory) SIGNAL_SAFE {
  cs_ring_record *record = &slot->record;
  const uint32_t mode = cs_memory_mode();
  const uint64_t stack_pointer = record->registers.general[CS_REGISTER_STACK_POINTER] & ~UINT64_C(7);
  // The red zone consists of the bytes below the stack pointer that a function is allowed to use. It is recorded only
  // if the stack pointer is in readable memory: after an overflow, the bytes below can belong to the stack of another
  // thread.
  const bool is_on_stack = cs_memory_is_readable(stack_pointer);
  uint64_t start = is_on_stack ? stack_pointer - CS_RED_ZONE_BYTES : stack_pointer;
  for (int page = 0; page < GUARD_PAGE_LIMIT && !cs_memory_is_readable(start); page++) {
    start = (start & ~(CS_PAGE_BYTES - 1)) + CS_PAGE_BYTES;
  }
  if (!cs_memory_is_readable(start)) return;
  // The start address of the stack is recorded in every memory mode, even if the contents of the stack are not.
  record->stack_start = start;
  if (mode == CS_RING_MEMORY_NONE) return;
  const size_t size = cs_memory_copy(slot->stack, start, stack_limit(start, sizeof slot->stack));
  if (mode != CS_RING_MEMORY_FULL) cs_scrub(slot->stack, size, &record->registers);
  record->stack_bytes = (uint32_t)size;
  memory->low = start;
  memory->high = start + record->stack_bytes;
}

// Returns whether the record already contains the word at `address`.
static bool is_known(const cs_ring_record *record, uint64_t address) SIGNAL_SAFE {
  if (address >= record->stack_start && address - record->stack_start < record->stack_bytes) return true;
  for (uint32_t index = 0; index < record->memory_count; index++) {
    const cs_ring_memory *memory = &record->memory[index];
    if (address >= memory->start && address - memory->start < memory->bytes) return true;
  }
  return false;
}

static void add_words_at(cs_ring_record *record, uint64_t address) SIGNAL_SAFE {
  if (!cs_is_user_address(address, CS_ADDRESS_BITS) || record->memory_count >= CS_RING_MEMORY_LIMIT) return;
  // The program's arguments and environment are above `first_stack_end` and are not recorded.
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
  // `cs_memory_order` omits the pc, because the record's field `instruction` already contains the bytes at the pc.
  for (uint32_t index = 0; index < cs_memory_order_count; index++) {
    add_words_at(record, record->registers.general[cs_memory_order[index]] & FLAGS_MASK & ~UINT64_C(7));
  }
}

#endif
