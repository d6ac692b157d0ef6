// Executor hooks that act as those of another library. If the environment contains ISOLATION_HOST_EARLY_HOOKS, they are
// set before the shield sets its own.
#ifndef CS_TEST_EARLY_H
#define CS_TEST_EARLY_H

#include <stdint.h>

// The number of calls of each hook.
uint32_t cs_test_early_asked(void);
uint32_t cs_test_early_checked(void);

// The address at which the program is loaded.
uintptr_t cs_test_program_start(void);

#endif
