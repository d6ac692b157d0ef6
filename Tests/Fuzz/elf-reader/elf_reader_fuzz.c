// The entry point for libFuzzer. An input is an ELF file. The target reads its symbols as crash-analyse does, for all
// addresses or for some addresses. It checks the invariants of the resulting symbol tables. scripts/fuzz/elf reports
// faults in code of this project separately from faults in libdw and libelf.
#include "cs_libdw.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void promise(bool kept) {
  if (!kept) abort();
}

/// Checks that every index is valid, and that every chain and every string has an end.
static void check(const struct cs_symbols *symbols) {
  promise(symbols->strings_bytes > 0 && symbols->strings[symbols->strings_bytes - 1] == 0);
  for (size_t i = 0; i < symbols->function_count; i++)
    promise(symbols->functions[i].name < symbols->strings_bytes && symbols->functions[i].file < symbols->strings_bytes);
  for (size_t i = 0; i < symbols->context_count; i++) {
    const struct cs_symbols_context *context = &symbols->contexts[i];
    promise(context->function < symbols->function_count && context->file < symbols->strings_bytes);
  }
  for (size_t i = 0; i < symbols->location_count; i++) {
    promise(symbols->locations[i].context < symbols->context_count);
    uint32_t parent = symbols->contexts[symbols->locations[i].context].parent;
    promise(parent == CS_SYMBOLS_NONE || parent < i);
  }
  for (size_t i = 0; i < symbols->range_count; i++) {
    const struct cs_symbols_range *range = &symbols->ranges[i];
    promise(range->location == CS_SYMBOLS_NONE || range->location < symbols->location_count);
    promise(i == 0 || symbols->ranges[i - 1].start < range->start);
  }
}

static void read_all(int fd, const struct cs_addresses *addresses) {
  struct cs_image_problem problem = {.text = {0}};
  struct cs_image *image = cs_image_open(fd, &problem);
  if (!image) {
    promise(problem.text[0] != 0);
    return;
  }
  size_t count = 0;
  const uint8_t *id = cs_image_read_build_id(image, &count);
  promise(!id || count > 0);
  struct cs_symbols symbols;
  if (cs_image_read_symbols(image, addresses, &symbols, &problem))
    check(&symbols);
  else
    promise(problem.text[0] != 0);
  cs_image_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count) {
  int fd = memfd_create("image", MFD_CLOEXEC);
  promise(fd >= 0 && write(fd, data, count) == (ssize_t)count);
  read_all(fd, NULL);
  static const uint64_t some[] = {0x1000, 0x1010, 0x1234, 0x2000};
  read_all(fd, &(struct cs_addresses){.items = some, .count = sizeof some / sizeof *some});
  promise(close(fd) == 0);
  return 0;
}
