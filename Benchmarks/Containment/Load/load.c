// Sends requests to one server after the other, to each for MILLISECONDS, and counts the responses. Every second round
// visits the servers in reverse order, so that changes in the machine's load affect all servers equally.
//
// Usage: containment-load ROUNDS MILLISECONDS CONNECTIONS PATH PORT...
// For each round, prints one line with the number of responses and this program's CPU time (in ns) for each port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SERVER_LIMIT  16
#define EVENT_COUNT   128
#define PATIENCE_MS   60000
#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS     UINT64_C(1000000)

typedef struct server {
  int epoll;
  int *sockets;
  uint64_t responses;
  uint64_t cpu_ns;
} server;

static char request[256];
static size_t request_bytes;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static uint64_t clock_ns(clockid_t clock) {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

static void send_to(int socket) {
  if (write(socket, request, request_bytes) != (ssize_t)request_bytes) fail("write");
}

static void connect_to(server *to, uint16_t port, int count) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int on = 1;
  to->epoll = epoll_create1(0);
  to->sockets = calloc((size_t)count, sizeof *to->sockets);
  if (to->epoll < 0 || to->sockets == NULL) fail("epoll_create1");
  for (int index = 0; index < count; index++) {
    const int one = socket(AF_INET, SOCK_STREAM, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = one};
    if (connect(one, (const struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (epoll_ctl(to->epoll, EPOLL_CTL_ADD, one, &event) != 0) fail("epoll_ctl");
    to->sockets[index] = one;
  }
}

static void check_response(int socket) {
  char response[4096];
  const ssize_t count = read(socket, response, sizeof response);
  if (count <= 0) fail("read");
  if (memcmp(response, "HTTP/1.1 200", 12) != 0) {
    fprintf(stderr, "not a response of status 200\n");
    exit(1);
  }
}

// Keeps one request in flight on each of the `count` connections for `duration_ns`, then waits for the last responses.
static void run(server *of, int count, uint64_t duration_ns) {
  const uint64_t cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID), end = clock_ns(CLOCK_MONOTONIC) + duration_ns;
  int waiting = count;
  of->responses = 0;
  for (int index = 0; index < count; index++)
    send_to(of->sockets[index]);
  while (waiting > 0) {
    struct epoll_event events[EVENT_COUNT];
    const int ready = epoll_wait(of->epoll, events, EVENT_COUNT, PATIENCE_MS);
    if (ready <= 0) fail("epoll_wait");
    const int goes_on = clock_ns(CLOCK_MONOTONIC) < end;
    for (int index = 0; index < ready; index++) {
      check_response(events[index].data.fd);
      of->responses++;
      if (goes_on) {
        send_to(events[index].data.fd);
      } else {
        waiting--;
      }
    }
  }
  of->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
}

int main(int argument_count, char **arguments) {
  const int first = 5, server_count = argument_count - first;
  server servers[SERVER_LIMIT];
  if (server_count < 1 || server_count > SERVER_LIMIT) {
    fprintf(stderr, "usage: containment-load ROUNDS MILLISECONDS CONNECTIONS PATH PORT...\n");
    return 2;
  }
  const int rounds = atoi(arguments[1]), count = atoi(arguments[3]);
  const uint64_t duration_ns = (uint64_t)atoi(arguments[2]) * NS_PER_MS;
  request_bytes =
      (size_t)snprintf(request, sizeof request, "GET /%.200s HTTP/1.1\r\nHost: localhost\r\n\r\n", arguments[4]);
  for (int index = 0; index < server_count; index++)
    connect_to(&servers[index], (uint16_t)atoi(arguments[first + index]), count);
  for (int round = 0; round < rounds; round++) {
    for (int step = 0; step < server_count; step++)
      run(&servers[round % 2 == 0 ? step : server_count - 1 - step], count, duration_ns);
    for (int index = 0; index < server_count; index++)
      printf("%llu %llu ", (unsigned long long)servers[index].responses, (unsigned long long)servers[index].cpu_ns);
    printf("\n");
  }
  return 0;
}
