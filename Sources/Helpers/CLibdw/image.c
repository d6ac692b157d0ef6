#include "image.h"
#include <elfutils/libdwelf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void cs_image_problem_set(struct cs_image_problem *problem, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(problem->text, sizeof problem->text, format, arguments);
  va_end(arguments);
}

/// Checks that the sections lie within the file, because libelf opens a truncated file without an error.
static bool check_whole(Elf *elf, const GElf_Ehdr *header, uint64_t size, struct cs_image_problem *ret_problem) {
  if (header->e_shoff == 0) return true;
  size_t count;
  if (elf_getshdrnum(elf, &count) != 0 || header->e_shoff > size ||
      count > (size - header->e_shoff) / sizeof(Elf64_Shdr)) {
    cs_image_problem_set(ret_problem, "the ELF file is cut off: it ends before its section table");
    return false;
  }
  for (size_t i = 1; i < count; i++) {
    GElf_Shdr section;
    Elf_Scn *scn = elf_getscn(elf, i);
    if (!scn || !gelf_getshdr(scn, &section)) {
      cs_image_problem_set(ret_problem, "the ELF file is damaged: section %zu is unreadable", i);
      return false;
    }
    if (section.sh_type != SHT_NOBITS && (section.sh_offset > size || section.sh_size > size - section.sh_offset)) {
      cs_image_problem_set(ret_problem, "the ELF file is cut off: it ends before section %zu does", i);
      return false;
    }
  }
  return true;
}

static bool find_base(struct cs_image *image, struct cs_image_problem *ret_problem) {
  size_t count;
  uint64_t base = UINT64_MAX;
  if (elf_getphdrnum(image->elf, &count) == 0) {
    for (size_t i = 0; i < count; i++) {
      GElf_Phdr segment;
      if (gelf_getphdr(image->elf, (int)i, &segment) && segment.p_type == PT_LOAD && segment.p_vaddr < base)
        base = segment.p_vaddr;
    }
  }
  if (base == UINT64_MAX) {
    cs_image_problem_set(ret_problem, "the ELF file loads nothing: it has no PT_LOAD segment");
    return false;
  }
  image->base = base;
  return true;
}

/// Determines the addresses of the code from sections instead of segments, because gold puts headers, read-only data
/// and code into one segment.
static bool find_text(struct cs_image *image, struct cs_image_problem *ret_problem) {
  image->text_start = UINT64_MAX;
  image->text_end = 0;
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(image->elf, scn))) {
    GElf_Shdr section;
    if (!gelf_getshdr(scn, &section) || !(section.sh_flags & SHF_EXECINSTR) || !(section.sh_flags & SHF_ALLOC))
      continue;
    uint64_t end;
    if (section.sh_addr < image->base || __builtin_add_overflow(section.sh_addr, section.sh_size, &end)) {
      cs_image_problem_set(ret_problem, "the ELF file is damaged: code lies outside of the image");
      return false;
    }
    if (section.sh_addr < image->text_start) image->text_start = section.sh_addr;
    if (end > image->text_end) image->text_end = end;
  }
  if (image->text_end != 0 && image->text_end - image->base >= CS_SYMBOLS_NONE) {
    cs_image_problem_set(ret_problem, "the image is larger than 4 GiB");
    return false;
  }
  return true;
}

/// A section whose compressed size is at most a 32nd of its uncompressed size is treated as a decompression bomb.
/// Genuine debug information expands only to about four times its compressed size. Small sections are not checked,
/// because they cannot exhaust the memory.
#define CS_EXPANSION_LIMIT      32
#define CS_EXPANSION_FREE_BYTES (UINT64_C(1) << 16)

static bool is_bomb(uint64_t bytes, uint64_t compressed_bytes) {
  return bytes > CS_EXPANSION_FREE_BYTES && bytes / CS_EXPANSION_LIMIT > compressed_bytes;
}

/// Returns the uncompressed size of an old `.zdebug` section, which begins with "ZLIB" and the big-endian size. Returns
/// 0 for any other section.
static uint64_t old_expansion(Elf *elf, Elf_Scn *scn, const GElf_Shdr *section) {
  size_t strings;
  if (elf_getshdrstrndx(elf, &strings) != 0) return 0;
  const char *name = elf_strptr(elf, strings, section->sh_name);
  if (!name || __builtin_strncmp(name, ".zdebug", 7) != 0) return 0;
  const Elf_Data *data = elf_rawdata(scn, NULL);
  if (!data || !data->d_buf || data->d_size < 12 || __builtin_memcmp(data->d_buf, "ZLIB", 4) != 0) return 0;
  const uint8_t *bytes = data->d_buf;
  uint64_t size = 0;
  for (int i = 4; i < 12; i++)
    size = size << 8 | bytes[i];
  return size;
}

static bool check_expansion(Elf *elf, struct cs_image_problem *ret_problem) {
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    GElf_Shdr section;
    if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS) continue;
    GElf_Chdr header;
    const bool is_compressed = (section.sh_flags & SHF_COMPRESSED) && gelf_getchdr(scn, &header);
    const uint64_t bytes = is_compressed ? header.ch_size : old_expansion(elf, scn, &section);
    if (is_bomb(bytes, section.sh_size)) {
      cs_image_problem_set(ret_problem, "a section is compressed to less than a %dth", CS_EXPANSION_LIMIT);
      return false;
    }
  }
  return true;
}

/// Checks the file and initializes the image, before the debug information is read.
static bool prepare(struct cs_image *image, int fd, struct cs_image_problem *ret_problem) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    cs_image_problem_set(ret_problem, "not a regular file");
    return false;
  }
  if (status.st_size == 0) {
    cs_image_problem_set(ret_problem, "the file is empty");
    return false;
  }
  elf_version(EV_CURRENT);
  image->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
  GElf_Ehdr header;
  if (!image->elf || elf_kind(image->elf) != ELF_K_ELF || !gelf_getehdr(image->elf, &header)) {
    cs_image_problem_set(ret_problem, "not an ELF file");
    return false;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    cs_image_problem_set(ret_problem, "not a 64-bit little-endian ELF file");
    return false;
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    cs_image_problem_set(ret_problem, "neither an executable nor a shared library (ELF type %u)", header.e_type);
    return false;
  }
  return check_whole(image->elf, &header, (uint64_t)status.st_size, ret_problem) &&
         check_expansion(image->elf, ret_problem) && find_base(image, ret_problem) && find_text(image, ret_problem);
}

struct cs_image *cs_image_open(int fd, struct cs_image_problem *ret_problem) {
  struct cs_image *image = calloc(1, sizeof *image);
  if (!image) {
    cs_image_problem_set(ret_problem, "out of memory");
    return NULL;
  }
  if (!prepare(image, fd, ret_problem)) {
    cs_image_close(image);
    return NULL;
  }
  return image;
}

void cs_image_close(struct cs_image *image) {
  cs_store_free(&image->store);
  dwarf_end(image->dwarf);
  elf_end(image->elf);
  free(image);
}

const uint8_t *cs_image_read_build_id(const struct cs_image *image, size_t *ret_count) {
  const void *bytes;
  ssize_t count = dwelf_elf_gnu_build_id(image->elf, &bytes);
  if (count <= 0) return NULL;
  *ret_count = (size_t)count;
  return bytes;
}
