// Executor hooks that simulate another library. If the environment contains ISOLATION_HOST_EARLY_HOOKS, these hooks are
// set before the shield's hooks.
#ifndef CS_TEST_EARLY_H
#define CS_TEST_EARLY_H

#include <stdint.h>

// How often each hook was called.
uint32_t cs_test_early_asked(void);
uint32_t cs_test_early_checked(void);

// The address at which the program is loaded.
uintptr_t cs_test_program_start(void);

#endif
