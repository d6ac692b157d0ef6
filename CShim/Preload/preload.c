// libcrashshield.so contains the shield for programs that were built without it. LD_PRELOAD loads it.
// scripts/build/preload builds it from the same sources, with the macro CS_PRELOAD defined.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../Handler/Setup/Probes/swift_runtime.h"
#include "../Handler/Setup/setup.h"

#define SHIELD_NAME "CrashShield"

// Returns the next note of a segment, or NULL if there is no further complete note.
static const ElfW(Nhdr) * next_note(const uint8_t **at, const uint8_t *end) {
  const ElfW(Nhdr) *note = (const void *)*at;
  if (end - *at < (ptrdiff_t)sizeof *note) return NULL;
  const size_t size =
      sizeof *note + (((size_t)note->n_namesz + 3) & ~(size_t)3) + (((size_t)note->n_descsz + 3) & ~(size_t)3);
  if ((size_t)(end - *at) < size) return NULL;
  *at += size;
  return note;
}

// Stops the iteration over the images at one that contains the note of early.c, which marks an image with the shield.
static int look_for_shield(struct dl_phdr_info *info, size_t info_bytes, void *ret_is_found) {
  (void)info_bytes;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *program = &info->dlpi_phdr[index];
    if (program->p_type != PT_NOTE) continue;
    const uint8_t *at = (const uint8_t *)(info->dlpi_addr + program->p_vaddr);
    const uint8_t *const end = at + program->p_memsz;
    for (const ElfW(Nhdr) *note = next_note(&at, end); note != NULL; note = next_note(&at, end)) {
      const char *name = (const char *)(note + 1);
      if (note->n_namesz != sizeof SHIELD_NAME || memcmp(name, SHIELD_NAME, sizeof SHIELD_NAME) != 0) continue;
      *(bool *)ret_is_found = true;
      return 1;
    }
  }
  return 0;
}

// Returns whether the program was built with the shield's library, and can start the shield itself. A second shield
// would record everything twice.
static bool program_has_shield(void) {
  bool is_found = false;
  dl_iterate_phdr(look_for_shield, &is_found);
  return is_found;
}

// Returns whether a Swift library in the executable can install the handlers of Swift's backtracer after this
// constructor has run. If the executable is stripped, this code cannot determine whether it contains Swift. In this
// case, the result is true if the backtracer's environment variables enable it.
static bool swift_may_come_later(void) {
  return cs_swift_runtime_find()->message_buffer != NULL ? cs_swift_comes_later()
                                                         : cs_environment_asks_for_backtracer();
}

static bool starts_in_main;

__attribute__((constructor)) static void start_preloaded(void) {
  if (cs_environment_is_disabled() || program_has_shield()) return;
  starts_in_main = swift_may_come_later();
  if (!starts_in_main) (void)cs_shim_start(NULL, NULL);
}

// Interposes libc's __libc_start_main, which runs the executable's constructors and then its main. To start the shield
// between the two, passes it start_then_main() instead of the program's main.
typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_function *program_main;

static int start_then_main(int count, char **arguments, char **environment) {
  (void)cs_shim_start(NULL, NULL);
  __attribute__((musttail)) return program_main(count, arguments, environment);
}

__attribute__((visibility("default"))) int __libc_start_main(main_function *run, int count, char **arguments,
                                                             void (*prepare)(void), void (*finish)(void),
                                                             void (*finish_loader)(void), void *stack_end) {
  start_function *const next = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
  if (next == NULL) abort(); // without libc's function, no program can start
  program_main = run;
  return next(starts_in_main ? start_then_main : run, count, arguments, prepare, finish, finish_loader, stack_end);
}

#endif
