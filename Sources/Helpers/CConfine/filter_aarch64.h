// Architecture-specific parts of the system call filter.
#pragma once

#include <linux/audit.h>

#define CS_AUDIT_ARCH AUDIT_ARCH_AARCH64
/// No call has this number or a higher one. AArch64 has no second set of calls in the same process, as x86-64 has.
#define CS_FIRST_FOREIGN_CALL UINT32_C(0x40000000)
/// AArch64 has only the calls that take a directory, and only ppoll().
#define CS_OLD_PATH_CALLS
#define CS_OLD_NETWORK_CALLS
