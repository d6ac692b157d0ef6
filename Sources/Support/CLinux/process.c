// Reads the exit status of another process from its pidfd.
#include "cd_system.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// The structure in <linux/pidfd.h> of Linux 6.15, which the headers of Debian 12 do not have. The number of the ioctl
// contains the size of the structure. A kernel whose version of the structure is smaller than this one fills in only
// the fields that it supports.
typedef struct pidfd_info {
  uint64_t mask;
  uint64_t cgroup_id;
  uint32_t pid;
  uint32_t tgid;
  uint32_t ppid;
  uint32_t credentials[8];
  int32_t exit_code;
  uint32_t core_dump[2];
} pidfd_info;
_Static_assert(sizeof(pidfd_info) == 72, "PIDFD_INFO_SIZE_VER1");
#define INFO_EXIT (1ULL << 3)
#define GET_INFO  _IOWR(0xFF, 11, pidfd_info)

// The value of PID_FS_MAGIC in <linux/magic.h> of Linux 6.9.
#define PIDFS_MAGIC 0x50494446

int cd_process_end(int pidfd, int *ret_status) {
  struct pollfd wanted = {.fd = pidfd, .events = POLLIN};
  int ready;
  do
    ready = poll(&wanted, 1, 0);
  while (ready < 0 && errno == EINTR);
  if (ready < 0) return errno;
  if (ready == 0) return EAGAIN;

  // If the parent reaps the process during the call, the ioctl fails with ESRCH (measured for 400 to 800 of 20,000
  // children). A second call succeeds, so repeat the ioctl once.
  for (int attempt = 0; attempt < 2; attempt++) {
    pidfd_info info = {.mask = INFO_EXIT};
    if (ioctl(pidfd, GET_INFO, &info) == 0) {
      if ((info.mask & INFO_EXIT) != 0) {
        *ret_status = info.exit_code;
        return 0;
      }
      // Without POLLHUP, the parent has not reaped the process yet, and the kernel does not report the status.
      return (wanted.revents & POLLHUP) == 0 ? EBUSY : ENOTSUP;
    }
    if (errno != ESRCH) break;
  }
  return ENOTSUP;
}

bool cd_process_exists(int pidfd) {
  // EPERM means that the process exists but belongs to another user, because the kernel checks whether the process
  // exists before it checks the permission.
  return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno == EPERM;
}

uint64_t cd_process_inode(int pidfd) {
  struct statfs system;
  struct stat status;
  const bool is_pidfs = fstatfs(pidfd, &system) == 0 && system.f_type == PIDFS_MAGIC;
  return is_pidfs && fstat(pidfd, &status) == 0 ? status.st_ino : 0;
}
