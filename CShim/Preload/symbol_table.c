// The Swift runtime of an executable that was linked with -static-stdlib. It exports no symbol; the symbol table of its
// file has them, as long as it is not stripped. Source: System V ABI, "Symbol Table"; elf(5).
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../Handler/Setup/Probes/swift_runtime.h"

// The file, mapped whole: only the pages that are read come into memory. The kernel lets no process write to a program
// that runs, so it does not shrink meanwhile.
typedef struct file_bytes {
  const uint8_t *start;
  uint64_t size;
} file_bytes;

// `count` entries of `size` bytes at `offset`; NULL where the file does not hold them.
static const void *bytes_at(file_bytes file, uint64_t offset, uint64_t count, uint64_t size) {
  uint64_t bytes = 0;
  uint64_t end = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(offset, bytes, &end)) return NULL;
  if (end > file.size || offset % sizeof(uint64_t) != 0) return NULL;
  return &file.start[offset];
}

// A section of strings; its size is 0 unless it ends with a NUL.
static file_bytes strings_of(file_bytes file, const ElfW(Shdr) * section) {
  uint64_t end = 0;
  if (__builtin_add_overflow(section->sh_offset, section->sh_size, &end)) return (file_bytes){0};
  if (section->sh_size == 0 || end > file.size || file.start[end - 1] != 0) return (file_bytes){0};
  return (file_bytes){&file.start[section->sh_offset], section->sh_size};
}

static bool is_named(file_bytes strings, uint64_t offset, const char *name) {
  return offset < strings.size && strcmp((const char *)&strings.start[offset], name) == 0;
}

static void note_function(file_bytes names, const ElfW(Sym) * symbol, uint64_t bias, cs_swift_runtime *ret_runtime) {
  const uintptr_t address = (uintptr_t)(bias + symbol->st_value);
  if (is_named(names, symbol->st_name, "swift_getFatalErrorMessageBuffer")) {
    ret_runtime->message_buffer = (cs_message_buffer *)address; // NOLINT(performance-no-int-to-ptr)
  } else if (is_named(names, symbol->st_name, "swift_task_getCurrent")) {
    ret_runtime->current_task = (const void *)address; // NOLINT(performance-no-int-to-ptr)
  } else if (is_named(names, symbol->st_name, "swift_task_getCurrentTaskName")) {
    ret_runtime->task_name = (const void *)address; // NOLINT(performance-no-int-to-ptr)
  } else if (is_named(names, symbol->st_name, "swift_task_currentPriority")) {
    ret_runtime->task_priority = (const void *)address; // NOLINT(performance-no-int-to-ptr)
  }
}

// Whether one of the sections is for a Swift runtime.
static bool has_swift(file_bytes names, const ElfW(Shdr) * sections, uint64_t count) {
  static const char prefix[] = "swift5_";
  for (uint64_t index = 0; index < count; index++) {
    const uint64_t name = sections[index].sh_name;
    if (name < names.size && strncmp((const char *)&names.start[name], prefix, sizeof prefix - 1) == 0) return true;
  }
  return false;
}

static void read_file(file_bytes file, uint64_t bias, cs_swift_runtime *ret_runtime) {
  const ElfW(Ehdr) *header = bytes_at(file, 0, 1, sizeof *header);
  if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const ElfW(Shdr) *sections = bytes_at(file, header->e_shoff, header->e_shnum, sizeof *sections);
  if (sections == NULL || header->e_shentsize != sizeof *sections || header->e_shstrndx >= header->e_shnum) return;
  if (!has_swift(strings_of(file, &sections[header->e_shstrndx]), sections, header->e_shnum)) return;
  for (uint64_t index = 0; index < header->e_shnum; index++) {
    const ElfW(Shdr) *section = &sections[index];
    if (section->sh_type != SHT_SYMTAB || section->sh_link >= header->e_shnum) continue;
    const uint64_t count = section->sh_size / sizeof(ElfW(Sym));
    const ElfW(Sym) *symbols = bytes_at(file, section->sh_offset, count, sizeof *symbols);
    const file_bytes names = strings_of(file, &sections[section->sh_link]);
    for (uint64_t at = 0; symbols != NULL && at < count; at++) {
      const bool is_function = ELF64_ST_TYPE(symbols[at].st_info) == STT_FUNC && symbols[at].st_shndx != SHN_UNDEF;
      if (is_function) note_function(names, &symbols[at], bias, ret_runtime);
    }
    return;
  }
}

// The loader reports the executable first.
static int note_bias(struct dl_phdr_info *info, size_t info_bytes, void *ret_bias) {
  (void)info_bytes;
  *(uint64_t *)ret_bias = info->dlpi_addr;
  return 1;
}

void cs_swift_runtime_read(cs_swift_runtime *ret_runtime) {
  const int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const size_t size = (size_t)status.st_size;
    void *const start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (start != MAP_FAILED) {
      uint64_t bias = 0;
      dl_iterate_phdr(note_bias, &bias);
      read_file((file_bytes){start, size}, bias, ret_runtime);
      munmap(start, size);
    }
  }
  close(descriptor);
}
