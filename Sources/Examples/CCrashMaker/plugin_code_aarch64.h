// The code of the plugin on AArch64: it calls the constructor.
#ifndef PLUGIN_CODE_AARCH64_H
#define PLUGIN_CODE_AARCH64_H
#if defined(__aarch64__)

#include <stdint.h>
#include <string.h>

#define PLUGIN_MACHINE EM_AARCH64

// stp x29, x30, [sp, #-16]!; mov x29, sp; ldr x16, constructor; blr x16; ldp x29, x30, [sp], #16; ret; nop. The code
// sets up a frame pointer for unwinding, because the file does not have unwind tables.
static const uint32_t code_words[] = {0xa9bf7bfd, 0x910003fd, 0x580000b0, 0xd63f0200,
                                      0xa8c17bfd, 0xd65f03c0, 0xd503201f};

static inline void plugin_code_fill(uint8_t *to, void (*constructor)(void)) {
  const uint64_t address = (uint64_t)(uintptr_t)constructor;
  memcpy(to, code_words, sizeof code_words);
  memcpy(to + sizeof code_words, &address, sizeof address);
}

#endif
#endif
