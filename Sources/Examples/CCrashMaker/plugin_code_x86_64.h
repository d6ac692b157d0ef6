// The code of the plugin on x86-64: it calls the constructor.
#ifndef PLUGIN_CODE_X86_64_H
#define PLUGIN_CODE_X86_64_H
#if defined(__x86_64__)

#include <stdint.h>
#include <string.h>

#define PLUGIN_MACHINE EM_X86_64

// push %rbp; mov %rsp,%rbp; movabs $constructor,%rax; call *%rax; pop %rbp; ret. The code sets up a frame pointer for
// unwinding, because the file does not have unwind tables.
static const uint8_t code_before[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};
static const uint8_t code_after[] = {0xff, 0xd0, 0x5d, 0xc3};

static inline void plugin_code_fill(uint8_t *to, void (*constructor)(void)) {
  const uint64_t address = (uint64_t)(uintptr_t)constructor;
  memcpy(to, code_before, sizeof code_before);
  memcpy(to + sizeof code_before, &address, sizeof address);
  memcpy(to + sizeof code_before + sizeof address, code_after, sizeof code_after);
}

#endif
#endif
