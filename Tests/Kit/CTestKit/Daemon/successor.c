// A child that connects sockets repeatedly, like a process that executes several programs in sequence.
#include "cd_test_support.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

// Closes all descriptors except the sockets and `link`. Otherwise sockets and pipes of other tests would stay open
// after their owners close them.
static void close_others(const int *sockets, size_t count, int link) {
  int last = link;
  for (size_t index = 0; index < count; index++)
    if (sockets[index] > last) last = sockets[index];
  for (int number = 0; number < last; number++) {
    bool is_kept = number == link;
    for (size_t index = 0; index < count; index++)
      is_kept = is_kept || number == sockets[index];
    if (!is_kept) close(number);
  }
  syscall(SYS_close_range, last + 1, ~0U, 0);
}

// Runs in the child: connects one socket for each byte that arrives on `link`, until the caller closes `link`. The
// child only makes system calls, because another thread of the parent can have held a lock of libc at the fork.
static _Noreturn void be(const struct sockaddr_un *address, const int *sockets, size_t count, int link) {
  close_others(sockets, count, link);
  char byte;
  for (size_t index = 0; recv(link, &byte, 1, 0) == 1; index++) {
    int code = ENOENT;
    // The parent and the child share the socket. Therefore connect() in the child also connects the parent's
    // descriptor.
    if (index < count)
      code = connect(sockets[index], (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    if (send(link, &code, sizeof code, MSG_NOSIGNAL) != sizeof code) break;
  }
  _exit(0);
}

int cd_test_successor_start(const char *path, const int *sockets, size_t count, int *ret_link, int32_t *ret_child) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t length = strlen(path);
  if (length >= sizeof address.sun_path) return ENAMETOOLONG;
  memcpy(address.sun_path, path, length);
  int links[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) != 0) return errno;
  const pid_t child = fork();
  if (child == 0) be(&address, sockets, count, links[1]);
  const int code = child < 0 ? errno : 0;
  close(links[1]);
  if (code != 0) {
    close(links[0]);
    return code;
  }
  *ret_link = links[0];
  *ret_child = child;
  return 0;
}

int cd_test_successor_connect(int link) {
  const char byte = 1;
  int code = 0;
  if (send(link, &byte, 1, MSG_NOSIGNAL) != 1) return errno;
  ssize_t size;
  do
    size = recv(link, &code, sizeof code, MSG_WAITALL);
  while (size < 0 && errno == EINTR);
  return size == sizeof code ? code : EPIPE;
}
