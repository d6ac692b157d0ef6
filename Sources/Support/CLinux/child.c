// Starts child processes and threads.
#include "cd_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLOSE_RANGE_UNSHARE_FLAG 2u
#define SPAWNER_STACK_BYTES      ((size_t)256 * 1024)
#define WORD_BITS                64
// If the limit of descriptors (RLIMIT_NOFILE) is lower than this, no descriptors are reserved for starting children.
#define RESERVING_LIMIT ((rlim_t)4 * WORD_BITS)

static int prepare(posix_spawnattr_t *attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  int result = posix_spawnattr_setsigmask(attributes, &none);
  if (result == 0) result = posix_spawnattr_setsigdefault(attributes, &all);
  if (result == 0) result = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return result;
}

// Starts a child, which inherits the calling thread's descriptors after the changes of `actions`.
static int spawn(const char *path, char *const *arguments, const posix_spawn_file_actions_t *actions,
                 int32_t *ret_pid) {
  posix_spawnattr_t attributes;
  int result = posix_spawnattr_init(&attributes);
  if (result != 0) return result;
  // Disable Swift's own backtracer in the child, because it would make system calls that the child's sandbox forbids.
  static char backtracer[] = "SWIFT_BACKTRACE=enable=no";
  char *const environment[] = {backtracer, NULL};
  pid_t pid = 0;
  result = prepare(&attributes);
  if (result == 0) result = posix_spawn(&pid, path, actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  if (result == 0) *ret_pid = pid;
  return result;
}

// Starts children from a thread with a private descriptor table that contains only the child's three descriptors.
//
// A child with a copy of this process's whole descriptor table would have to close the inherited descriptors. Closing a
// file calls the file system of the file, which possibly never answers. An unrelated file could therefore block the
// child, and the caller that waits for the child's start.
//
// The thread gets its private descriptor table in three steps. First, the child's three descriptors are sent into a
// socket whose number is lower than the numbers of all other files. Second, the thread replaces the shared table with a
// private table that ends at the socket's number. Third, the thread receives the three descriptors from the socket. The
// kernel copies a table in words of 64 descriptors, and then closes the excess descriptors (close_range with
// CLOSE_RANGE_UNSHARE, in Linux 5.9 to 6.18). The excess descriptors must not refer to other files either, because
// closing them could block. Therefore all numbers up to the end of the word that contains the socket are reserved
// before main(), and never become free.
typedef struct spawner {
  const char *path;
  char *const *arguments;
  int channel; // the socket, which has the reserved number
  int result;
  int32_t pid;
  bool is_done;
} spawner;

static pthread_mutex_t spawning = PTHREAD_MUTEX_INITIALIZER; // serializes starts, because only one number is reserved
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;     // protects `is_done`
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int reserved = -1; // the last number of a word of 64; refers to /dev/null, or to the socket during a start

// Reserves the descriptor numbers for starting children. This function runs before main(), when only inherited
// descriptors are open. If the limit of descriptors is low, this function does not reserve any numbers, and a file
// system that hangs can block a child.
__attribute__((constructor)) static void reserve(void) {
  struct rlimit limit = {0};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < RESERVING_LIMIT) return;
  int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (number >= 0 && (number + 1) % WORD_BITS != 0)
    number = fcntl(number, F_DUPFD_CLOEXEC, 0);
  reserved = number;
}

int cd_close(int descriptor) {
  // Duplicate /dev/null onto the number instead of closing it. The number must never be free, because another file
  // could get it.
  const bool is_kept = descriptor < reserved && dup3(reserved, descriptor, O_CLOEXEC) == descriptor;
  return is_kept ? 0 : close(descriptor);
}

