// Processes that record incidents, and code that acts as crashd on their connection.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cs_attach.h"
#include "cs_ring_access.h"
#include "cs_shim.h"
#include "ways.h"

// The time limit of a wait. Only a failing test reaches it, even on a machine that stalls for minutes.
#define PATIENCE_MS 300000
#define NS_PER_S    UINT64_C(1000000000)
// The pause between two wake-ups, as in CShim/Handler/Setup/Attach/link.c.
#define HOLD_NS   (NS_PER_S / 4)
#define INCIDENTS 100000

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) return __LINE__;                                                                                 \
  } while (0)

typedef struct pipes {
  int told[2];
  int asked[2];
} pipes;

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void record(uint32_t word) {
  const cs_ring_incident incident = {.source = CS_RING_INCIDENT_GUARD,
                                     .kind = 1,
                                     .mode = CS_MODE_ABSORB,
                                     .word = word,
                                     .subject_bytes = 1,
                                     .subject = "x"};
  cs_shim_incident(&incident);
}

static void record_in_handler(int signal_number) {
  record((uint32_t)signal_number);
}

// Records incidents until there are at least INCIDENTS, for at least a second. Returns the time that this took.
static uint64_t record_many(void) {
  const uint64_t start_ns = now_ns();
  for (uint32_t count = 0; count < INCIDENTS || now_ns() - start_ns < NS_PER_S; count++)
    record(count % 8);
  return now_ns() - start_ns;
}

// Records one incident at a time at which the kernel cannot queue a signal for this process. Then records one incident
// for each byte that the test sends, until the test closes its pipe.
static int record_without_queue(const pipes *pipes) {
  struct rlimit limit;
  char byte;
  REQUIRE(getrlimit(RLIMIT_SIGPENDING, &limit) == 0);
  const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
  while (read(pipes->asked[0], &byte, 1) == 1) {
    record(1);
    REQUIRE(setrlimit(RLIMIT_SIGPENDING, &limit) == 0);
    REQUIRE(write(pipes->told[1], "x", 1) == 1);
  }
  return 0;
}

static int child(cs_test_incident_way way, const char *directory, const pipes *pipes) {
  char byte;
  // In the child, closes the test's ends of the pipes. Otherwise a pipe would stay open after the test has closed it.
  close(pipes->told[0]);
  close(pipes->asked[1]);
  cs_test_start(directory);
  switch (way) {
  case CS_TEST_INCIDENT_MANY: {
    record(1);
    REQUIRE(read(pipes->asked[0], &byte, 1) == 1);
    const uint64_t took_ns = record_many();
    REQUIRE(write(pipes->told[1], &took_ns, sizeof took_ns) == (ssize_t)sizeof took_ns);
    break;
  }
  case CS_TEST_INCIDENT_IN_HANDLER:
    signal(SIGUSR1, record_in_handler);
    raise(SIGUSR1);
    break;
  case CS_TEST_INCIDENT_OLD_CRASHD:
    record(1);
    REQUIRE(read(pipes->asked[0], &byte, 1) == 1);
    record(2);
    raise(SIGSEGV);
    break;
  case CS_TEST_INCIDENT_ASIDE:
    record(1);
    REQUIRE(read(pipes->asked[0], &byte, 1) == 1);
    REQUIRE(unshare(CLONE_NEWUSER) == 0);
    record(2);
    break;
  case CS_TEST_INCIDENT_NO_QUEUE:
    return record_without_queue(pipes);
  }
  // The process ends when the test, which acts as crashd, has read all incidents.
  REQUIRE(read(pipes->asked[0], &byte, 1) == 1);
  return 0;
}

static bool receive_byte(int connection, uint8_t *ret_byte) {
  struct pollfd wait = {.fd = connection, .events = POLLIN};
  return poll(&wait, 1, PATIENCE_MS) == 1 && recv(connection, ret_byte, 1, MSG_DONTWAIT) == 1;
}

static uint64_t count_of(const cs_ring *ring) {
  uint64_t count = __atomic_load_n(&ring->header.incident_lost, __ATOMIC_RELAXED);
  for (uint32_t index = 0; index < CS_RING_INCIDENT_LIMIT; index++)
    count += __atomic_load_n(&ring->incidents[index].count, __ATOMIC_RELAXED);
  return count;
}

// Acts as crashd: counts the wake-up bytes that the process sends until the ring's last incident is read.
static int count_wakes(int connection, const cs_ring *ring, const pipes *pipes) {
  struct pollfd waits[] = {{.fd = connection, .events = POLLIN}, {.fd = pipes->told[0], .events = POLLIN}};
  uint64_t took_ns = 0;
  uint64_t wakes = 0;
  uint64_t read_count = 0;
  uint8_t byte = 0;
  while (took_ns == 0 || read_count < count_of(ring)) {
    REQUIRE(poll(waits, 2, PATIENCE_MS) > 0);
    if (took_ns == 0 && waits[1].revents != 0) {
      REQUIRE(read(pipes->told[0], &took_ns, sizeof took_ns) == (ssize_t)sizeof took_ns);
      waits[1].fd = -1;
    }
    if (waits[0].revents == 0) continue;
    REQUIRE(recv(connection, &byte, 1, MSG_DONTWAIT) == 1 && byte == CS_ATTACH_INCIDENTS);
    wakes++;
    read_count = count_of(ring);
  }
  REQUIRE(read_count >= INCIDENTS);
  // At most one wake-up for each HOLD_NS, one at the start, and one after the last incident.
  REQUIRE(wakes <= took_ns / HOLD_NS + 2);
  return 0;
}

