// Child processes that crash, their directories, and code that acts as crashd on the attach socket.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cs_attach.h"
#include "cs_ring_access.h"
#include "cs_shim.h"
#include "ways.h"

// The time limit of a wait. Only a failing test reaches it, even on a machine that stalls for minutes.
#define PATIENCE_MS 300000

int cs_test_fork_with_descriptors(void) {
  const int child = fork();
  if (child != 0) return child;
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // The child must not inherit the signal handlers that the Swift runtime of the test process has installed.
  for (int signal_number = 1; signal_number < 32; signal_number++)
    signal(signal_number, SIG_DFL);
  sigset_t nothing;
  sigemptyset(&nothing);
  sigprocmask(SIG_SETMASK, &nothing, NULL);
  return 0;
}

int cs_test_fork(void) {
  const int child = cs_test_fork_with_descriptors();
  // Closes the descriptors of other tests that the child has inherited. Otherwise the locks of these tests would stay
  // held, their listeners would stay open, and the readers of their pipes would wait forever.
  if (child == 0) close_range(3, ~0U, 0);
  return child;
}

int cs_test_wait(int child) {
  int status = 0;
  const int descriptor = pidfd_open(child, 0);
  struct pollfd wait = {.fd = descriptor, .events = POLLIN};
  int ready = 0;
  do {
    ready = poll(&wait, 1, PATIENCE_MS);
  } while (ready < 0 && errno == EINTR);
  close(descriptor);
  if (ready != 1) kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return ready == 1 ? status : -1;
}

bool cs_test_can_run(void) {
#if __has_feature(thread_sanitizer)
  return false;
#else
  return true;
#endif
}

bool cs_test_gives_stacks(void) {
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
  return false;
#else
  return true;
#endif
}

int cs_test_run(cs_test_way way, const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(cs_test_way_run(way, directory));
  return cs_test_wait(child);
}

int cs_test_listen(const char *directory) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/attach", directory);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4) != 0) {
    close(listener);
    return -1;
  }
  return listener;
}

// Receives one message within PATIENCE_MS. Returns the size of the message, 0 if the peer has closed the connection, or
// -1 if no message arrives.
static ssize_t receive(int socket_number, struct msghdr *message) {
  struct pollfd wait = {.fd = socket_number, .events = POLLIN};
  if (poll(&wait, 1, PATIENCE_MS) != 1) return -1;
  return recvmsg(socket_number, message, MSG_CMSG_CLOEXEC);
}

// If the condition does not hold, returns the line number from the function that contains this macro.
#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) return __LINE__;                                                                                 \
  } while (0)

int cs_test_check_hello(int connection, int *ret_ring) {
  cs_attach_hello hello;
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))];
  struct iovec part = {&hello, sizeof hello};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  REQUIRE(receive(connection, &message) == (ssize_t)sizeof hello);
  REQUIRE(hello.magic == CS_ATTACH_MAGIC && hello.version == CS_ATTACH_VERSION);
  REQUIRE(hello.ring_version == CS_RING_VERSION && hello.ring_bytes == sizeof(cs_ring));
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  REQUIRE(header != NULL && header->cmsg_type == SCM_RIGHTS);
  const uint32_t count = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  REQUIRE(count == hello.image_count + 1 && hello.image_count >= 1);
  int descriptors[253];
  memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
  for (uint32_t index = 1; index < count; index++)
    close(descriptors[index]);
  *ret_ring = descriptors[0];
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  REQUIRE((fcntl(descriptors[0], F_GET_SEALS) & seals) == seals);
  return 0;
}

