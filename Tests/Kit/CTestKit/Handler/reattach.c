// Processes whose crashd restarts, or refuses them. A thread of the process itself acts as crashd.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Threads/own_threads.h"
#include "cs_attach.h"
#include "cs_shim.h"
#include "ways.h"

static int told[2];         // a pipe that receives a byte whenever the status `awaited` is reported
static _Atomic int awaited; // cs_shim_status
static _Atomic bool has_fault_open;

static void note_status(void *context, cs_shim_status status, const char *text) {
  sigset_t mask;
  (void)context;
  (void)text;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  has_fault_open = sigismember(&mask, SIGSEGV) == 0;
  if ((int)status == awaited) (void)!write(told[1], "a", 1);
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

// Accepts a connection and replies to the hello. Returns a negative number on failure.
static int answer_process(int listener, cs_attach_status status) {
  const cs_attach_reply reply = {.magic = CS_ATTACH_MAGIC, .version = CS_ATTACH_VERSION, .status = status};
  const int connection = accept(listener, NULL, NULL);
  return send(connection, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply ? connection : -1;
}

static bool is_reported(void) {
  char byte;
  return read(told[0], &byte, 1) == 1;
}

// Starts the shield. `status` is the status for which is_reported() waits. Returns the listening socket, or a negative
// number on failure.
static int start(const char *directory, cs_shim_status status) {
  char path[256];
  snprintf(path, sizeof path, "%s/attach", directory);
  const int listener = cs_test_listen(directory);
  const cs_shim_configuration configuration = {.socket_path = path, .status_function = note_status};
  awaited = (int)status;
  return pipe(told) == 0 && cs_shim_start(&configuration, NULL) == CS_SHIM_OK ? listener : -1;
}

static int reconnect_in_shared_table(const char *directory) {
  if (!refuse_tables()) return 1;
  const int listener = start(directory, CS_SHIM_STATUS_ATTACHED);
  int connection = answer_process(listener, CS_ATTACH_STATUS_ACCEPTED);
  if (connection < 0 || !is_reported()) return 3;
  for (int restart = 0; restart < 2; restart++) {
    close(connection);
    connection = answer_process(listener, CS_ATTACH_STATUS_ACCEPTED);
    if (connection < 0) return 4;
    // The process either reports the status, or attaches again, because it did not receive the reply to its hello (its
    // first message).
    struct pollfd events[] = {{.fd = told[0], .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    while (poll(events, 2, -1) < 0 && errno == EINTR) {
    }
    if (events[0].revents == 0 || !is_reported()) return 5;
  }
  return 0;
}

static int forget_refused_thread(const char *directory) {
  const int listener = start(directory, CS_SHIM_STATUS_REFUSED);
  const int tid = cs_own_tid(CS_OWN_LINK);
  if (answer_process(listener, CS_ATTACH_STATUS_LIMIT) < 0 || !is_reported() || tid == 0) return 1;
  while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
    usleep(1000);
  return cs_own_tid(CS_OWN_LINK) == 0 ? 0 : 2;
}

static int restart_from_other_thread(const char *directory) {
  sigset_t fault;
  const int listener = start(directory, CS_SHIM_STATUS_ATTACHED);
  const int connection = answer_process(listener, CS_ATTACH_STATUS_ACCEPTED);
  if (connection < 0 || !is_reported() || !has_fault_open) return 1;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  pthread_sigmask(SIG_BLOCK, &fault, NULL);
  awaited = CS_SHIM_STATUS_UNREACHABLE;
  if (unshare(CLONE_NEWUSER) != 0) return 2;
  close(connection);
  return is_reported() && has_fault_open ? 0 : 3;
}

int cs_test_reattach_run(cs_test_own_way way, const char *directory) {
  if (way == CS_TEST_OWN_SHARED_TABLE) return reconnect_in_shared_table(directory);
  if (way == CS_TEST_OWN_REFUSED) return forget_refused_thread(directory);
  if (way == CS_TEST_OWN_RESTARTED) return restart_from_other_thread(directory);
  return 99;
}
