// Faults of processes that lack descriptors, memory, files or privileges.
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int limit(__rlimit_resource_t resource, rlim_t value) {
  const struct rlimit limits = {value, value};
  return setrlimit(resource, &limits);
}

FAULT void cs_fault_no_descriptors(void) {
  if (limit(RLIMIT_NOFILE, 0) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: no-descriptors
}

FAULT void cs_fault_no_memory(void) {
  if (limit(RLIMIT_AS, 0) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: no-memory
}

// Creates a mount namespace whose mounts are not shared with other processes.
static int unshare_mounts(void) {
  return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

FAULT void cs_fault_mount_namespace(void) {
  if (!unshare_mounts() || mount("nothing", "/tmp", "tmpfs", 0, NULL) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: mount-namespace
}

FAULT void cs_fault_full_disk(void) {
  if (!unshare_mounts() || mount("full", "/tmp", "tmpfs", 0, "size=4k,nr_inodes=2") != 0 || chdir("/tmp") != 0) return;
  const int file = open("filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  char page[4096] = {0};
  while (file >= 0 && write(file, page, sizeof page) > 0) {
  }
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: full-disk
}

FAULT void cs_fault_read_only_root(void) {
  if (!unshare_mounts() || mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: read-only-root
}

FAULT void cs_fault_no_proc(void) {
  if (!unshare_mounts() || umount2("/proc", MNT_DETACH) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: no-proc
}

FAULT void cs_fault_chroot(void) {
  if (!unshare_mounts() || mount("root", "/tmp", "tmpfs", 0, NULL) != 0) return;
  if (chroot("/tmp") != 0 || chdir("/") != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: chroot
}

FAULT void cs_fault_other_uid(void) {
  if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: other-uid
}

FAULT void cs_fault_pid_namespace(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: pid-namespace
}

// The kernel drops SIGABRT with its default action in the first process of a pid namespace. abort() then executes a
// privileged instruction, and SIGSEGV ends the process.
FAULT void cs_fault_abort_as_pid_1(void) {
  abort(); // fault: abort-as-pid-1
}

FAULT void cs_fault_trap_as_pid_1(void) {
  __builtin_trap(); // fault: trap-as-pid-1
}

FAULT void cs_fault_seccomp_strict_profile(void) {
  // System calls that the seccomp profile of a container can forbid. The filter makes these calls fail with an errno
  // instead of a signal.
  const uint32_t forbidden[] = {SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace,  SYS_rt_sigqueueinfo,
                                SYS_memfd_create,     SYS_rt_tgsigqueueinfo, SYS_socket,  SYS_connect,
                                SYS_openat,           SYS_unshare,           SYS_mkdirat, SYS_renameat2};
  enum { COUNT = sizeof forbidden / sizeof forbidden[0] };
  struct sock_filter filter[2 * COUNT + 2];
  unsigned short length = 0;
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int index = 0; index < COUNT; index++) {
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[index], 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {.len = length, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) return;
  if (syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, (long)SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: seccomp-strict-profile
}
