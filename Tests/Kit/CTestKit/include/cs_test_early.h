// Hooks of another library, set before the shield's hooks if ISOLATION_HOST_EARLY_HOOKS is in the environment.
#ifndef CS_TEST_EARLY_H
#define CS_TEST_EARLY_H

#include <stdint.h>

// The number of calls of each hook.
uint32_t cs_test_early_asked(void);
uint32_t cs_test_early_checked(void);

// The address of the program in memory.
uintptr_t cs_test_program_start(void);

#endif
