// Replaces a function in the tables through which images (the executable and its shared libraries) call each other's
// functions. A table entry is a word for which the image has a relocation of the type JUMP_SLOT or GLOB_DAT. The loader
// has filled the tables before this code runs.
//
// Defining swift_dynamicCast in the program, as allocators define malloc, does not work with a static standard library.
// In a static standard library, an archive member contains the runtime's own definition. The linker either omits the
// member, or includes it and reports a duplicate symbol.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "casts.h"

// The relocations whose entries the loader fills with the address of a function.
#if defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT  R_AARCH64_GLOB_DAT
#else
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT  R_X86_64_GLOB_DAT
#endif

typedef struct search {
  const char *name;
  cs_casts_function *function;
  uint64_t page_bytes;
  bool has_own;   // an entry in this image was written
  bool is_closed; // the system refused to make an entry writable
} search;

typedef struct image {
  uint64_t base;
  uint64_t sealed_start; // pages that the loader made read-only after it filled the tables (RELRO)
  uint64_t sealed_end;
  const char *names;
  const ElfW(Sym) * symbols;
  bool is_own;
} image;

// Returns the address in an entry of the image's dynamic section. glibc has already added the image's base to these
// addresses. Exception: in the vDSO, an image that the kernel provides, the value is still relative to the base, so
// this code adds the base.
static const void *at(const image *image, const ElfW(Dyn) * entry) {
  const uint64_t value = entry->d_un.d_ptr;
  return (const void *)(value < image->base ? image->base + value : value);
}

static void write_slot(search *search, const image *image, uint64_t address) {
  void *const page = (void *)(address & ~(search->page_bytes - 1));
  const bool is_sealed = address >= image->sealed_start && address < image->sealed_end;
  if (is_sealed && mprotect(page, search->page_bytes, PROT_READ | PROT_WRITE) != 0) {
    search->is_closed = true;
    return;
  }
  __atomic_store_n((uint64_t *)address, (uint64_t)(uintptr_t)search->function, __ATOMIC_RELEASE);
  if (is_sealed) (void)mprotect(page, search->page_bytes, PROT_READ);
  if (image->is_own) search->has_own = true;
}

static void look_through(search *search, const image *image, const ElfW(Rela) * relocations, uint64_t bytes) {
  for (uint64_t index = 0; index < bytes / sizeof *relocations; index++) {
    const uint64_t info = relocations[index].r_info;
    if (ELF64_R_TYPE(info) != JUMP_SLOT && ELF64_R_TYPE(info) != GLOB_DAT) continue;
    const char *const name = image->names + image->symbols[ELF64_R_SYM(info)].st_name;
    if (strcmp(name, search->name) == 0) write_slot(search, image, image->base + relocations[index].r_offset);
  }
}

static void look_into(search *search, image *image, const ElfW(Dyn) * dynamic) {
  const ElfW(Rela) *relocations = NULL, *jumps = NULL;
  uint64_t relocation_bytes = 0, jump_bytes = 0;
  for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++) {
    switch (entry->d_tag) {
    case DT_STRTAB:
      image->names = at(image, entry);
      break;
    case DT_SYMTAB:
      image->symbols = at(image, entry);
      break;
    case DT_RELA:
      relocations = at(image, entry);
      break;
    case DT_RELASZ:
      relocation_bytes = entry->d_un.d_val;
      break;
    case DT_JMPREL:
      jumps = at(image, entry);
      break;
    case DT_PLTRELSZ:
      jump_bytes = entry->d_un.d_val;
      break;
    default:
      break;
    }
  }
  if (image->names == NULL || image->symbols == NULL) return;
  if (relocations != NULL) look_through(search, image, relocations, relocation_bytes);
  if (jumps != NULL) look_through(search, image, jumps, jump_bytes);
}

static int visit(struct dl_phdr_info *info, size_t info_bytes, void *context) {
  (void)info_bytes;
  search *const search = context;
  const uint64_t own = (uint64_t)(uintptr_t)search->function;
  image image = {.base = info->dlpi_addr};
  const ElfW(Dyn) *dynamic = NULL;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *const segment = &info->dlpi_phdr[index];
    const uint64_t start = info->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
    if (segment->p_type == PT_DYNAMIC) dynamic = (const void *)start;
    if (segment->p_type == PT_LOAD && own >= start && own < end) image.is_own = true;
    if (segment->p_type == PT_GNU_RELRO) {
      image.sealed_start = start & ~(search->page_bytes - 1);
      image.sealed_end = end & ~(search->page_bytes - 1);
    }
  }
  if (dynamic != NULL) look_into(search, &image, dynamic);
  return 0;
}

const char *cs_casts_write_tables(const char *name, cs_casts_function *function) {
  search search = {.name = name, .function = function, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
  (void)dl_iterate_phdr(visit, &search);
  if (search.has_own) return NULL;
  if (search.is_closed) return "a table of the loader cannot be written";
  // This image has no entry for the function. It therefore contains the function itself and calls it directly.
  return "the Swift runtime is a part of the program (static standard library)";
}

#endif
