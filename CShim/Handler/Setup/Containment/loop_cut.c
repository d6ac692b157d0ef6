// Shuts down the connections of an event loop whose thread is parked (stopped by a contained trap).
#include "cs_platform.h"

#if CS_SUPPORTED

#include "answers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../Signal/Containment/loops.h"
#include "../../Signal/Dispatch/trusted.h"
#include "../../Signal/Kernel/system_call.h"
#include "../../Signal/Threads/task_list.h"

// If the program did not declare the epoll descriptor of the parked loop, the search excludes the epoll descriptors at
// which another thread waits. Another loop waits at its descriptor only part of the time, so the search repeats, at
// most for this time, until at most one descriptor with connections is left. If more are left, no connection is shut
// down. The limit is short, because the thread of the answers does nothing else during the search.
#define LOOK_LIMIT_NS UINT64_C(50000000)
#define LOOK_SLEEP_NS 1000000

#define DESCRIPTOR_LIMIT 1024
#define TEXT_BYTES       4096

static cs_task_list task_list;
static bool is_awaited[DESCRIPTOR_LIMIT]; // whether a thread waits at this epoll descriptor

// AArch64 does not have the system call epoll_wait.
static bool waits_for_events(uint64_t number) {
#if defined(SYS_epoll_wait)
  if (number == SYS_epoll_wait) return true;
#endif
  return number == SYS_epoll_pwait || number == SYS_epoll_pwait2;
}

static void note_waits(void) {
  cs_task_list_open(&task_list);
  for (int tid = cs_task_list_next(&task_list); tid != 0; tid = cs_task_list_next(&task_list)) {
    cs_task_call call = {0};
    if (!cs_task_call_read(tid, &call)) continue;
    if (waits_for_events(call.number) && call.arguments[0] < DESCRIPTOR_LIMIT) is_awaited[call.arguments[0]] = true;
  }
  cs_task_list_close(&task_list);
}

static bool is_epoll(int descriptor) {
  char path[32], target[64] = {0};
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return readlink(path, target, sizeof target - 1) > 0 && strstr(target, "[eventpoll]") != NULL;
}

// Returns whether the descriptor is a connection with this inode. The inode must match, because the program can have
// closed the connection and reused its number. Returns false for a listening socket, because other processes can share
// this socket.
static bool is_connection(int descriptor, unsigned long long inode) {
  struct stat status;
  int listens = 0;
  socklen_t size = sizeof listens;
  if (fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_ino != inode) return false;
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0;
}

// Returns the number of connections in the list of an epoll descriptor, and shuts them down if `cuts` is true. The list
// has a line "tfd: NUMBER … ino:NUMBER …" for each descriptor. is_connection() compares the inode, because an epoll
// descriptor that was inherited from a parent process lists the parent's descriptor numbers, which can be other files
// here.
static int count_connections(int epoll, bool cuts) {
  char path[32], line[256];
  int count = 0;
  (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
  FILE *file = fopen(path, "re");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    const char *number = strncmp(line, "tfd:", 4) == 0 ? line + 4 : NULL;
    const char *inode = number == NULL ? NULL : strstr(number, "ino:");
    if (inode == NULL) continue;
    const int descriptor = (int)strtol(number, NULL, 10);
    if (!is_connection(descriptor, strtoull(inode + 4, NULL, 16))) continue;
    if (cuts) shutdown(descriptor, SHUT_RDWR);
    count++;
  }
  (void)fclose(file);
  return count;
}

// Counts the epoll descriptors that have connections and at which no thread was seen waiting. Stores one of them.
static int count_candidates(int *ret_descriptor) {
  int count = 0;
  for (int descriptor = 0; descriptor < DESCRIPTOR_LIMIT; descriptor++) {
    if (is_awaited[descriptor] || !is_epoll(descriptor) || count_connections(descriptor, false) == 0) continue;
    *ret_descriptor = descriptor;
    count++;
  }
  return count;
}

void cs_loop_cut(int tid) {
  const int noted = cs_loop_descriptor(tid);
  if (noted >= 0) {
    if (is_epoll(noted)) count_connections(noted, true);
    return;
  }
  memset(is_awaited, 0, sizeof is_awaited);
  const uint64_t end_ns = cs_clock_ns(CLOCK_MONOTONIC) + LOOK_LIMIT_NS;
  while (cs_clock_ns(CLOCK_MONOTONIC) < end_ns) {
    int found = -1;
    note_waits();
    if (count_candidates(&found) <= 1) {
      if (found >= 0) count_connections(found, true);
      return;
    }
    cs_sleep_ns(LOOK_SLEEP_NS);
  }
}

#endif
