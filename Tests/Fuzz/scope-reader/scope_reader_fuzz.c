// libFuzzer's entry: an input is an ELF file, for which it describes the variables at an address and a function's
// classes, as crash-analyse does. It checks the text's invariants; scripts/fuzz/elf separates our faults from those of
// libdw and libelf.
#include "cs_scope.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void promise(bool kept) {
  if (!kept) abort();
}

/// Whole lines of text, which fit.
static void check(const char *text, size_t count) {
  promise(count < CS_SCOPE_TEXT_BYTES && (count == 0 || text[count - 1] == '\n') && !memchr(text, 0, count));
}

static void describe(int fd, uint64_t pc) {
  static char text[CS_SCOPE_TEXT_BYTES];
  struct cs_image_problem problem = {.text = {0}};
  struct cs_image *image = cs_image_open(fd, &problem);
  if (!image) return;
  check(text, cs_scope_describe_classes(image, pc, text));
  check(text, cs_scope_describe(image, pc, text));
  cs_image_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count) {
  // The place comes first: a mutation finds others.
  uint64_t pc;
  if (count < sizeof pc) return 0;
  memcpy(&pc, data, sizeof pc);
  int fd = memfd_create("image", MFD_CLOEXEC);
  promise(fd >= 0 && write(fd, data + sizeof pc, count - sizeof pc) == (ssize_t)(count - sizeof pc));
  describe(fd, pc);
  promise(close(fd) == 0);
  return 0;
}
