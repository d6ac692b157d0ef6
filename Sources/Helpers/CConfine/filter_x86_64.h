// Architecture-specific parts of the system call filter.
#pragma once

#include <linux/audit.h>

#define CS_AUDIT_ARCH AUDIT_ARCH_X86_64
/// This call number and all higher ones belong to the x32 ABI, which the filter forbids.
#define CS_FIRST_FOREIGN_CALL UINT32_C(0x40000000)
/// Older system calls with a path argument. Newer architectures do not have these calls.
#define CS_OLD_PATH_CALLS SYS_open, SYS_readlink, SYS_access, SYS_stat, SYS_lstat,
/// An older system call that waits for descriptors. Newer architectures have only ppoll().
#define CS_OLD_NETWORK_CALLS SYS_poll,
