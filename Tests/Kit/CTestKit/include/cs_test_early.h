// Another library's hooks, set before the shield's where ISOLATION_HOST_EARLY_HOOKS is in the environment.
#ifndef CS_TEST_EARLY_H
#define CS_TEST_EARLY_H

#include <stdint.h>

// How often each was called.
uint32_t cs_test_early_asked(void);
uint32_t cs_test_early_checked(void);

// Where the program lies in memory.
uintptr_t cs_test_program_start(void);

#endif
