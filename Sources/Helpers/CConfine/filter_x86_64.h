// What the filter of system calls needs to know of this architecture.
#pragma once

#include <linux/audit.h>

#define CS_AUDIT_ARCH AUDIT_ARCH_X86_64
/// Numbers from here on belong to the x32 interface, which nothing here uses.
#define CS_FIRST_FOREIGN_CALL UINT32_C(0x40000000)
/// Calls with a path that newer architectures do not have.
#define CS_OLD_PATH_CALLS SYS_open, SYS_readlink, SYS_access, SYS_stat, SYS_lstat,
