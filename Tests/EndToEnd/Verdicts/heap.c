#include "heap.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stale_x86_64.h"

#define BLOCK_LIMIT 4096

void *heap_stale[STALE_LIMIT];
bool heap_fills_registers;

static uint64_t state;

uint64_t heap_random(void) {
  // splitmix64
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t z = state;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

// Returns a random block size with the distribution of real programs: most blocks are small, and a few have several
// pages.
static size_t random_size(void) {
  const uint64_t kind = heap_random() % 16;
  if (kind < 12) return 16 + heap_random() % 240;
  return kind < 15 ? 256 + heap_random() % 4096 : 4096 + heap_random() % 60000;
}

static const uint8_t patterns[] = {0x41, 0x55, 0xaa, 0xcc, 0xcd, 0xdd, 0xde, 0xe5, 0xef, 0xfe};

static void fill(void *block, size_t size, bool has_pattern) {
  memset(block, has_pattern ? patterns[heap_random() % sizeof patterns] : (int)heap_random(), size);
}

static void churn(size_t rounds, unsigned live_of_eight, bool has_pattern) {
  static void *blocks[BLOCK_LIMIT];
  for (size_t round = 0; round < rounds; round++) {
    const size_t index = heap_random() % BLOCK_LIMIT;
    free(blocks[index]);
    const size_t size = random_size();
    blocks[index] = malloc(size);
    if (blocks[index] != NULL) fill(blocks[index], size, has_pattern);
  }
  size_t stale = 0;
  for (size_t index = 0; index < BLOCK_LIMIT; index++) {
    if (heap_random() % 8 < live_of_eight) continue;
    if (blocks[index] != NULL && stale < STALE_LIMIT && heap_random() % 8 == 0) heap_stale[stale++] = blocks[index];
    free(blocks[index]);
    blocks[index] = NULL;
  }
}

void heap_prepare(const char *name, uint64_t seed) {
  state = seed;
  heap_fills_registers = strcmp(name, "registers") == 0;
  if (strcmp(name, "churned") == 0) {
    churn(20000, 4, false);
  } else if (strcmp(name, "freed") == 0 || heap_fills_registers) {
    churn(8000, 0, false);
  } else if (strcmp(name, "patterned") == 0) {
    churn(8000, 6, true);
  } else if (strcmp(name, "fresh") != 0) {
    _exit(2);
  }
}

void heap_protect(const void *metadata, const void *probe, const void *instance, uint64_t size) {
  void (*protect)(const void *, const void *, const void *, uint64_t) = NULL;
  *(void **)&protect = dlsym(RTLD_DEFAULT, "verdicts_protect");
  if (protect != NULL) protect(metadata, probe, instance, size);
}

// The constructor looks up the quarantine's function before any block is freed, because a failing dlsym allocates an
// error message.
static void (*evict)(void);

__attribute__((constructor)) static void find_evict(void) {
  *(void **)&evict = dlsym(RTLD_DEFAULT, "verdicts_evict");
  dlerror();
}

bool heap_evict(void) {
  if (evict != NULL) evict();
  return evict != NULL;
}

size_t heap_size(const void *block) {
  return malloc_usable_size((void *)(uintptr_t)block);
}

void heap_make_room(const char *age, const void *block) {
  void *others[16];
  const size_t size = heap_size(block);
  if (strcmp(age, "full") != 0) return;
  for (size_t index = 0; index < sizeof others / sizeof *others; index++)
    others[index] = malloc(size);
  // Frees only every second block, because free() merges neighboring free blocks.
  for (size_t index = 0; index < sizeof others / sizeof *others; index += 2)
    free(others[index]);
}

void heap_age(const char *age, size_t size) {
  if (strcmp(age, "reused") == 0) {
    // The blocks contain strings and numbers, as most blocks in a server do.
    for (int count = 0; count < 4; count++) {
      uint64_t *words = malloc(size);
      if (words == NULL) _exit(3);
      for (size_t index = 0; index < size / sizeof *words; index++)
        words[index] = heap_random() % 2 == 0 ? heap_random() % 100000 : UINT64_C(0x2f76312f6970612f) + index;
    }
  } else if (strcmp(age, "aged") == 0) {
    churn(2000, 4, false);
  } else if (strcmp(age, "fresh") != 0 && strcmp(age, "full") != 0) {
    _exit(2);
  }
}

__attribute__((noinline)) void heap_call(void (*function)(void)) {
  void *volatile above[STALE_LIMIT];
  for (size_t index = 0; index < STALE_LIMIT; index++)
    above[index] = heap_stale[index];
  function();
  heap_opaque((uint64_t)(uintptr_t)above[0]);
}

__attribute__((noinline)) void heap_read(uint64_t address) {
  if (heap_fills_registers) stale_read(address, heap_stale);
  (void)*(volatile uint64_t *)(uintptr_t)heap_opaque(address);
}

__attribute__((noinline)) void heap_write(uint64_t address) {
  if (heap_fills_registers) stale_write(address, heap_stale);
  *(volatile uint64_t *)(uintptr_t)heap_opaque(address) = 7;
}

__attribute__((noinline)) void heap_jump(uint64_t address) {
  if (heap_fills_registers) stale_jump(address, heap_stale);
  ((void (*)(void))(uintptr_t)heap_opaque(address))();
  heap_opaque(address);
}
