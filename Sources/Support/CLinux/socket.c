// Reads the peers of Unix sockets, and transfers messages.
#include "cd_system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// The value of the kernel's SCM_MAX_FD.
#define DESCRIPTOR_LIMIT 253

// The value of the kernel's NGROUPS_MAX, because limits.h can define another value.
#define GROUP_LIMIT 65536

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

int cd_socket_peer(int socket, cd_peer *ret_peer) {
  struct ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return errno;
  *ret_peer = (cd_peer){.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
  return 0;
}

int cd_socket_peer_is_in_group(int socket, uint32_t group, bool *ret_is_member) {
  cd_peer peer;
  int code = cd_socket_peer(socket, &peer);
  if (code != 0) return code;
  if (peer.gid == group) {
    *ret_is_member = true;
    return 0;
  }
  gid_t few[64];
  gid_t *groups = few, *many = NULL;
  socklen_t size = sizeof few;
  code = getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0 ? 0 : errno;
  // The kernel has returned the required size, so allocate this size and try again. The size cannot change, because the
  // kernel recorded the groups when the peer connected.
  if (code == ERANGE && size <= GROUP_LIMIT * sizeof *groups) {
    groups = many = malloc(size);
    if (many == NULL) return ENOMEM;
    code = getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0 ? 0 : errno;
  }
  if (code == 0) {
    bool is_member = false;
    for (size_t index = 0; index < size / sizeof *groups && !is_member; index++)
      is_member = groups[index] == group;
    *ret_is_member = is_member;
  }
  free(many);
  return code;
}

int cd_process_open(int32_t pid, int *ret_pidfd) {
  long descriptor = syscall(SYS_pidfd_open, pid, 0);
  if (descriptor < 0) return errno;
  *ret_pidfd = (int)descriptor;
  return 0;
}

int cd_socket_peer_process(int socket, int32_t pid, int *ret_pidfd) {
  int descriptor = -1;
  socklen_t size = sizeof descriptor;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &descriptor, &size) == 0) {
    *ret_pidfd = descriptor;
    return 0;
  }
  if (errno != ENOPROTOOPT) return errno;
  return cd_process_open(pid, ret_pidfd);
}

int cd_socket_receive(int socket, bool is_peek, void *bytes, size_t capacity, int *descriptors,
                      size_t descriptor_capacity, cd_message *ret_message) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(DESCRIPTOR_LIMIT * sizeof(int))];
  } control;
  struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t size;
  do
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | (is_peek ? MSG_PEEK : 0));
  while (size < 0 && errno == EINTR);
  if (size < 0) return errno;

  size_t count = 0;
  bool truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part != NULL; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < here; index++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(part) + index * sizeof(int), sizeof descriptor);
      if (count < descriptor_capacity) {
        descriptors[count++] = descriptor;
      } else {
        close(descriptor);
        truncated = true;
      }
    }
  }
  *ret_message = (cd_message){.byte_count = (size_t)size, .descriptor_count = count, .truncated = truncated};
  return 0;
}

int cd_socket_accept(int listener, int *ret_socket) {
  int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {
    return errno;
  }
  *ret_socket = socket;
  return 0;
}

int cd_socket_send(int socket, const void *bytes, size_t size, const int *descriptors, size_t descriptor_count) {
  if (descriptor_count > DESCRIPTOR_LIMIT) return EINVAL;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(DESCRIPTOR_LIMIT * sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct iovec vector = {.iov_base = (void *)bytes, .iov_len = size};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  if (descriptor_count > 0) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
    memcpy(CMSG_DATA(&control.header), descriptors, descriptor_count * sizeof(int));
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return errno;
  return 0;
}
