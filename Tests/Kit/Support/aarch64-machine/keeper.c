#define _GNU_SOURCE // accept4, ppoll

#include "keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cs_attach.h"
#include "cs_ring.h"

enum { PROCESSES = 256, NAME_BYTES = 64 };

typedef struct {
  int connection; // -1 after its end
  int ring;       // -1 before the hello
  bool has_crashed;
} process;

static process processes[PROCESSES];
static int count;
static int listener;

static void accept_process(void) {
  const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return;
  if (count < PROCESSES) {
    processes[count++] = (process){.connection = connection, .ring = -1};
  } else {
    close(connection);
  }
}

// Receives the hello (the first message) of a process, with its ring, and accepts the process. Returns false if the
// connection has ended, or has sent something else.
static bool read_hello(process *from) {
  cs_attach_hello hello;
  struct iovec part = {.iov_base = &hello, .iov_len = sizeof hello};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * (CS_ATTACH_IMAGE_LIMIT + 1))];
  } control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  if (recvmsg(from->connection, &message, MSG_CMSG_CLOEXEC) != sizeof hello) return errno == EAGAIN;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_type != SCM_RIGHTS) return false;
  const size_t descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t index = 0; index < descriptors; index++) {
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header) + index * sizeof descriptor, sizeof descriptor);
    if (index == 0) {
      from->ring = descriptor;
    } else {
      close(descriptor);
    }
  }
  const cs_attach_reply reply = {
      .magic = CS_ATTACH_MAGIC, .version = CS_ATTACH_VERSION, .ring_version = hello.ring_version};
  return send(from->connection, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply;
}

static bool read_byte(process *from) {
  uint8_t bytes[CS_CONTROL_LIMIT_BYTES];
  const ssize_t size = recv(from->connection, bytes, sizeof bytes, 0);
  if (size == 1 && bytes[0] == CS_ATTACH_CRASHED) from->has_crashed = true;
  return size > 0 || (size < 0 && errno == EAGAIN);
}

// Reads one message. Returns false if there is none.
static bool read_from(process *from) {
  errno = 0;
  if (from->connection >= 0 && !(from->ring < 0 ? read_hello(from) : read_byte(from))) {
    close(from->connection);
    from->connection = -1;
  }
  return from->connection >= 0 && errno != EAGAIN;
}

bool keeper_start(void) {
  const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = ATTACH_SOCKET};
  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return listener >= 0 && bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
         chmod(ATTACH_SOCKET, 0777) == 0 && listen(listener, PROCESSES) == 0;
}

void keeper_wait(const struct timespec *limit, const sigset_t *blocked) {
  struct pollfd waits[PROCESSES + 1] = {{.fd = listener, .events = POLLIN}};
  for (int index = 0; index < count; index++) {
    waits[index + 1] = (struct pollfd){.fd = processes[index].connection, .events = POLLIN};
  }
  const int known = count;
  if (ppoll(waits, (nfds_t)known + 1, limit, blocked) <= 0) return;
  for (int index = 0; index < known; index++) {
    if (waits[index + 1].revents != 0) read_from(&processes[index]);
  }
  if (waits[0].revents != 0) accept_process();
}

static void send_ring(int ring, void (*send)(const char *path, const char *name)) {
  uint8_t id[sizeof((cs_ring_header *)NULL)->ring_id] = {0};
  char name[NAME_BYTES], path[NAME_BYTES];
  if (pread(ring, id, sizeof id, offsetof(cs_ring_header, ring_id)) != sizeof id) return;
  for (size_t index = 0; index < sizeof id; index++) {
    snprintf(name + 2 * index, 3, "%02x", id[index]);
  }
  snprintf(name + 2 * sizeof id, sizeof name - 2 * sizeof id, "%s", CS_ATTACH_SPOOL_SUFFIX);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ring);
  send(path, name);
}

void keeper_send(void (*send)(const char *path, const char *name)) {
  for (int index = 0; index < count; index++) {
    process *one = &processes[index];
    while (read_from(one)) {
    }
    if (one->has_crashed) send_ring(one->ring, send);
    if (one->connection >= 0) close(one->connection);
    if (one->ring >= 0) close(one->ring);
  }
  count = 0;
}
