#include "link.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>

#include "setup.h"

#include "../Signal/deliver.h"
#include "../Signal/descriptors.h"
#include "../Signal/trusted.h"

#define NS_PER_MS UINT64_C(1000000)

// What wakes the thread: the signal that glibc cancels threads with. glibc sends it to one thread alone and lets no
// program block, handle or wait for it; nothing cancels this thread, which blocks it and reads it from a descriptor.
#define BELL 32

static bool is_separate;   // the thread has its own table
static int listening = -1; // there: the descriptor that the bell makes readable
static int connected = -1; // the connection

static int listen_for_bell(void) {
  const uint64_t bell = UINT64_C(1) << (BELL - 1);
  cs_sigmask(SIG_BLOCK, &bell);
  const int flags = SFD_CLOEXEC | SFD_NONBLOCK;
  return (int)cs_system_call(SYS_signalfd4, -1, (long)&bell, CS_KERNEL_SIGNAL_SET_BYTES, flags, 0, 0);
}

void cs_link_separate(void) {
  const int kept[] = {cs_process.ring_descriptor.number, __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE)};
  listening = connected = -1;
  is_separate = cs_descriptors_separate_keeping(kept, sizeof kept / sizeof kept[0]);
  if (!is_separate) return;
  // Looked at here, where nobody else gives the numbers to other files. A file of the program's must not stay open.
  if (!cs_descriptor_is_ours(&cs_process.ring_descriptor)) cs_close(kept[0]);
  if (!cs_connection_is_ours(kept[1])) cs_close(kept[1]);
  listening = listen_for_bell();
}

bool cs_link_can_be_woken(void) {
  return __atomic_load_n(&listening, __ATOMIC_RELAXED) >= 0;
}

void cs_link_wake(void) {
  const int tid = cs_own_tid(CS_OWN_LINK);
  if (tid != 0 && cs_link_can_be_woken()) cs_system_call(SYS_tgkill, cs_getpid(), tid, BELL, 0, 0, 0);
}

int cs_link_first_connection(void) {
  const int number = __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE);
  return cs_connection_is_ours(number) ? number : -1;
}

uint64_t cs_link_inode(int socket) {
  struct stat status = {0};
  return fstat(socket, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

void cs_link_use(int socket) {
  if (!is_separate && socket != cs_link_first_connection()) {
    cs_connection_publish(socket);
    socket = cs_link_first_connection();
  }
  connected = socket;
}

void cs_link_drop(void) {
  // In the program's table the next one takes its place (cs_connection_publish).
  if (is_separate && connected >= 0) close(connected);
  connected = -1;
}

bool cs_link_is_ours(int socket) {
  return is_separate || cs_connection_is_ours(socket);
}

// true: the socket is ready. false: the bell, a signal, the time, or a failure; over the last two nothing is to wait.
static bool wait_once(int socket, int timeout_ms, bool *ret_is_over) {
  struct pollfd waits[] = {{.fd = socket, .events = POLLIN}, {.fd = listening, .events = POLLIN}};
  const int ready = poll(waits, 2, timeout_ms);
  *ret_is_over = ready == 0 || (ready < 0 && errno != EINTR) || cs_own_are_dismissed();
  struct signalfd_siginfo rung;
  if (ready > 0 && waits[1].revents != 0) (void)!read(listening, &rung, sizeof rung);
  return ready > 0 && !*ret_is_over && waits[0].revents != 0;
}

bool cs_link_wait(int socket, int timeout_ms) {
  bool is_over = cs_own_are_dismissed();
  while (!is_over) {
    // Without a table of our own: the kernel waits for the file that was there at first. A program that closed it
    // meanwhile may have a socket of its own at that number, and its data are not ours to take.
    if (wait_once(socket, timeout_ms, &is_over)) return cs_link_is_ours(socket);
  }
  return false;
}

void cs_link_pause(uint64_t duration_ns) {
  const uint64_t end_ns = cs_clock_ns(CLOCK_MONOTONIC) + duration_ns;
  bool is_over = cs_own_are_dismissed();
  // A profiler's SIGPROF, which this thread leaves open, must not make each pause a short one.
  for (uint64_t now_ns = end_ns - duration_ns; now_ns < end_ns && !is_over; now_ns = cs_clock_ns(CLOCK_MONOTONIC)) {
    const uint64_t left_ms = (end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    (void)wait_once(-1, left_ms < INT_MAX ? (int)left_ms : INT_MAX, &is_over);
  }
}