static int receive_three(int channel) {
  char byte;
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(3 * sizeof(int))];
  } control;
  struct iovec vector = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  // Close 0, 1 and 2 first, because recvmsg gives the received descriptors the lowest free numbers, in order.
  for (int number = 0; number < 3; number++)
    close(number);
  if (recvmsg(channel, &message, MSG_DONTWAIT) != 1) return errno;
  const int expected[3] = {0, 1, 2};
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  const bool is_right = header != NULL && header->cmsg_len == CMSG_LEN(sizeof expected) &&
                        memcmp(CMSG_DATA(header), expected, sizeof expected) == 0;
  return is_right ? 0 : EPROTO;
}

static void *run_spawner(void *context) {
  spawner *const own = context;
  int result = 0;
  if (syscall(SYS_close_range, own->channel + 1, ~0u, CLOSE_RANGE_UNSHARE_FLAG) != 0) result = errno;
  // The descriptor table is private to this thread after close_range.
  if (result == 0) result = receive_three(own->channel);
  if (result == 0 && syscall(SYS_close_range, 3u, ~0u, 0u) != 0) result = errno;
  if (result == 0) result = spawn(own->path, own->arguments, NULL, &own->pid);
  pthread_mutex_lock(&lock);
  own->result = result;
  own->is_done = true;
  pthread_cond_broadcast(&done);
  pthread_mutex_unlock(&lock);
  // Do not join this thread, because at its end the kernel closes the child's files, which can block.
  return NULL;
}

static int send_three(int socket, int input, int output, int error) {
  const int descriptors[3] = {input, output, error};
  return cd_socket_send(socket, "", 1, descriptors, 3);
}

static int start_spawner(spawner *own) {
  pthread_t thread;
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, SPAWNER_STACK_BYTES);
  result = pthread_create(&thread, &attributes, run_spawner, own);
  pthread_attr_destroy(&attributes);
  if (result != 0) return result;
  pthread_mutex_lock(&lock);
  while (!own->is_done)
    pthread_cond_wait(&done, &lock);
  pthread_mutex_unlock(&lock);
  return own->result;
}

// Starts a child if no number is reserved. In this case, the child itself closes the descriptors that it inherits.
static int spawn_here(const char *path, char *const *arguments, const int *three, int32_t *ret_pid) {
  posix_spawn_file_actions_t actions;
  // Reject descriptors below 3. For a descriptor that has its target number already, dup2 would keep close-on-exec. A
  // dup2 could also overwrite the source of the next dup2.
  if (three[0] < 3 || three[1] < 3 || three[2] < 3) return EINVAL;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return result;
  for (int number = 0; number < 3 && result == 0; number++)
    result = posix_spawn_file_actions_adddup2(&actions, three[number], number);
  if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (result == 0) result = spawn(path, arguments, &actions, ret_pid);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

int cd_spawn(const char *path, char *const *arguments, int input, int output, int error, int32_t *ret_pid) {
  if (reserved < 0) return spawn_here(path, arguments, (const int[3]){input, output, error}, ret_pid);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  pthread_mutex_lock(&spawning);
  int result = send_three(ends[0], input, output, error);
  if (result == 0 && dup3(ends[1], reserved, O_CLOEXEC) < 0) result = errno;
  spawner own = {.path = path, .arguments = arguments, .channel = reserved};
  if (result == 0) result = start_spawner(&own);
  pthread_mutex_unlock(&spawning);
  close(ends[0]);
  close(ends[1]);
  if (result == 0) *ret_pid = own.pid;
  return result;
}

int cd_pipe_create(int *ret_reader, int *ret_writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno;
  }
  *ret_reader = ends[0];
  *ret_writer = ends[1];
  return 0;
}

void cd_thread_set_name(const char *name) {
  pthread_setname_np(pthread_self(), name);
}

static uint64_t nanoseconds(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

int cd_child_status(int32_t pid, int *ret_status, uint64_t *ret_cpu_ns) {
  int status = 0;
  struct rusage usage = {0};
  pid_t result;
  do
    result = wait4(pid, &status, WNOHANG, &usage);
  while (result < 0 && errno == EINTR);
  if (result < 0) return errno;
  if (result == 0) return EAGAIN;
  *ret_cpu_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
  *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return 0;
}
