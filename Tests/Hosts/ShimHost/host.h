// The commands of shim-host. Each function returns the exit status of the process.
#pragma once

#include <stdbool.h>

int write_ring(bool is_together);
int keep_memory(void);
