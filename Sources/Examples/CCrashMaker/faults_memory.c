// Faults by invalid memory accesses.
#include "faults.h"

#include <sys/mman.h>
#include <unistd.h>

FAULT int64_t cs_opaque(int64_t value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

FAULT void cs_fault_null_read(void) {
  volatile int *number = opaque_pointer(0);
  (void)*number; // fault: null-read
}

FAULT void cs_fault_null_write(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: null-write
}

FAULT void cs_fault_null_plus_offset(void) {
  struct order {
    int64_t identifier;
    int64_t lines[63];
    int64_t total;
  };
  volatile struct order *order = opaque_pointer(0);
  (void)order->total; // fault: null-plus-offset
}

FAULT void cs_fault_null_call(void) {
  void (*function)(void) = (void (*)(void))opaque_pointer(0);
  function();   // fault: null-call
  cs_opaque(1); // A call after the fault prevents a tail call, which would remove this frame.
}

FAULT void cs_fault_wild_read(void) {
  // A canonical address in a range where Linux does not map memory.
  volatile int *number = opaque_pointer(UINT64_C(0x0000123456789000));
  (void)*number; // fault: wild-read
}

FAULT void cs_fault_non_canonical(void) {
  volatile int *number = opaque_pointer(UINT64_C(0x4141414141414141));
  (void)*number; // fault: non-canonical
}

FAULT void cs_fault_read_only_write(void) {
  // Map a read-only page instead of using a constant, because some linkers place constants in writable memory.
  volatile char *character = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (character == MAP_FAILED) return;
  *character = 'C'; // fault: read-only-write
}

FAULT void cs_fault_no_exec_jump(void) {
  // A return instruction in data. Calling it would succeed if data were executable.
  static unsigned char code[] = {0xc3};
  void (*function)(void) = (void (*)(void))opaque_pointer((uint64_t)(uintptr_t)code);
  function(); // fault: no-exec-jump
  cs_opaque(1);
}

FAULT void cs_fault_jump_to_odd_address(void) {
  void (*function)(void) = (void (*)(void))opaque_pointer(UINT64_C(0x0000123456789001));
  function(); // fault: jump-to-odd-address
  cs_opaque(1);
}

FAULT void cs_fault_bus_truncated_mmap(void) {
  int file = memfd_create("truncated", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 4096) != 0) return;
  volatile char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED || ftruncate(file, 0) != 0) return;
  (void)bytes[100]; // fault: bus-truncated-mmap
}

static FAULT int64_t cs_fault_stack_overflow_descend(int64_t depth) {
  volatile char room[512];
  room[0] = (char)depth;
  // Do not call cs_opaque() here, because the stack could then overflow in cs_opaque() instead of this function.
  __asm__ volatile("" : "+r"(depth));
  if (depth == INT64_MAX) return room[0];
  return cs_fault_stack_overflow_descend(depth + 1) + room[0];
}

FAULT void cs_fault_stack_overflow(void) {
  cs_opaque(cs_fault_stack_overflow_descend(0));
}
