// A start by a constructor, for those who ask for it: crashes of other constructors, and of main before its own start.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../setup.h"

#ifndef CS_PRELOAD

// Says that this image has the shield in it, so that a preloaded one steps aside: an ELF note that the linker keeps.
__asm__(".pushsection .note.crash_shield, \"a\", @note\n"
        ".balign 4\n"
        ".long 12, 4, 1\n"
        ".asciz \"CrashShield\"\n"
        ".long 1\n"
        ".popsection");

// Before all others of this image; those of the libraries it needs came before.
__attribute__((constructor(102))) static void start_early(void) {
  if (cs_environment_starts_early() && !cs_swift_comes_later()) cs_start_early();
}

#endif

#endif
