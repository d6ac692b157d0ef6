// Determines how a freed block of glibc's malloc differs from a block in use. With this difference, crashd detects that
// a register of a crash points to freed memory.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../setup.h"

#include "../../Signal/Kernel/raw_copy.h"

// The size of the blocks that this code allocates and frees. It is small enough for the thread's cache of freed blocks
// (tcache), under any malloc settings of the program.
#define BLOCK_BYTES        40
#define FIELD_OF_START_BRK 47

// Returns the second word of a block that was just freed, or 0 if the allocator does not change this word.
static uint64_t word_after_free(void) {
  volatile uint64_t *block = malloc(BLOCK_BYTES);
  if (block == NULL) return 0;
  const uint64_t address = (uint64_t)(uintptr_t)block;
  block[1] = 0;
  free((void *)(uintptr_t)address);
  return cs_raw_word(address + sizeof(uint64_t));
}

// Returns the value with which the allocator marks freed blocks (glibc's tcache key), or 0 if there is none. The
// function reads the second word of two freed blocks. If the words are equal, they are the key; pointers in a list of
// free blocks would differ.
static uint64_t heap_key(void) {
  const uint64_t first = word_after_free();
  void *other = malloc(BLOCK_BYTES);
  const uint64_t second = word_after_free();
  free(other);
  return first == second ? first : 0;
}

static uint64_t heap_start(void) {
  char text[1024];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  text[size] = 0;
  // Field 2 of /proc/self/stat is the process name, which can contain spaces and parentheses. The name ends at the last
  // closing parenthesis, and field 3 follows.
  const char *at = strrchr(text, ')');
  for (int field = 3; at != NULL && field <= FIELD_OF_START_BRK; field++)
    at = strchr(at + 1, ' ');
  return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}

void cs_heap_describe(cs_ring_header *header) {
  // The values are static, so a forked child keeps the values of its parent. They are correct, because the child has a
  // copy of the same heap.
  static uint64_t key;
  static uint64_t start;
  if (cs_memory_mode() == CS_RING_MEMORY_NONE) return;
  if (key == 0) key = heap_key();
  if (start == 0) start = heap_start();
  header->heap_key = key;
  header->heap_start = start;
}

#endif
