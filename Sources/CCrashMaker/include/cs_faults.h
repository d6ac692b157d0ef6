// Crashes that are made in C, one function each. A function's faulting line carries a `// fault: NAME` comment by which
// tests find it.
#ifndef CS_FAULTS_H
#define CS_FAULTS_H

#include <stdint.h>

// A value that no optimizer can know: keeps faults from being folded away.
int64_t cs_opaque(int64_t value);

// Memory: faults_memory.c
void cs_fault_null_read(void);
void cs_fault_null_write(void);
void cs_fault_null_plus_offset(void);
void cs_fault_null_call(void);
void cs_fault_wild_read(void);
void cs_fault_non_canonical(void);
void cs_fault_read_only_write(void);
void cs_fault_no_exec_jump(void);
void cs_fault_bus_truncated_mmap(void);
void cs_fault_stack_overflow(void);

// Instructions and system calls: faults_instruction.c
void cs_fault_undefined_instruction(void);
void cs_fault_privileged_instruction(void);
void cs_fault_builtin_trap(void);
void cs_fault_int3(void);
void cs_fault_float_divide(void);
void cs_fault_seccomp_sys(void);

// Aborts and signals that were sent: faults_abort.c
void cs_fault_abort(void);
void cs_fault_libc_assert(void);
void cs_fault_double_free(void);
void cs_fault_free_invalid(void);
void cs_fault_raise(void);
void cs_fault_kill_from_outside(void);

// Locks: faults_lock.c
void cs_fault_loader_lock_held_by_other(void);
void cs_fault_inside_dl_iterate_callback(void);

#endif
