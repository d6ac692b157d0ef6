// Implements the functions for epoll and eventfd.
#include "cd_system.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#define EVENT_LIMIT 64

int cd_poller_create(int *ret_poller) {
  int poller = epoll_create1(EPOLL_CLOEXEC);
  if (poller < 0) return errno;
  *ret_poller = poller;
  return 0;
}

int cd_poller_add(int poller, int descriptor, uint64_t token) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = token};
  return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

int cd_poller_remove(int poller, int descriptor) {
  return epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, NULL) == 0 ? 0 : errno;
}

int cd_poller_await_hangup(int poller, int descriptor, uint64_t token) {
  struct epoll_event event = {.events = 0, .data.u64 = token};
  return epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &event) == 0 ? 0 : errno;
}

int cd_poller_wait(int poller, cd_poller_event *ret_events, size_t capacity, int timeout_ms, size_t *ret_count) {
  struct epoll_event events[EVENT_LIMIT];
  int limit = capacity < EVENT_LIMIT ? (int)capacity : EVENT_LIMIT;
  int count = epoll_wait(poller, events, limit, timeout_ms);
  if (count < 0) return errno;
  for (int index = 0; index < count; index++)
    ret_events[index].token = events[index].data.u64;
  *ret_count = (size_t)count;
  return 0;
}

int cd_wake_create(int *ret_descriptor) {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) return errno;
  *ret_descriptor = descriptor;
  return 0;
}
