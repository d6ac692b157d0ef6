#include "cd_test_support.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs in the child: takes the identity of the other user, connects the socket, and waits until the caller closes
// `link`. The child only makes system calls, because another thread of the parent can have held a lock of libc at the
// fork.
static _Noreturn void be(int socket, const struct sockaddr_un *address, uint32_t uid, uint32_t gid, const gid_t *groups,
                         size_t group_count, bool is_restricted, int namespaces, int link) {
  int code = 0;
  // In a new user namespace without a mapping, the child cannot change its user, so it keeps the parent's user.
  const bool keeps_user = (namespaces & CD_TEST_NEW_USERS) != 0;
  // glibc's functions would change the credentials of all threads. The system calls change only those of the calling
  // thread.
  if ((!keeps_user && (syscall(SYS_setgroups, group_count, groups) != 0 || syscall(SYS_setresgid, gid, gid, gid) != 0 ||
                       syscall(SYS_setresuid, uid, uid, uid) != 0)) ||
      // A process is dumpable (1) in general, but not (0) if it has changed its user. The value decides whether its
      // user may read its memory.
      prctl(PR_SET_DUMPABLE, is_restricted ? 0 : 1) != 0 ||
      // The parent and the child share the socket. Therefore connect() in the child also connects the parent's
      // descriptor.
      connect(socket, (const struct sockaddr *)address, sizeof *address) != 0)
    code = errno;
  // Makes `link` descriptor 0, and closes all other descriptors. Otherwise sockets and pipes of other tests would stay
  // open after their owners close them.
  if (dup2(link, 0) != 0 || syscall(SYS_close_range, 1, ~0U, 0) != 0) code = errno;
  if (write(0, &code, sizeof code) != sizeof code || code != 0) _exit(1);
  char byte;
  while (read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

int cd_test_connect_as(int socket, const char *path, uint32_t uid, uint32_t gid, const gid_t *groups,
                       size_t group_count, bool is_restricted, int namespaces, int *ret_link, int32_t *ret_child) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) return ENAMETOOLONG;
  memcpy(address.sun_path, path, length);
  int links[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) != 0) return errno;
  pid_t child = (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) be(socket, &address, uid, gid, groups, group_count, is_restricted, namespaces, links[1]);
  int code = child < 0 ? errno : 0;
  close(links[1]);
  if (code == 0) {
    ssize_t size;
    do
      size = recv(links[0], &code, sizeof code, MSG_WAITALL);
    while (size < 0 && errno == EINTR);
    if (size != sizeof code) code = EPIPE;
  }
  if (code != 0) {
    if (child > 0)
      cd_test_peer_end(links[0], child);
    else
      close(links[0]);
    return code;
  }
  *ret_link = links[0];
  *ret_child = child;
  return 0;
}

void cd_test_peer_end(int link, int32_t child) {
  // Ends the connection, even if another child that was forked meanwhile has a copy of the descriptor.
  shutdown(link, SHUT_RDWR);
  close(link);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
}

int cd_test_dumpable(void) {
  return prctl(PR_GET_DUMPABLE);
}
