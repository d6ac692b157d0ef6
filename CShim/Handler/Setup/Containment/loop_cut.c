// Cuts the connections of an event loop whose thread is parked.
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

// If the loop's descriptor was not noted, it is the only one at which no other thread waits. Each loop that still runs
// must be seen at its own descriptor, in at most this many looks. Otherwise, no connection is cut.
#define LOOKS         100
#define LOOK_SLEEP_NS 1000000

#define DESCRIPTOR_LIMIT 1024
#define TEXT_BYTES       4096

static cs_task_list task_list;
static bool is_awaited[DESCRIPTOR_LIMIT]; // whether a thread waits at this epoll descriptor

static void note_waits(void) {
  cs_task_list_open(&task_list);
  for (int tid = cs_task_list_next(&task_list); tid != 0; tid = cs_task_list_next(&task_list)) {
    cs_task_call call = {0};
    if (!cs_task_call_read(tid, &call)) continue;
    const bool is_epoll =
        call.number == SYS_epoll_wait || call.number == SYS_epoll_pwait || call.number == SYS_epoll_pwait2;
    if (is_epoll && call.arguments[0] < DESCRIPTOR_LIMIT) is_awaited[call.arguments[0]] = true;
  }
  cs_task_list_close(&task_list);
}

static bool is_epoll(int descriptor) {
  char path[32], target[64] = {0};
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return readlink(path, target, sizeof target - 1) > 0 && strstr(target, "[eventpoll]") != NULL;
}

// Shuts down a connection. A socket that listens stays open, because it may belong to other processes, too.
static void cut(int descriptor, unsigned long long inode) {
  struct stat status;
  int listens = 0;
  // The program may have closed the descriptor, and reused its number.
  if (fstat(descriptor, &status) != 0 || status.st_ino != inode) return;
  socklen_t size = sizeof listens;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0) {
    shutdown(descriptor, SHUT_RDWR);
  }
}

// Cuts the sockets in the list of an epoll descriptor. Each of them has a line "tfd: NUMBER … ino:NUMBER …".
static void cut_all(int epoll) {
  char path[32], line[256];
  (void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
  FILE *file = fopen(path, "re");
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL) {
    const char *number = strncmp(line, "tfd:", 4) == 0 ? line + 4 : NULL;
    const char *inode = number == NULL ? NULL : strstr(number, "ino:");
    if (inode != NULL) cut((int)strtol(number, NULL, 10), strtoull(inode + 4, NULL, 16));
  }
  (void)fclose(file);
}

// Returns the number of epoll descriptors at which no thread was seen, and one of them.
static int count_candidates(int *ret_descriptor) {
  int count = 0;
  for (int descriptor = 0; descriptor < DESCRIPTOR_LIMIT; descriptor++) {
    if (is_awaited[descriptor] || !is_epoll(descriptor)) continue;
    *ret_descriptor = descriptor;
    count++;
  }
  return count;
}

void cs_loop_cut(int tid) {
  const int noted = cs_loop_descriptor(tid);
  if (noted >= 0) {
    if (is_epoll(noted)) cut_all(noted);
    return;
  }
  memset(is_awaited, 0, sizeof is_awaited);
  for (int look = 0; look < LOOKS; look++) {
    int found = -1;
    note_waits();
    if (count_candidates(&found) <= 1) {
      if (found >= 0) cut_all(found);
      return;
    }
    cs_sleep_ns(LOOK_SLEEP_NS);
  }
}

#endif
