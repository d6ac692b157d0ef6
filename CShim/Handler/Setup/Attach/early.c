// Optional start in a constructor. It covers crashes in other constructors, and in main before the program's own start.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../setup.h"

#ifndef CS_PRELOAD

// An ELF note that the linker keeps. It marks this image as containing the shield; a preloaded shield then steps aside.
__asm__(".pushsection .note.crash_shield, \"a\", @note\n"
        ".balign 4\n"
        ".long 12, 4, 1\n"
        ".asciz \"CrashShield\"\n"
        ".long 1\n"
        ".popsection");

// Runs before all other constructors of this image. The constructors of the libraries it needs have run before.
__attribute__((constructor(102))) static void start_early(void) {
  if (cs_environment_starts_early() && !cs_swift_comes_later()) cs_start_early();
}

#endif

#endif