// Pass false for `replies` if the signal handler has connected to crashd: the handler does not read the reply, and an
// unread reply would make crashd's end see a connection reset instead of the end of the connection.
static int check_crash(int connection, const cs_ring *ring, bool replies) {
  const cs_attach_reply reply = {.magic = CS_ATTACH_MAGIC,
                                 .version = CS_ATTACH_VERSION,
                                 .status = CS_ATTACH_STATUS_ACCEPTED,
                                 .ring_version = CS_RING_VERSION};
  REQUIRE(ring->header.magic == CS_RING_MAGIC && ring->header.image_count > 0);
  if (replies) REQUIRE(send(connection, &reply, sizeof reply, MSG_NOSIGNAL) == (ssize_t)sizeof reply);
  uint8_t byte = 0;
  struct iovec part = {&byte, sizeof byte};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  REQUIRE(receive(connection, &message) == 1 && byte == CS_ATTACH_CRASHED);
  const uint64_t state = cs_ring_slot_state_acquire(&ring->slots[0]);
  REQUIRE((state & CS_RING_STATE_MASK) == CS_RING_STATE_COMMITTED);
  REQUIRE(ring->slots[0].record.signal == SIGSEGV);
  REQUIRE(receive(connection, &message) == 1 && byte == CS_ATTACH_CRASHED);
  REQUIRE(__atomic_load_n(&ring->header.sweep, __ATOMIC_ACQUIRE) == CS_RING_SWEEP_DONE);
  REQUIRE(receive(connection, &message) == 0); // the process has ended
  return 0;
}

static int serve(int listener, bool replies) {
  struct pollfd wait = {.fd = listener, .events = POLLIN};
  REQUIRE(poll(&wait, 1, PATIENCE_MS) == 1);
  const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  int ring_descriptor = -1;
  int line = cs_test_check_hello(connection, &ring_descriptor);
  if (line == 0) {
    void *memory = mmap(NULL, sizeof(cs_ring), PROT_READ, MAP_SHARED, ring_descriptor, 0);
    line = memory == MAP_FAILED ? __LINE__ : check_crash(connection, memory, replies);
    if (memory != MAP_FAILED) munmap(memory, sizeof(cs_ring));
  }
  if (ring_descriptor >= 0) close(ring_descriptor);
  close(connection);
  return line;
}

int cs_test_run_attached(cs_test_way way, const char *directory, int *ret_wait_status) {
  const int listener = cs_test_listen(directory);
  if (listener < 0) return __LINE__;
  const int child = cs_test_fork();
  if (child == 0) _exit(cs_test_way_run(way, directory));
  const int line = serve(listener, true);
  close(listener);
  *ret_wait_status = cs_test_wait(child);
  return line;
}

// Blocks the thread of the shield that reports statuses and connects to crashd.
static void stay_in_callback(void *told, cs_shim_status status, const char *text) {
  (void)status;
  (void)text;
  if (write(*(int *)told, "x", 1) != 1) _exit(95);
  for (;;)
    pause();
}

static void crash_when_asked(const char *directory, int told, int asked) {
  char path[256];
  char spool[256];
  char byte;
  snprintf(path, sizeof path, "%s/attach", directory);
  snprintf(spool, sizeof spool, "%s/spool", directory);
  const cs_shim_configuration configuration = {
      .socket_path = path, .spool_directory = spool, .status_function = stay_in_callback, .status_context = &told};
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK || read(asked, &byte, 1) != 1) _exit(96);
  raise(SIGSEGV);
}

int cs_test_run_crash_connects(const char *directory, int *ret_wait_status) {
  int told[2];
  int asked[2];
  char byte = 0;
  if (pipe2(told, O_CLOEXEC) != 0 || pipe2(asked, O_CLOEXEC) != 0) return __LINE__;
  const int child = cs_test_fork_with_descriptors();
  if (child == 0) crash_when_asked(directory, told[1], asked[0]);
  struct pollfd wait = {.fd = told[0], .events = POLLIN};
  int line = poll(&wait, 1, PATIENCE_MS) == 1 ? 0 : __LINE__;
  const int listener = cs_test_listen(directory);
  if (line == 0 && (listener < 0 || write(asked[1], &byte, 1) != 1)) line = __LINE__;
  if (line == 0) line = serve(listener, false);
  close(listener);
  for (int index = 0; index < 2; index++) {
    close(told[index]);
    close(asked[index]);
  }
  *ret_wait_status = cs_test_wait(child);
  return line;
}

char *cs_test_make_directory(void) {
  char *path = strdup("/tmp/csXXXXXX");
  return path != NULL ? mkdtemp(path) : NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status;
  (void)kind;
  (void)place;
  return remove(path);
}

bool cs_test_remove_directory(char *path) {
  const bool is_removed = nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0;
  free(path);
  return is_removed;
}
