// A thread crashes while the first one waits, in each way that a program may: an interrupted call must not end it well.
#include "../faults.h"
#include "waits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// What a busy thread gets done after a crash beside it that it never would without the shield.
#define BUSY_NS INT64_C(1000000000)
// How long a handler of the program's works on a crash.
#define HANDLER_NS INT64_C(20000000)

static const struct timespec long_time = {.tv_sec = CS_LONG_WAIT_S};
static pthread_t crasher;
static int crasher_tid;
static bool is_about_to_crash; // atomic
static int profiling[2];       // a pipe, into which the child of wait_for_child() writes

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
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  sem_wait(&semaphore);
}

static void wait_sem_timedwait(void) {
  static sem_t semaphore;
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

static void wait_pthread_join(void) {
  pthread_join(crasher, NULL);
}

static void wait_cond_wait(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&condition, &mutex);
}

static void wait_cond_timedwait(void) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  const struct timespec end = later();
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&condition, &mutex, &end);
}

// A child that lives as long as this process, and then removes what the kernel would keep.
static int child_until_end(void (*at_end)(int), int number) {
  int ends[2] = {-1, -1};
  char byte;
  (void)!pipe(ends);
  const int child = fork();
  if (child != 0) return child;
  close(ends[1]);
  while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
  }
  at_end(number);
  _exit(0);
}

static void remove_nothing(int number) {
  (void)number;
}

static void remove_queue(int number) {
  msgctl(number, IPC_RMID, NULL);
}

static void remove_semaphores(int number) {
  semctl(number, 0, IPC_RMID);
}

static void wait_waitpid(void) {
  waitpid(child_until_end(remove_nothing, 0), NULL, 0);
}

static void wait_futex(void) {
  static uint32_t word;
  syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_time, NULL, 0);
}

static void wait_msgrcv(void) {
  struct {
    long type;
    char text[8];
  } message;
  const int queue = msgget(IPC_PRIVATE, 0600);
  child_until_end(remove_queue, queue);
  msgrcv(queue, &message, sizeof message.text, 0, 0);
}

static void wait_semop(void) {
  struct sembuf take = {.sem_op = -1};
  const int set = semget(IPC_PRIVATE, 1, 0600);
  child_until_end(remove_semaphores, set);
  semop(set, &take, 1);
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

// The processor time that this thread has used.
static int64_t used_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

static void wait_busy(void) {
  while (!__atomic_load_n(&is_about_to_crash, __ATOMIC_ACQUIRE))
    cs_opaque(1);
  for (const int64_t start = used_ns(); used_ns() - start < BUSY_NS;)
    cs_opaque(1);
}

static void do_nothing(int signal) {
  (void)signal;
}

// Whether the thread sleeps on a futex: what crashes here does so only as a thread that the crash has stopped.
static bool is_on_futex(int tid) {
  char path[64];
  char text[128];
  snprintf(path, sizeof path, "/proc/self/task/%d/wchan", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const long size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  return strstr(text, "futex") != NULL;
}

// A thread that no signal reaches: the crash waits for it, and then stops threads however little they have run.
// Under ThreadSanitizer the vfork is a fork, and blocks no thread.
static void *wait_for_child(void *unused) {
  int ends[2] = {-1, -1};
  char byte = 0;
  (void)!pipe(ends);
  if (vfork() == 0) {
    close(ends[1]);
    (void)!write(profiling[1], &byte, 1);
    (void)!read(ends[0], &byte, 1);
    _exit(0);
  }
  return unused;
}

// As a profiler that samples the thread which crashes. The crash does not stop this one, which blocks SIGPROF.
static void wait_profiled(void) {
  const struct sigaction sample = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
  pthread_t other;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  sigaction(SIGPROF, &sample, NULL);
  if (pthread_create(&other, NULL, wait_for_child, NULL) != 0) return;
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  while (!__atomic_load_n(&is_about_to_crash, __ATOMIC_ACQUIRE))
    cs_opaque(1);
  while (!is_on_futex(crasher_tid))
    syscall(SYS_tgkill, getpid(), crasher_tid, SIGPROF);
}

static const cs_wait plain_waits[] = {
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
    {"pthread-join", wait_pthread_join},
    {"cond-wait", wait_cond_wait},
    {"cond-timedwait", wait_cond_timedwait},
    {"waitpid", wait_waitpid},
    {"futex", wait_futex},
    {"msgrcv", wait_msgrcv},
    {"semop", wait_semop},
    {"eventfd", wait_eventfd},
    {"timerfd", wait_timerfd},
    {"inotify", wait_inotify},
    {"busy", wait_busy},
    {"profiled", wait_profiled},
};

#define PLAIN_COUNT (int)(sizeof plain_waits / sizeof *plain_waits)

static const cs_wait *way_at(int way) {
  return way < PLAIN_COUNT ? &plain_waits[way] : &cs_signal_waits[way - PLAIN_COUNT];
}

int cs_fault_main_waits_count(void) {
  return PLAIN_COUNT + CS_SIGNAL_WAIT_COUNT;
}

const char *cs_fault_main_waits_name(int way) {
  return way_at(way)->name;
}

// Whether the thread sleeps in the kernel.
static bool is_asleep(int tid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const long size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = 0;
  const char *name_end = strrchr(text, ')');
  return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

typedef struct waiting {
  int tid;
  bool is_busy;
  bool is_profiler;
} waiting;

static FAULT void *cs_fault_beside_waiting(void *context) {
  const waiting *other = context;
  // Twice in a row: on its way into the call it may sleep for a moment.
  for (int seen = 0; !other->is_busy && seen < 2;) {
    usleep(2000);
    seen = is_asleep(other->tid) ? seen + 1 : 0;
  }
  char byte;
  if (other->is_profiler) (void)!read(profiling[0], &byte, 1);
  volatile int *number = opaque_pointer(0);
  crasher_tid = (int)syscall(SYS_gettid);
  __atomic_store_n(&is_about_to_crash, true, __ATOMIC_RELEASE);
  *number = 42; // fault: main-waits
  return NULL;
}

static struct sigaction before;

// As a program's own crash logger: it works for a while, and then has the next one take the signal.
static void work_and_pass_on(int signal, siginfo_t *information, void *context) {
  for (const int64_t start = used_ns(); used_ns() - start < HANDLER_NS;)
    cs_opaque(1);
  before.sa_sigaction(signal, information, context);
}

// The thread that waits ends the process well as soon as its call returns.
void cs_fault_main_waits(int way) {
  const bool is_profiler = way_at(way)->wait == wait_profiled;
  waiting self = {.tid = (int)syscall(SYS_gettid),
                  .is_busy = way_at(way)->wait == wait_busy || is_profiler,
                  .is_profiler = is_profiler};
  if (getenv("CRASH_MAKER_HANDLER") != NULL) {
    struct sigaction slow = {.sa_sigaction = work_and_pass_on, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &slow, &before);
  }
  if (is_profiler && pipe(profiling) != 0) return;
  if (pthread_create(&crasher, NULL, cs_fault_beside_waiting, &self) != 0) return;
  way_at(way)->wait();
  _exit(0);
}
