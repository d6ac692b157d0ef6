// What shim-host does under each word of its command line; the exit statuses of the process.
#pragma once

#include <stdbool.h>

int write_ring(bool is_together);
int keep_memory(void);
