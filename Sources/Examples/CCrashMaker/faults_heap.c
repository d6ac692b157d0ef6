// Damage to the heap that glibc notices, or falls over, and a use after free.
#include "faults.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// Too large for the per-thread cache, too small for a mapping of its own.
#define BLOCK_BYTES 4000

// A heap block is preceded by its size, whose lowest bits are flags.
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
  // The rest of the heap begins after the last block: an overrun of a block that grew from it damages its size.
  if (mallopt(M_ARENA_MAX, 1) != 1) return;
  malloc_trim(0);
  char *block = malloc(100 * BLOCK_BYTES / 4);
  if (block == NULL) return;
  *size_before(block + malloc_usable_size(block) + sizeof(uint64_t)) = UINT64_C(0x4141414141414141);
  void *next = malloc(100 * BLOCK_BYTES / 4); // fault: malloc-corrupt-top
  cs_opaque((int64_t)(uintptr_t)next);
}

FAULT void cs_fault_inside_malloc(void) {
  // A free block that is not yet sorted: the next large request follows the pointers in it, with the arena's lock held.
  // The second block keeps the first from growing together with the rest.
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
  // What a function with a stack protector calls when its canary is gone; not every compiler's default.
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

// A C library calls back with a context that its owner has freed. glibc has put its mark where the function was.
FAULT void cs_fault_c_callback_context(void) {
  job *made = malloc(sizeof *made);
  if (made == NULL) return;
  *made = (job){.count = cs_opaque(3), .finish = finish};
  // The compiler must not see that it is the same block.
  job *volatile kept = made;
  free(made);
  kept->finish(kept->count); // fault: c-callback-context
  cs_opaque(1);
}
