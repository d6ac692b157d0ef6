// Architecture-specific parts of the system call filter.
#pragma once

#include <linux/audit.h>

#define CS_AUDIT_ARCH AUDIT_ARCH_AARCH64
/// On AArch64, no system call has this number or a higher one. On x86-64, such numbers belong to a second set of calls
/// (x32).
#define CS_FIRST_FOREIGN_CALL UINT32_C(0x40000000)
/// AArch64 has only the calls that take a directory descriptor, and only ppoll().
#define CS_OLD_PATH_CALLS
#define CS_OLD_NETWORK_CALLS
