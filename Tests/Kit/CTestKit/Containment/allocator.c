// Calls a function inside jemalloc, while jemalloc holds a lock: in the hook that gets memory from the kernel. The
// test loads jemalloc with LD_PRELOAD.
#include "host.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct extent_hooks extent_hooks;
typedef void *(*extent_alloc)(extent_hooks *, void *, size_t, size_t, bool *, bool *, unsigned);

// jemalloc's structure of hooks. This file replaces only the first one, which allocates; the other eight stay
// unchanged.
struct extent_hooks {
  extent_alloc allocate;
  void *others[8];
};

#define LARGE_BYTES ((size_t)64 << 20) // larger than each free extent of the arena

static ch_body called;
static extent_hooks *ordinary;

static void *allocate(extent_hooks *hooks, void *address, size_t bytes, size_t alignment, bool *zero, bool *commit,
                      unsigned arena) {
  (void)hooks;
  if (called != NULL) called();
  return ordinary->allocate(ordinary, address, bytes, alignment, zero, commit, arena);
}

bool ch_in_allocator(ch_body body) {
  static extent_hooks ours;
  int (*control)(const char *, void *, size_t *, void *, size_t) = NULL;
  *(void **)&control = dlsym(RTLD_DEFAULT, "mallctl");
  if (control == NULL) return false;
  unsigned arena = 0;
  size_t bytes = sizeof arena;
  if (control("arenas.create", &arena, &bytes, NULL, 0) != 0) return false;
  char name[64];
  snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
  bytes = sizeof ordinary;
  if (control(name, &ordinary, &bytes, NULL, 0) != 0) return false;
  ours = *ordinary;
  ours.allocate = allocate;
  extent_hooks *chosen = &ours;
  if (control(name, NULL, NULL, &chosen, sizeof chosen) != 0) return false;
  if (control("thread.arena", NULL, NULL, &arena, sizeof arena) != 0) return false;
  called = body;
  free(malloc(LARGE_BYTES));
  return true;
}
