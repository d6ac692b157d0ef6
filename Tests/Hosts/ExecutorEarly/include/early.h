// Hooks of somebody else's, set before the shield's where ISOLATION_HOST_EARLY_HOOKS is in the environment.
#ifndef EARLY_H
#define EARLY_H

#include <stdint.h>

// How often each was called.
uint32_t early_asked(void);
uint32_t early_checked(void);

// Where the program lies in memory.
uintptr_t early_program_start(void);

#endif
