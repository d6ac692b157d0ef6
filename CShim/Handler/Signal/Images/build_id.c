// Reads the GNU build ID of a mapped image (the executable or a shared library) or of its file. The program headers and
// notes are untrusted input.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "images.h"

#include <elf.h>

#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "../Kernel/system_call.h"

#define PROGRAM_HEADER_LIMIT 64
#define NOTE_LIMIT           32

// The bytes to read: memory from `start` to `end`, or the file from its beginning.
typedef struct image_bytes {
  uint64_t start;
  uint64_t end;
  int file; // -1: memory
} image_bytes;

// Copies `size` bytes of the image. Returns false if these bytes are not all inside the image, or cannot be read.
static bool copy_inside(const image_bytes *from, uint64_t address, void *to, uint64_t size) SIGNAL_SAFE {
  if (address < from->start || address > from->end || size > from->end - address) return false;
  if (from->file >= 0) return cs_pread(from->file, to, (size_t)size, address) == (long)size;
  return cs_memory_copy(to, address, (size_t)size) == size;
}

static uint64_t padded(uint64_t size) SIGNAL_SAFE {
  return (size + 3) & ~UINT64_C(3);
}

static uint32_t build_id_in_notes(const image_bytes *from, uint64_t address, uint64_t size, uint8_t *ret_id,
                                  uint64_t *ret_address) SIGNAL_SAFE {
  uint64_t at = 0;
  for (unsigned count = 0; count < NOTE_LIMIT && at < size; count++) {
    Elf64_Nhdr note;
    char name[4];
    if (!copy_inside(from, address + at, &note, sizeof note)) return 0;
    const uint64_t name_at = address + at + sizeof note;
    const uint64_t text_at = name_at + padded(note.n_namesz);
    const bool is_build_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name &&
                             note.n_descsz <= CS_RING_BUILD_ID_LIMIT_BYTES &&
                             copy_inside(from, name_at, name, sizeof name) && memcmp(name, "GNU", sizeof name) == 0;
    if (is_build_id) {
      if (!copy_inside(from, text_at, ret_id, note.n_descsz)) return 0;
      *ret_address = text_at;
      return note.n_descsz;
    }
    at += sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
  }
  return 0;
}

static uint32_t find_build_id(const image_bytes *from, uint8_t *ret_id, uint64_t *ret_address) SIGNAL_SAFE {
  Elf64_Ehdr header = {0};
  if (!copy_inside(from, from->start, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return 0;
  }
  // The addresses in the program headers are relative to the load bias. The image's first page is at the address of the
  // lowest PT_LOAD, which is 0 except in an executable that is not position-independent.
  uint64_t lowest = UINT64_MAX;
  for (int pass = 0; pass < 2; pass++) {
    for (unsigned index = 0; index < header.e_phnum && index < PROGRAM_HEADER_LIMIT; index++) {
      Elf64_Phdr program;
      const uint64_t at = from->start + header.e_phoff + index * sizeof program;
      if (!copy_inside(from, at, &program, sizeof program)) return 0;
      if (pass == 0) {
        if (program.p_type == PT_LOAD && program.p_vaddr < lowest) lowest = program.p_vaddr & ~(CS_PAGE_BYTES - 1);
      } else if (program.p_type == PT_NOTE) {
        const uint64_t notes = from->file >= 0 ? program.p_offset : from->start + (program.p_vaddr - lowest);
        const uint64_t notes_bytes = from->file >= 0 ? program.p_filesz : program.p_memsz;
        const uint32_t size = build_id_in_notes(from, notes, notes_bytes, ret_id, ret_address);
        if (size > 0) return size;
      }
    }
  }
  return 0;
}

uint32_t cs_image_build_id(uint64_t start, uint64_t end, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES],
                           uint64_t *ret_address) SIGNAL_SAFE {
  const image_bytes mapped = {.start = start, .end = end, .file = -1};
  return find_build_id(&mapped, ret_id, ret_address);
}

uint32_t cs_file_build_id(int file, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES]) SIGNAL_SAFE {
  const image_bytes contents = {.start = 0, .end = INT64_MAX, .file = file};
  uint64_t unused = 0;
  return find_build_id(&contents, ret_id, &unused);
}

#endif
