#include "cs_test_early.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef __attribute__((swiftcall)) int8_t ask(uintptr_t identity, uintptr_t implementation);
typedef __attribute__((swiftcall)) void check(uintptr_t identity, uintptr_t implementation);
extern __attribute__((swiftcall)) int8_t (*swift_task_isIsolatingCurrentContext_hook)(uintptr_t, uintptr_t, ask *);
extern __attribute__((swiftcall)) void (*swift_task_checkIsolated_hook)(uintptr_t, uintptr_t, check *);

static _Atomic uint32_t asked;
static _Atomic uint32_t checked;

static __attribute__((swiftcall)) int8_t count_question(uintptr_t identity, uintptr_t implementation, ask *original) {
  atomic_fetch_add(&asked, 1);
  return original(identity, implementation);
}

static __attribute__((swiftcall)) void count_check(uintptr_t identity, uintptr_t implementation, check *original) {
  atomic_fetch_add(&checked, 1);
  original(identity, implementation);
}

uint32_t cs_test_early_asked(void) {
  return atomic_load(&asked);
}

uint32_t cs_test_early_checked(void) {
  return atomic_load(&checked);
}

// The linker defines this symbol at the ELF header of the program.
extern const char __ehdr_start __attribute__((visibility("hidden")));

uintptr_t cs_test_program_start(void) {
  return (uintptr_t)&__ehdr_start;
}

// The priority makes this constructor run before the shield's constructor, which has none.
__attribute__((constructor(101))) static void set_hooks(void) {
  if (getenv("ISOLATION_HOST_EARLY_HOOKS") == NULL) return;
  swift_task_isIsolatingCurrentContext_hook = count_question;
  swift_task_checkIsolated_hook = count_check;
}
