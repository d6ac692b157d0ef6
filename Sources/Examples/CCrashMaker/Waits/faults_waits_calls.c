// Calls in which a program can wait, except waits for signals.
#include "waits.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const struct timespec long_time = {.tv_sec = CS_LONG_WAIT_S};

// One semaphore for all waits is sufficient, because each process runs only one of them.
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static struct timespec later(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += CS_LONG_WAIT_S;
  return now;
}

static int empty_pipe(void) {
  int ends[2] = {-1, -1};
  (void)!pipe2(ends, O_CLOEXEC);
  return ends[0];
}

static int listener(void) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(socket_, (const struct sockaddr *)&address, sizeof address) == 0) listen(socket_, 1);
  return socket_;
}

static void wait_pause(void) {
  pause();
}

static void wait_sleep(void) {
  sleep(CS_LONG_WAIT_S);
}

static void wait_usleep(void) {
  usleep(CS_LONG_WAIT_S * 1000000U);
}

static void wait_nanosleep(void) {
  nanosleep(&long_time, NULL);
}

static void wait_clock_nanosleep(void) {
  const struct timespec end = later();
  clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL);
}

static void wait_poll(void) {
  struct pollfd one = {.fd = empty_pipe(), .events = POLLIN};
  poll(&one, 1, CS_LONG_WAIT_S * 1000);
}

static void wait_ppoll(void) {
  struct pollfd one = {.fd = empty_pipe(), .events = POLLIN};
  ppoll(&one, 1, NULL, NULL);
}

static void wait_select(void) {
  struct timeval time = {.tv_sec = CS_LONG_WAIT_S};
  select(0, NULL, NULL, NULL, &time);
}

static void wait_pselect(void) {
  pselect(0, NULL, NULL, NULL, &long_time, NULL);
}

static void wait_epoll_wait(void) {
  struct epoll_event event;
  epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1);
}

static void wait_epoll_pwait(void) {
  struct epoll_event event;
  sigset_t none;
  sigemptyset(&none);
  epoll_pwait(epoll_create1(EPOLL_CLOEXEC), &event, 1, CS_LONG_WAIT_S * 1000, &none);
}

static void wait_sigsuspend(void) {
  sigset_t none;
  sigemptyset(&none);
  sigsuspend(&none);
}

static void wait_sem_wait(void) {
  sem_init(&semaphore, 0, 0);
  sem_wait(&semaphore);
}

static void wait_sem_timedwait(void) {
  const struct timespec end = later();
  sem_init(&semaphore, 0, 0);
  sem_timedwait(&semaphore, &end);
}

static void wait_recv_timeout(void) {
  int ends[2] = {-1, -1};
  char byte;
  const struct timeval time = {.tv_sec = CS_LONG_WAIT_S};
  (void)!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  recv(ends[0], &byte, 1, 0);
}

static void wait_read(void) {
  char byte;
  (void)!read(empty_pipe(), &byte, 1);
}

static void wait_accept(void) {
  accept(listener(), NULL, NULL);
}

static void wait_accept_timeout(void) {
  const struct timeval time = {.tv_sec = CS_LONG_WAIT_S};
  const int socket_ = listener();
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  accept(socket_, NULL, NULL);
}

static void wait_cond_wait(void) {
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&condition, &mutex);
}

static void wait_cond_timedwait(void) {
  const struct timespec end = later();
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&condition, &mutex, &end);
}

static void wait_futex(void) {
  static uint32_t word;
  syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_time, NULL, 0);
}

static void wait_eventfd(void) {
  uint64_t count;
  (void)!read(eventfd(0, EFD_CLOEXEC), &count, sizeof count);
}

static void wait_timerfd(void) {
  uint64_t count;
  const struct itimerspec once = {.it_value = long_time};
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  timerfd_settime(timer, 0, &once, NULL);
  (void)!read(timer, &count, sizeof count);
}

static void wait_inotify(void) {
  char event[256];
  (void)!read(inotify_init1(IN_CLOEXEC), event, sizeof event);
}

const cs_wait cs_plain_waits[CS_PLAIN_WAIT_COUNT] = {
    {"pause", wait_pause},
    {"sleep", wait_sleep},
    {"usleep", wait_usleep},
    {"nanosleep", wait_nanosleep},
    {"clock-nanosleep", wait_clock_nanosleep},
    {"poll", wait_poll},
    {"ppoll", wait_ppoll},
    {"select", wait_select},
    {"pselect", wait_pselect},
    {"epoll-wait", wait_epoll_wait},
    {"epoll-pwait", wait_epoll_pwait},
    {"sigsuspend", wait_sigsuspend},
    {"sem-wait", wait_sem_wait},
    {"sem-timedwait", wait_sem_timedwait},
    {"recv-timeout", wait_recv_timeout},
    {"read", wait_read},
    {"accept", wait_accept},
    {"accept-timeout", wait_accept_timeout},
    {"cond-wait", wait_cond_wait},
    {"cond-timedwait", wait_cond_timedwait},
    {"futex", wait_futex},
    {"eventfd", wait_eventfd},
    {"timerfd", wait_timerfd},
    {"inotify", wait_inotify},
};
