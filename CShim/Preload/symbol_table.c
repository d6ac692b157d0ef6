// Finds the functions of the Swift runtime in an executable that was linked with -static-stdlib and therefore exports
// no symbols. If the executable's file is not stripped, its symbol table contains the functions. Sources: System V ABI,
// "Symbol Table"; elf(5).
#include "cs_platform.h"

#if CS_SUPPORTED

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../Handler/Setup/Probes/swift_runtime.h"

// Sections above this size are not read.
#define SECTION_LIMIT_BYTES ((uint64_t)1 << 30)

// A private copy of a part of the file. The file is not mapped, because reading a mapped file of a network file system
// can end the process with SIGBUS.
typedef struct copied_bytes {
  void *start; // NULL: the bytes are not in the file
  uint64_t size;
} copied_bytes;

static copied_bytes copy_bytes(int file, uint64_t offset, uint64_t size) {
  const copied_bytes none = {0};
  if (size == 0 || size > SECTION_LIMIT_BYTES || offset > (uint64_t)INT64_MAX - size) return none;
  void *const start =
      mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (start == MAP_FAILED) return none;
  uint64_t done = 0;
  while (done < size) {
    const ssize_t count = pread(file, (uint8_t *)start + done, (size_t)(size - done), (off_t)(offset + done));
    if (count <= 0) break;
    done += (uint64_t)count;
  }
  if (done == size) return (copied_bytes){start, size};
  munmap(start, (size_t)size);
  return none;
}

static void give_back(copied_bytes bytes) {
  if (bytes.start != NULL) munmap(bytes.start, (size_t)bytes.size);
}

static copied_bytes copy_section(int file, const ElfW(Shdr) * section) {
  return copy_bytes(file, section->sh_offset, section->sh_size);
}

// Returns whether the string at `offset` begins with `text`. If `text` includes a final NUL, the strings must be equal.
static bool begins(copied_bytes strings, uint64_t offset, const char *text, size_t size) {
  return offset < strings.size && size <= strings.size - offset &&
         memcmp((const char *)strings.start + offset, text, size) == 0;
}

// The address range of the executable's code in memory. `bias` is the difference between these addresses and those in
// the file.
typedef struct code_ranges {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
} code_ranges;

// Stores the executable's code range. dl_iterate_phdr reports the executable first, so the callback stops the iteration
// after one image.
static int note_code(struct dl_phdr_info *info, size_t info_bytes, void *ret_code) {
  (void)info_bytes;
  code_ranges *code = ret_code;
  code->bias = info->dlpi_addr;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    const uint64_t start = info->dlpi_addr + segment->p_vaddr;
    if (code->start == 0 || start < code->start) code->start = start;
    if (start + segment->p_memsz > code->end) code->end = start + segment->p_memsz;
  }
  return 1;
}

static void note_function(copied_bytes names, const ElfW(Sym) * symbol, const code_ranges *code,
                          cs_swift_runtime *ret_runtime) {
  const uintptr_t address = (uintptr_t)(code->bias + symbol->st_value);
  if (address < code->start || address >= code->end) return;
#define IS(name) begins(names, symbol->st_name, (name), sizeof(name))
  // NOLINTBEGIN(performance-no-int-to-ptr)
  if (IS("swift_getFatalErrorMessageBuffer")) {
    ret_runtime->message_buffer = (cs_message_buffer *)address;
  } else if (IS("swift_task_getCurrent")) {
    ret_runtime->current_task = (const void *)address;
  } else if (IS("swift_task_getCurrentTaskName")) {
    ret_runtime->task_name = (const void *)address;
  } else if (IS("swift_task_currentPriority")) {
    ret_runtime->task_priority = (const void *)address;
  }
  // NOLINTEND(performance-no-int-to-ptr)
#undef IS
}

static void read_symbols(int file, const ElfW(Shdr) * sections, uint64_t count, const ElfW(Shdr) * table,
                         cs_swift_runtime *ret_runtime) {
  if (table->sh_link >= count) return;
  const copied_bytes symbols = copy_section(file, table);
  const copied_bytes names = copy_section(file, &sections[table->sh_link]);
  code_ranges code = {0};
  dl_iterate_phdr(note_code, &code);
  for (uint64_t at = 0; names.start != NULL && at < symbols.size / sizeof(ElfW(Sym)); at++) {
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols.start + at;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
    if (symbol->st_shndx >= SHN_LORESERVE || !begins(names, symbol->st_name, "swift_", 6)) continue;
    note_function(names, symbol, &code, ret_runtime);
  }
  give_back(names);
  give_back(symbols);
}

// Returns whether a section of the file belongs to code compiled from Swift: its name begins with "swift5_".
static bool has_swift(int file, const ElfW(Shdr) * sections, uint64_t count, const ElfW(Shdr) * name_table) {
  static const char prefix[] = "swift5_";
  const copied_bytes names = copy_section(file, name_table);
  bool is_found = false;
  for (uint64_t index = 0; names.start != NULL && !is_found && index < count; index++)
    is_found = begins(names, sections[index].sh_name, prefix, sizeof prefix - 1);
  give_back(names);
  return is_found;
}

static void read_file(int file, cs_swift_runtime *ret_runtime) {
  ElfW(Ehdr) header;
  if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header) return;
  const uint64_t count = header.e_shnum;
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shstrndx >= count) return;
  if (header.e_shentsize != sizeof(ElfW(Shdr))) return;
  const copied_bytes copy = copy_bytes(file, header.e_shoff, count * sizeof(ElfW(Shdr)));
  const ElfW(Shdr) *sections = copy.start;
  if (sections != NULL && has_swift(file, sections, count, &sections[header.e_shstrndx])) {
    for (uint64_t index = 0; index < count; index++) {
      if (sections[index].sh_type == SHT_SYMTAB) read_symbols(file, sections, count, &sections[index], ret_runtime);
    }
  }
  give_back(copy);
}

void cs_swift_runtime_read(cs_swift_runtime *ret_runtime) {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  read_file(file, ret_runtime);
  close(file);
}

#endif