static bool announces(const cs_ring *ring) {
  return __atomic_load_n(&ring->header.announces_incidents, __ATOMIC_RELAXED) != 0;
}

static int check_queue(int connection, const cs_ring *ring, const pipes *pipes) {
  struct pollfd wait = {.fd = connection, .events = POLLIN};
  uint8_t byte = 0;
  for (int tries = 0; tries < PATIENCE_MS && !announces(ring); tries++)
    poll(NULL, 0, 1);
  REQUIRE(write(pipes->asked[1], "x", 1) == 1 && read(pipes->told[0], &byte, 1) == 1);
  REQUIRE(!announces(ring));
  // The connection's thread can have detected the first incident itself, without a signal. In this case, it delays the
  // wake-ups for the next incidents.
  for (int tries = 0; tries < 100 && !announces(ring); tries++) {
    while (poll(&wait, 1, 2 * (int)(HOLD_NS / 1000000)) == 1)
      REQUIRE(receive_byte(connection, &byte) && byte == CS_ATTACH_INCIDENTS);
    REQUIRE(write(pipes->asked[1], "x", 1) == 1 && read(pipes->told[0], &byte, 1) == 1);
  }
  REQUIRE(announces(ring) && receive_byte(connection, &byte) && byte == CS_ATTACH_INCIDENTS);
  return 0;
}

static int follow(cs_test_incident_way way, int connection, const cs_ring *ring, const pipes *pipes) {
  cs_attach_reply reply = {.magic = CS_ATTACH_MAGIC,
                           .version = CS_ATTACH_VERSION,
                           .status = CS_ATTACH_STATUS_ACCEPTED,
                           .ring_version = CS_RING_VERSION,
                           .flags = way == CS_TEST_INCIDENT_OLD_CRASHD ? 0 : CS_ATTACH_TAKES_INCIDENTS};
  uint8_t byte = 0;
  REQUIRE(send(connection, &reply, sizeof reply, MSG_NOSIGNAL) == (ssize_t)sizeof reply);
  if (way == CS_TEST_INCIDENT_OLD_CRASHD) {
    REQUIRE(write(pipes->asked[1], "x", 1) == 1);
    REQUIRE(receive_byte(connection, &byte) && byte == CS_ATTACH_CRASHED);
    REQUIRE(__atomic_load_n(&ring->header.announces_incidents, __ATOMIC_RELAXED) == 0);
    return 0;
  }
  if (way == CS_TEST_INCIDENT_NO_QUEUE) return check_queue(connection, ring, pipes);
  REQUIRE(receive_byte(connection, &byte) && byte == CS_ATTACH_INCIDENTS && count_of(ring) == 1);
  REQUIRE(__atomic_load_n(&ring->header.announces_incidents, __ATOMIC_RELAXED) == 1);
  if (way == CS_TEST_INCIDENT_MANY || way == CS_TEST_INCIDENT_ASIDE) REQUIRE(write(pipes->asked[1], "x", 1) == 1);
  if (way == CS_TEST_INCIDENT_ASIDE) {
    REQUIRE(receive_byte(connection, &byte) && byte == CS_ATTACH_INCIDENTS && count_of(ring) == 2);
  }
  if (way == CS_TEST_INCIDENT_MANY) {
    const int line = count_wakes(connection, ring, pipes);
    if (line != 0) return line;
  }
  REQUIRE(write(pipes->asked[1], "x", 1) == 1);
  return 0;
}

static int serve(cs_test_incident_way way, int listener, const pipes *pipes) {
  struct pollfd wait = {.fd = listener, .events = POLLIN};
  REQUIRE(poll(&wait, 1, PATIENCE_MS) == 1);
  const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  int ring_descriptor = -1;
  int line = cs_test_check_hello(connection, &ring_descriptor);
  if (line == 0) {
    void *memory = mmap(NULL, sizeof(cs_ring), PROT_READ, MAP_SHARED, ring_descriptor, 0);
    line = memory == MAP_FAILED ? __LINE__ : follow(way, connection, memory, pipes);
    if (memory != MAP_FAILED) munmap(memory, sizeof(cs_ring));
  }
  if (ring_descriptor >= 0) close(ring_descriptor);
  close(connection);
  return line;
}

int cs_test_run_incidents(cs_test_incident_way way, const char *directory, int *ret_wait_status) {
  pipes pipes;
  if (pipe2(pipes.told, O_CLOEXEC) != 0 || pipe2(pipes.asked, O_CLOEXEC) != 0) return __LINE__;
  const int listener = cs_test_listen(directory);
  if (listener < 0) return __LINE__;
  const int process = cs_test_fork_with_descriptors();
  if (process == 0) _exit(child(way, directory, &pipes) == 0 ? 0 : 1);
  const int line = serve(way, listener, &pipes);
  close(listener);
  for (int index = 0; index < 2; index++) {
    close(pipes.told[index]);
    close(pipes.asked[index]);
  }
  *ret_wait_status = cs_test_wait(process);
  return line;
}
