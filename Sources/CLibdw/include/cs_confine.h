// Takes from a process what reading a hostile image never needs.
#pragma once

#include <stdint.h>

/// What a job may use. An executable of 261 MB needs 0.6 GiB of addresses and 2 s of CPU time.
#define CS_CONFINE_MEMORY_BYTES (UINT64_C(2) << 30)
#define CS_CONFINE_FILE_BYTES   (UINT64_C(256) << 20)
#define CS_CONFINE_CPU_S        30

/// Confines this process for good: no descriptors but 0, 1 and 2, and none can be opened (a debug link of the image
/// leads nowhere); no core dump, no new privileges, nobody may trace it; memory, CPU time and file size are bounded; no
/// system calls but the few that reading and writing open files needs, any other one ends the process.
/// 0, or the errno of the first step that failed.
int cs_confine(void);
