// Includes the parts of the system call filter for the architecture of this machine.
#pragma once

#if defined(__x86_64__)
#include "filter_x86_64.h"
#elif defined(__aarch64__)
#include "filter_aarch64.h"
#else
#error "the system call filter does not know this architecture"
#endif
