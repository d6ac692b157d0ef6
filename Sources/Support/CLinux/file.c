// Opens files with untrusted names, and creates memory files.
#include "cd_system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// The id of a group without members (nogroup).
#define NO_GROUP 65534

// Opens the file behind `place`, which is an O_PATH descriptor or negative for a missing file, and closes `place`.
static int open_place(int place, int *ret_descriptor) {
  if (place < 0) return errno;
  struct stat status;
  int result = fstat(place, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : ENOTSUP;
  if (result == 0) {
    char name[40];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", place);
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
      result = errno;
    else
      *ret_descriptor = descriptor;
  }
  close(place);
  return result;
}

int cd_file_open_regular(int directory, const char *path, bool follow, int *ret_descriptor) {
  // Open with O_PATH first, which does not open the file itself. Opening a device or a pipe has side effects.
  return open_place(openat(directory, path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)), ret_descriptor);
}

// Opens a path without following the magic links of /proc, whose targets can be in the mounts of a container. Limit: if
// openat2 is missing (ENOSYS before Linux 5.6) or forbidden by a filter (EPERM), magic links are followed.
static int open_named(const char *path, int *ret_descriptor) {
  const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
  int place = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  if (place < 0 && (errno == ENOSYS || errno == EPERM)) place = open(path, O_PATH | O_CLOEXEC);
  return open_place(place, ret_descriptor);
}

// Whether crashd was dumpable before a thread first changed its user. The value is read only once, because the kernel
// clears the attribute at each change of the user. Several threads can change their user at the same time.
static pthread_once_t dumpable_once = PTHREAD_ONCE_INIT;
static int dumpable;

static void note_dumpable(void) {
  dumpable = prctl(PR_GET_DUMPABLE);
}

// Changes the user and the group with which the calling thread accesses files. In this file, groups are changed with
// the system call, which changes only the calling thread. libc's setgroups() changes all threads.
static void act_as(uint32_t user, uint32_t group) {
  syscall(SYS_setfsgid, group);
  syscall(SYS_setfsuid, user);
}

int cd_file_open_regular_as(uint32_t user, const char *path, int *ret_descriptor) {
  if (geteuid() != 0 || user == 0) return open_named(path, ret_descriptor);
  pthread_once(&dumpable_once, note_dumpable);
  gid_t groups[64];
  const int count = getgroups(64, groups);
  if (count < 0 || syscall(SYS_setgroups, 0, NULL) != 0) return EPERM;
  act_as(user, NO_GROUP);
  const int result = open_named(path, ret_descriptor);
  act_as(0, getegid());
  syscall(SYS_setgroups, count, groups);
  prctl(PR_SET_DUMPABLE, dumpable);
  return result;
}

static int look(int descriptor, const char *path, int flags, cd_file_facts *ret_facts) {
  struct statx status;
  const unsigned wanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO | STATX_SIZE | STATX_CTIME;
  if (statx(descriptor, path, flags | AT_STATX_DONT_SYNC, wanted, &status) != 0) return errno;
  *ret_facts = (cd_file_facts){.device = makedev(status.stx_dev_major, status.stx_dev_minor),
                               .inode = status.stx_ino,
                               .size = status.stx_size,
                               .changed_s = status.stx_ctime.tv_sec,
                               .changed_ns = status.stx_ctime.tv_nsec,
                               .mode = status.stx_mode,
                               .owner = status.stx_uid};
  return 0;
}

int cd_file_look(int descriptor, cd_file_facts *ret_facts) {
  return look(descriptor, "", AT_EMPTY_PATH, ret_facts);
}

int cd_process_look_at_program(int32_t pid, cd_file_facts *ret_facts) {
  char path[32];
  (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
  return look(AT_FDCWD, path, 0, ret_facts);
}

int cd_file_is_vouched_for(int descriptor, bool *ret_is_vouched_for) {
  struct statfs space;
  if (fstatfs(descriptor, &space) != 0) return errno;
  *ret_is_vouched_for = ((unsigned long)space.f_flags & ST_NOSUID) == 0;
  return 0;
}

bool cd_file_is_of_this_boot(int descriptor) {
  struct statfs system;
  return fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

int cd_memory_create(size_t size, int *ret_descriptor) {
  int descriptor = memfd_create("cs-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) {
    return errno;
  }
  if (ftruncate(descriptor, (off_t)size) != 0) {
    int result = errno;
    close(descriptor);
    return result;
  }
  *ret_descriptor = descriptor;
  return 0;
}

int cd_memory_seal(int descriptor, bool stays_writable) {
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (stays_writable ? 0 : F_SEAL_WRITE);
  return fcntl(descriptor, F_ADD_SEALS, seals) == 0 ? 0 : errno;
}
