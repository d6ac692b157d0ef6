// Heap corruption that glibc detects, heap corruption that makes glibc crash, and a use-after-free.
#include "faults.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// A block of this size is too large for the per-thread cache, and too small for a separate mapping.
#define BLOCK_BYTES 4000

// Returns the address of the size word that precedes a heap block. The lowest bits of the word are flags.
static uint64_t *size_before(void *block) {
  return (uint64_t *)opaque_pointer((uint64_t)(uintptr_t)block - sizeof(uint64_t));
}

FAULT void cs_fault_heap_overwrite_metadata(void) {
  char *first = malloc(BLOCK_BYTES);
  char *second = malloc(BLOCK_BYTES);
  if (first == NULL || second == NULL) return;
  *size_before(second) = 9;
  free(second); // fault: heap-overwrite-metadata
  cs_opaque((int64_t)(uintptr_t)first);
}

FAULT void cs_fault_malloc_corrupt_top(void) {
  // Use one arena, in which the top of the heap follows the last block. An overrun of the last block then corrupts the
  // size of the top.
  if (mallopt(M_ARENA_MAX, 1) != 1) return;
  malloc_trim(0);
  char *block = malloc(100 * BLOCK_BYTES / 4);
  if (block == NULL) return;
  *size_before(block + malloc_usable_size(block) + sizeof(uint64_t)) = UINT64_C(0x4141414141414141);
  void *next = malloc(100 * BLOCK_BYTES / 4); // fault: malloc-corrupt-top
  cs_opaque((int64_t)(uintptr_t)next);
}

FAULT void cs_fault_inside_malloc(void) {
  // Make a free block in the unsorted list. The next large allocation follows the pointers in this block while holding
  // the arena's lock. The second block prevents a merge of the free block with the top of the heap.
  char *free_block = malloc(BLOCK_BYTES);
  char *guard = malloc(BLOCK_BYTES);
  if (free_block == NULL || guard == NULL) return;
  free(free_block);
  uint64_t *links = opaque_pointer((uint64_t)(uintptr_t)free_block);
  links[1] = UINT64_C(0x4141414141414141);
  void *next = malloc(2 * (size_t)BLOCK_BYTES); // fault: inside-malloc
  cs_opaque((int64_t)(uintptr_t)next ^ (int64_t)(uintptr_t)guard);
}

FAULT void cs_fault_stack_smash(void) {
  // The function that a stack protector calls if the canary was overwritten. The program calls this function directly,
  // because not every compiler enables the stack protector by default.
  extern _Noreturn void __stack_chk_fail(void);
  __stack_chk_fail(); // fault: stack-smash
}

typedef struct job {
  long count;
  void (*finish)(long count);
} job;

static void finish(long count) {
  cs_opaque((int)count);
}

// Simulates a C library that calls back with a context that its owner has freed. glibc has overwritten the function
// pointer in the freed block.
FAULT void cs_fault_c_callback_context(void) {
  job *made = malloc(sizeof *made);
  if (made == NULL) return;
  *made = (job){.count = cs_opaque(3), .finish = finish};
  // Use a volatile pointer, so that the compiler does not detect that it points to the freed block.
  job *volatile kept = made;
  free(made);
  kept->finish(kept->count); // fault: c-callback-context
  cs_opaque(1);
}
