// The unwind tables of an image as an ELF file in memory, the form in which libdw reads them.
#pragma once

#include "cs_snapshot.h"
#include <libelf.h>

struct cs_image_elf {
  const struct cs_snapshot_image *image; // NULL: a file without tables
  uint16_t machine;
  size_t *room;   // the number of bytes that are still available for all files together
  uint8_t *bytes; // of the file; the caller frees them after elf_end()
};

/// Makes the file and opens it. Returns NULL if no memory is available, or if the file is larger than `*room`. The
/// addresses in the file are those of the process.
Elf *cs_image_elf_open(struct cs_image_elf *file);
