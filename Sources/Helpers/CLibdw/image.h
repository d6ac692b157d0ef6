// An open ELF image, and the addresses of its code.
#pragma once

#include "cs_libdw.h"
#include "store.h"
#include <elfutils/libdw.h>
#include <gelf.h>

struct cs_image {
  Elf *elf;
  Dwarf *dwarf;
  uint64_t base;
  uint64_t text_start; // the range of link addresses that contains all executable sections
  uint64_t text_end;
  struct cs_store store;
};

/// A range of the code, as offsets from the image's base.
struct cs_span {
  uint32_t start;
  uint32_t end;
};

/// Converts link addresses to a span. Returns false if the addresses are not code of this image. For example, addresses
/// of functions that the linker dropped are not code, because the linker sets them to 0.
static inline bool cs_image_span(const struct cs_image *image, uint64_t low, uint64_t high, struct cs_span *ret_span) {
  if (low < image->text_start || high > image->text_end || low >= high) return false;
  *ret_span = (struct cs_span){.start = (uint32_t)(low - image->base), .end = (uint32_t)(high - image->base)};
  return true;
}

void cs_image_problem_set(struct cs_image_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
