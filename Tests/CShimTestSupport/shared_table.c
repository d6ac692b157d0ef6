// A process whose threads all share one descriptor table, because a filter of system calls refuses a second one.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cs_attach.h"
#include "cs_shim.h"
#include "ways.h"

static int told[2]; // a pipe: a byte for each time that the process is attached

static void note_attached(void *context, cs_shim_status status, const char *text) {
  (void)context;
  (void)text;
  if (status == CS_SHIM_STATUS_ATTACHED) (void)!write(told[1], "a", 1);
}

static bool refuse_tables(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Accepts a connection and the process; negative on failure.
static int accept_process(int listener) {
  const cs_attach_reply reply = {.magic = CS_ATTACH_MAGIC, .version = CS_ATTACH_VERSION};
  const int connection = accept(listener, NULL, NULL);
  return send(connection, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply ? connection : -1;
}

static bool is_told(void) {
  char byte;
  return read(told[0], &byte, 1) == 1;
}

int cs_test_reconnect_in_shared_table(const char *directory) {
  char path[256];
  snprintf(path, sizeof path, "%s/attach", directory);
  const int listener = cs_test_listen(directory);
  const cs_shim_configuration configuration = {.socket_path = path, .status_function = note_attached};
  if (pipe(told) != 0 || !refuse_tables()) return 1;
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 2;
  int connection = accept_process(listener);
  if (connection < 0 || !is_told()) return 3;
  for (int restart = 0; restart < 2; restart++) {
    close(connection);
    connection = accept_process(listener);
    if (connection < 0) return 4;
    // A process that has not read the reply comes again.
    struct pollfd events[] = {{.fd = told[0], .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    while (poll(events, 2, -1) < 0 && errno == EINTR) {
    }
    if (events[0].revents == 0 || !is_told()) return 5;
  }
  return 0;
}
