// The entry point for libFuzzer. The input is an ELF file. The target describes the variables at an address, and lists
// the classes that a function names, as crash-analyse does. It checks the invariants of the resulting text.
// scripts/fuzz/elf reports faults in code of this project separately from faults in libdw and libelf.
#include "cs_scope.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void promise(bool kept) {
  if (!kept) abort();
}

/// Checks that the text consists of whole lines and is not longer than its limit.
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
  // The address is at the start of the input, so that a mutation can change it.
  uint64_t pc;
  if (count < sizeof pc) return 0;
  memcpy(&pc, data, sizeof pc);
  int fd = memfd_create("image", MFD_CLOEXEC);
  promise(fd >= 0 && write(fd, data + sizeof pc, count - sizeof pc) == (ssize_t)(count - sizeof pc));
  describe(fd, pc);
  promise(close(fd) == 0);
  return 0;
}
