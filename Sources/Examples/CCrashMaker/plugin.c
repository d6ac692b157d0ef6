// The smallest ELF file that ld.so loads. The file has one page with headers, the dynamic section and a few
// instructions.
#include "plugin.h"
#include "plugin_code_aarch64.h"
#include "plugin_code_x86_64.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE_OFFSET 1024

// The segment is aligned for the largest pages of Linux.
#define ALIGNMENT 65536

typedef struct {
  Elf64_Ehdr header;
  Elf64_Phdr segments[2];
  Elf64_Dyn dynamic[6];
  Elf64_Sym symbols[1];
  char strings[16];
  uint8_t
      gap[CODE_OFFSET - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr) - 6 * sizeof(Elf64_Dyn) - sizeof(Elf64_Sym) - 16];
  uint8_t code[64];
} plugin_file;

static void fill(plugin_file *file, void (*constructor)(void)) {
  file->header = (Elf64_Ehdr){.e_type = ET_DYN,
                              .e_machine = PLUGIN_MACHINE,
                              .e_version = EV_CURRENT,
                              .e_phoff = offsetof(plugin_file, segments),
                              .e_ehsize = sizeof(Elf64_Ehdr),
                              .e_phentsize = sizeof(Elf64_Phdr),
                              .e_phnum = 2};
  memcpy(file->header.e_ident, ELFMAG, SELFMAG);
  file->header.e_ident[EI_CLASS] = ELFCLASS64;
  file->header.e_ident[EI_DATA] = ELFDATA2LSB;
  file->header.e_ident[EI_VERSION] = EV_CURRENT;
  // The segment is writable, because ld.so writes into the dynamic section.
  file->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                   .p_flags = PF_R | PF_W | PF_X,
                                   .p_filesz = sizeof *file,
                                   .p_memsz = sizeof *file,
                                   .p_align = ALIGNMENT};
  const uint64_t dynamic = offsetof(plugin_file, dynamic);
  file->segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
                                   .p_flags = PF_R | PF_W,
                                   .p_offset = dynamic,
                                   .p_vaddr = dynamic,
                                   .p_paddr = dynamic,
                                   .p_filesz = sizeof file->dynamic,
                                   .p_memsz = sizeof file->dynamic,
                                   .p_align = 8};
  file->dynamic[0] = (Elf64_Dyn){DT_INIT, {offsetof(plugin_file, code)}};
  file->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(plugin_file, strings)}};
  file->dynamic[2] = (Elf64_Dyn){DT_SYMTAB, {offsetof(plugin_file, symbols)}};
  file->dynamic[3] = (Elf64_Dyn){DT_STRSZ, {sizeof file->strings}};
  file->dynamic[4] = (Elf64_Dyn){DT_SYMENT, {sizeof(Elf64_Sym)}};
  plugin_code_fill(file->code, constructor);
}

void *cs_plugin_load(void (*constructor)(void)) {
  plugin_file contents = {0};
  fill(&contents, constructor);
  const int file = memfd_create("plugin", MFD_CLOEXEC);
  if (file < 0) return NULL;
  void *handle = NULL;
  if (write(file, &contents, sizeof contents) == (ssize_t)sizeof contents) {
    char path[64];
    // Use the pid instead of /proc/self, because a debugger also opens this path.
    snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), file);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  close(file);
  return handle;
}

void *cs_plugin_code(void *handle) {
  const struct link_map *map = handle;
  return (void *)(uintptr_t)(map->l_addr + offsetof(plugin_file, code));
}
