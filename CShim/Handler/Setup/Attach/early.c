// The optional start of the shield in a constructor. An early start makes it possible to capture crashes in later
// constructors, and crashes in main before the program itself starts the shield.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../setup.h"

#ifndef CS_PRELOAD

// An ELF note, which the linker does not discard. The note marks this image as containing the shield. If a shield in a
// preloaded library finds the note, the preloaded shield does not start.
__asm__(".pushsection .note.crash_shield, \"a\", @note\n"
        ".balign 4\n"
        ".long 12, 4, 1\n"
        ".asciz \"CrashShield\"\n"
        ".long 1\n"
        ".popsection");

// Runs before all other constructors of this image. The constructors of the libraries on which this image depends have
// already run.
__attribute__((constructor(102))) static void start_early(void) {
  if (cs_environment_starts_early() && !cs_swift_comes_later()) cs_start_early();
}

#endif

#endif
