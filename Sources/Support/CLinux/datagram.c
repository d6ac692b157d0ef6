#include "cs_datagram.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { MS_PER_S = 1000, US_PER_MS = 1000 };

/// A socket that is connected to `path`, or minus what errno says.
static int open_socket(const char *path, uint32_t timeout_ms) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t length = strlen(path);
  if (length == 0) return -EINVAL;
  if (length >= sizeof address.sun_path) return -ENAMETOOLONG;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int number = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (number < 0) return -errno;
  const struct timeval limit = {.tv_sec = timeout_ms / MS_PER_S,
                                .tv_usec = (suseconds_t)(timeout_ms % MS_PER_S) * US_PER_MS};
  // An abstract address has no zero at its end.
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '@' ? 0 : 1));
  int result = 0;
  if (setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      connect(number, (const struct sockaddr *)&address, size) != 0)
    result = -errno;
  if (result == 0) return number;
  (void)close(number);
  return result;
}

static int send_message(int number, const struct msghdr *message) {
  while (sendmsg(number, message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// journald takes a file without looking whether it changes meanwhile only when it cannot.
static int make_file(const void *bytes, size_t count, const char *name) {
  const int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -errno;
  int error = 0;
  for (size_t done = 0; done < count && error == 0;) {
    const ssize_t written = write(file, (const char *)bytes + done, count - done);
    if (written > 0)
      done += (size_t)written;
    else if (written == 0 || errno != EINTR)
      error = written == 0 ? EIO : errno;
  }
  if (error == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    error = errno;
  if (error == 0) return file;
  (void)close(file);
  return -error;
}

static int send_file(int number, int file) {
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(header), &file, sizeof file);
  return send_message(number, &message);
}

int cs_datagram_send(const char *path, const void *bytes, size_t count, const char *file_name, uint32_t timeout_ms,
                     enum cs_datagram_form *ret_form) {
  const int number = open_socket(path, timeout_ms);
  if (number < 0) return -number;
  // sendmsg does not write into what it sends.
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
  const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  enum cs_datagram_form form = CS_DATAGRAM_PLAIN;
  int error = send_message(number, &message);
  // ENOBUFS: the kernel has no piece of memory as long as this.
  if ((error == EMSGSIZE || error == ENOBUFS) && file_name) {
    form = CS_DATAGRAM_FILE;
    const int file = make_file(bytes, count, file_name);
    error = file < 0 ? -file : send_file(number, file);
    if (file >= 0) (void)close(file);
  }
  (void)close(number);
  if (error == 0) *ret_form = form;
  return error;
}
