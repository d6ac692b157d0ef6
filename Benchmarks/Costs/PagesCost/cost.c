// cost WAY WHAT COUNT: allocates COUNT blocks of 40 bytes (`malloc`), or allocates and frees them (`pair`).
// scripts/measure/pages runs this program under callgrind.
//
// WAY is `off`, `other`, `passed` or `drawn`. With `off`, the program protects no class. The script also builds it
// without guard pages, and runs it with `off`. With `other`, it protects a class whose objects have another size. With
// `passed`, it protects a class whose objects have the size of the blocks, but samples no object. With `drawn`, each
// block is an object of the protected class and is sampled.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 40

static const unsigned long metadata[8];
static void *volatile last;

#ifdef WITH_GUARD_PAGES
#include "cs_guard_pages.h"
#include "cs_shim.h"

static void require(int condition, const char *what) {
  if (condition) return;
  (void)fprintf(stderr, "cost: %s (%s)\n", what, cs_pages_unavailable());
  exit(1);
}

static void prepare(const char *way) {
  if (strcmp(way, "off") == 0) return;
  const cs_shim_configuration configuration = {.socket_path = "/dev/null/attach", .spool_directory = "/dev/null/spool"};
  require(cs_shim_start(&configuration, NULL) == CS_SHIM_OK, "the shield does not start");
  cs_pages_configure(CS_PAGES_SLOT_LIMIT, strcmp(way, "drawn") == 0 ? 1 : UINT32_MAX);
  const uint32_t bytes = strcmp(way, "other") == 0 ? 2 * BYTES : BYTES;
  require(cs_pages_list(metadata, bytes, 16, "Cost", 4, CS_MODE_ABSORB) == CS_PAGES_OK, "not protected");
}

// Verifies that the measured operations took place.
static void verify(const char *way, unsigned long count) {
  cs_pages_counts counts;
  if (strcmp(way, "drawn") != 0) return;
  cs_pages_count(&counts);
  require(counts.guarded >= count, "not all were guarded");
}
#else
static void prepare(const char *way) {
  (void)way;
}

static void verify(const char *way, unsigned long count) {
  (void)way;
  (void)count;
}
#endif

int main(int count, char **arguments) {
  if (count != 4) return 2;
  const char *const way = arguments[1];
  const int is_pair = strcmp(arguments[2], "pair") == 0;
  const unsigned long number = strtoul(arguments[3], NULL, 10);
  prepare(way);
  for (unsigned long index = 0; index < number; index++) {
    last = malloc(BYTES);
    if (last == NULL) return 1;
    *(const void *volatile *)last = metadata;
    if (is_pair) free(last);
  }
  if (is_pair) verify(way, number);
  return 0;
}
