#include "image_elf.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

/// The beginning of the file, with its parts in this order. The two unwind tables follow, at offsets that are multiples
/// of 16.
struct layout {
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  Elf64_Shdr sections[4];
  char names[40];
};

enum { SECTION_NONE, SECTION_NAMES, SECTION_INDEX, SECTION_FRAMES, SECTION_COUNT };

#define NAMES "\0.shstrtab\0.eh_frame_hdr\0.eh_frame"
enum { NAME_NAMES = 1, NAME_INDEX = 11, NAME_FRAMES = 25 };

_Static_assert(sizeof NAMES <= sizeof((struct layout *)0)->names, "the names fit");

static size_t aligned(size_t size) {
  return (size + 15) & ~(size_t)15;
}

static Elf64_Shdr table(uint32_t name, const struct cs_snapshot_piece *piece, size_t offset) {
  return (Elf64_Shdr){.sh_name = name,
                      .sh_type = SHT_PROGBITS,
                      .sh_flags = SHF_ALLOC,
                      .sh_addr = piece->address,
                      .sh_offset = offset,
                      .sh_size = piece->count,
                      .sh_addralign = 1};
}

Elf *cs_image_elf_open(struct cs_image_elf *file) {
  static const struct cs_snapshot_image none = {0};
  const struct cs_snapshot_image *image = file->image ? file->image : &none;
  const size_t index_at = aligned(sizeof(struct layout));
  const size_t frames_at = aligned(index_at + image->header.count);
  const size_t size = aligned(frames_at + image->frames.count);
  if (size > *file->room) return NULL;
  file->bytes = calloc(1, size);
  if (!file->bytes) return NULL;
  *file->room -= size;
  struct layout layout = {
      .header = {.e_type = ET_DYN,
                 .e_machine = file->machine,
                 .e_version = EV_CURRENT,
                 .e_phoff = offsetof(struct layout, segment),
                 .e_shoff = offsetof(struct layout, sections),
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_phnum = 1,
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = SECTION_COUNT,
                 .e_shstrndx = SECTION_NAMES},
      // The segment begins at the image's address in the process, so the addresses in the file are the addresses in
      // memory.
      .segment = {.p_type = PT_LOAD,
                  .p_flags = PF_R | PF_X,
                  .p_vaddr = image->start,
                  .p_memsz = image->end - image->start,
                  .p_align = 1},
      .names = NAMES,
  };
  memcpy(layout.header.e_ident, ELFMAG, SELFMAG);
  layout.header.e_ident[EI_CLASS] = ELFCLASS64;
  layout.header.e_ident[EI_DATA] = ELFDATA2LSB;
  layout.header.e_ident[EI_VERSION] = EV_CURRENT;
  layout.sections[SECTION_NAMES] = (Elf64_Shdr){.sh_name = NAME_NAMES,
                                                .sh_type = SHT_STRTAB,
                                                .sh_offset = offsetof(struct layout, names),
                                                .sh_size = sizeof layout.names,
                                                .sh_addralign = 1};
  layout.sections[SECTION_INDEX] = table(NAME_INDEX, &image->header, index_at);
  layout.sections[SECTION_FRAMES] = table(NAME_FRAMES, &image->frames, frames_at);
  // If a table is missing, the name of its section is removed, so that libdw does not find the section.
  if (image->frames.count == 0) layout.sections[SECTION_FRAMES].sh_name = 0;
  if (image->header.count == 0) layout.sections[SECTION_INDEX].sh_name = 0;
  memcpy(file->bytes, &layout, sizeof layout);
  if (image->header.count > 0) memcpy(file->bytes + index_at, image->header.bytes, image->header.count);
  if (image->frames.count > 0) memcpy(file->bytes + frames_at, image->frames.bytes, image->frames.count);
  return elf_memory((char *)file->bytes, size);
}
