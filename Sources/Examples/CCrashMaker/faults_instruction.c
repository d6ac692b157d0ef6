// Faults of single instructions, and of a system call that a filter forbids.
#include "faults.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

FAULT void cs_fault_undefined_instruction(void) {
#if defined(__x86_64__)
#define UNDEFINED "ud2"
#else
#define UNDEFINED ".inst 0"
#endif
  __asm__ volatile(UNDEFINED); // fault: undefined-instruction
}

FAULT void cs_fault_privileged_instruction(void) {
#if defined(__x86_64__)
#define PRIVILEGED "hlt"
#else
#define PRIVILEGED "msr daifset, #2"
#endif
  __asm__ volatile(PRIVILEGED); // fault: privileged-instruction
}

FAULT void cs_fault_builtin_trap(void) {
  __builtin_trap(); // fault: builtin-trap
}

FAULT void cs_fault_int3(void) {
  __builtin_debugtrap(); // fault: int3
  cs_opaque(1);
}

FAULT void cs_fault_float_divide(void) {
#if defined(__x86_64__)
  // Use assembly for the processor's divide error. In C, a division by zero is undefined behavior, which a compiler can
  // turn into a trap instruction.
  int32_t low = 1, high = 0, divisor = (int32_t)cs_opaque(0);
  __asm__ volatile("idivl %2" : "+a"(low), "+d"(high) : "r"(divisor)); // fault: float-divide
#endif
}

FAULT void cs_fault_seccomp_sys(void) {
  // The filter forbids personality(2), because no other code in this program calls it.
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) return;
  if (prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program, 0L, 0L) != 0) return;
  syscall(SYS_personality, 0xffffffffL); // fault: seccomp-sys
  cs_opaque(1);
}
