// A thread that looks like an event loop of NIO. The thread has the name of a NIO thread, and waits at an epoll
// descriptor with connections.
#include "host.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 5

static struct {
  int epoll;
  int event;
  int peers[CONNECTIONS]; // the clients' ends of the connections
  ch_body body;           // what the loop calls when it is woken
} loop;

static void *run_loop(void *unused) {
  (void)unused;
  while (true) {
    struct epoll_event event;
    uint64_t count = 0;
    if (epoll_wait(loop.epoll, &event, 1, -1) != 1 || event.data.fd != loop.event) continue;
    if (read(loop.event, &count, sizeof count) != sizeof count) continue;
    loop.body();
  }
  return NULL;
}

// Counts the connections that the shield has shut down.
static void *watch_peers(void *unused) {
  (void)unused;
  for (size_t index = 0; index < CONNECTIONS; index++) {
    char byte;
    if (read(loop.peers[index], &byte, 1) == 0) ch_add(CH_CUT_OFF, 1);
  }
  return NULL;
}

static void add(int file) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
  epoll_ctl(loop.epoll, EPOLL_CTL_ADD, file, &event);
}

void ch_loop_start(ch_body body) {
  pthread_t thread;
  loop.body = body;
  loop.epoll = epoll_create1(EPOLL_CLOEXEC);
  loop.event = eventfd(0, EFD_CLOEXEC);
  add(loop.event);
  for (size_t index = 0; index < CONNECTIONS; index++) {
    int ends[2] = {-1, -1};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    add(ends[0]);
    loop.peers[index] = ends[1];
  }
  pthread_create(&thread, NULL, run_loop, NULL);
  pthread_setname_np(thread, "NIO-ELT-0-#0");
  pthread_create(&thread, NULL, watch_peers, NULL);
}

void ch_loop_wake(void) {
  const uint64_t one = 1;
  (void)!write(loop.event, &one, sizeof one);
}
