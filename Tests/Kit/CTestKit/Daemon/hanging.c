// A FUSE file system that answers requests until a test makes it hang. This file implements the FUSE protocol without a
// library.
#include "cd_test_support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NODE    2
#define FILE_BYTES   4096
#define BUFFER_BYTES 135168

static struct fuse_attr attributes(uint64_t node) {
  const bool is_file = node == FILE_NODE;
  return (struct fuse_attr){.ino = node,
                            .size = is_file ? FILE_BYTES : 0,
                            .mode = is_file ? S_IFREG | 0644 : S_IFDIR | 0755,
                            .nlink = 1,
                            .blksize = 4096};
}

static void answer(int device, uint64_t unique, int error, const void *body, size_t size) {
  char bytes[sizeof(struct fuse_out_header) + 256];
  const struct fuse_out_header header = {.len = (uint32_t)(sizeof header + size), .error = -error, .unique = unique};
  memcpy(bytes, &header, sizeof header);
  if (size > 0) memcpy(bytes + sizeof header, body, size);
  if (write(device, bytes, sizeof header + size) < 0) return;
}

static void serve(int device, const char *bytes) {
  struct fuse_in_header header;
  memcpy(&header, bytes, sizeof header);
  const struct fuse_attr_out attr = {.attr = attributes(header.nodeid)};
  const struct fuse_entry_out entry = {.nodeid = FILE_NODE, .generation = 1, .attr = attributes(FILE_NODE)};
  const struct fuse_open_out open_out = {.fh = 1};
  const struct fuse_init_out init = {
      .major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = 4096, .max_write = 4096, .max_background = 1};
  switch (header.opcode) {
  case FUSE_INIT:
    answer(device, header.unique, 0, &init, sizeof init);
    break;
  case FUSE_LOOKUP:
    answer(device, header.unique, 0, &entry, sizeof entry);
    break;
  case FUSE_GETATTR:
    answer(device, header.unique, 0, &attr, sizeof attr);
    break;
  case FUSE_OPEN:
    answer(device, header.unique, 0, &open_out, sizeof open_out);
    break;
  case FUSE_FORGET:
  case FUSE_BATCH_FORGET:
  case FUSE_INTERRUPT:
    break;
  default:
    answer(device, header.unique, ENOSYS, NULL, 0);
  }
}

static void close_between(int first, int last) {
  if (first <= last) syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u);
}

// Closes all descriptors except the given two. Otherwise sockets and pipes of other tests would stay open after their
// owners close them.
static void keep_two(int one, int other) {
  const int low = one < other ? one : other;
  const int high = one < other ? other : one;
  close_between(3, low - 1);
  close_between(low + 1, high - 1);
  syscall(SYS_close_range, (unsigned)high + 1, ~0U, 0u);
}

// Answers requests until a byte arrives on `control`. After that, answers no request until the other end of `control`
// is closed.
static void run(int device, int control) {
  static char bytes[BUFFER_BYTES];
  for (;;) {
    struct pollfd wanted[2] = {{.fd = device, .events = POLLIN}, {.fd = control, .events = POLLIN}};
    if (poll(wanted, 2, -1) < 0) _exit(1);
    char byte;
    if (wanted[1].revents != 0) {
      const ssize_t size = read(control, &byte, 1);
      while (size == 1 && read(control, &byte, 1) > 0) {
      }
      _exit(0); // the kernel fails all waiting requests
    }
    if (read(device, bytes, sizeof bytes) > 0) serve(device, bytes);
  }
}

// Opens and closes a file of the mount once: the file system rejects the FLUSH, and the kernel sends no further one.
// Otherwise each later close would wait while the file system hangs, also in the children that other tests fork.
static int refuse_flush(const char *directory) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/file", directory) >= (int)sizeof path) return ENAMETOOLONG;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  close(file);
  return 0;
}

int cd_test_mount_hanging(const char *directory, cd_test_mount *ret_mount) {
  char options[96];
  int control[2];
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return errno;
  (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
  if (pipe2(control, O_CLOEXEC) != 0 || mount("cs-hanging", directory, "fuse", 0, options) != 0) {
    const int result = errno;
    close(device);
    return result;
  }
  const pid_t child = fork();
  if (child == 0) {
    keep_two(device, control[0]);
    run(device, control[0]);
  }
  close(device);
  close(control[0]);
  *ret_mount = (cd_test_mount){.control = control[1], .child = child};
  return child < 0 ? EAGAIN : refuse_flush(directory);
}

void cd_test_hang(const cd_test_mount *mount) {
  if (write(mount->control, "x", 1) != 1) return;
}

void cd_test_unmount(const char *directory, const cd_test_mount *mount) {
  close(mount->control);
  kill(mount->child, SIGKILL);
  waitpid(mount->child, NULL, 0);
  umount2(directory, MNT_DETACH);
}
