// Architecture-specific parts of the system call filter.
#pragma once

#include <linux/audit.h>

#define CS_AUDIT_ARCH AUDIT_ARCH_X86_64
/// Call numbers from here on belong to the unused x32 interface.
#define CS_FIRST_FOREIGN_CALL UINT32_C(0x40000000)
/// Calls with a path that exist only on older architectures.
#define CS_OLD_PATH_CALLS SYS_open, SYS_readlink, SYS_access, SYS_stat, SYS_lstat,
