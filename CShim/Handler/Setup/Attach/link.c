// Manages the descriptors of the connection to crashd. They belong to the connection's thread (link.h). This file makes
// system calls without libc's functions, because the thread sanitizer intercepts those functions. The connection's
// thread has its own descriptor table. The sanitizer would confuse a descriptor of this table with the program's
// descriptor of the same number.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "link.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>

#include "../setup.h"

#include "../../Signal/Deliver/deliver.h"
#include "../../Signal/Deliver/news.h"
#include "../../Signal/Kernel/descriptors.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
// The minimum time between two messages that wake crashd for incidents.
#define HOLD_NS 250000000L

static bool is_separate;     // whether this thread has its own descriptor table
static int listening = -1;   // a signalfd, which becomes readable when cs_link_wake sends its signal; -1: none
static int connected = -1;   // the connection
static bool announces;       // whether this thread wakes crashd for new incidents
static bool is_held;         // whether a pause runs: no incident is announced until the time `held` has passed
static struct timespec held; // the remaining time of the pause, initially HOLD_NS

static int listen_for_bell(void) {
  const uint64_t bell = UINT64_C(1) << (CS_OWN_BELL - 1);
  cs_sigmask(SIG_BLOCK, &bell);
  const int flags = SFD_CLOEXEC | SFD_NONBLOCK;
  const long number = cs_system_call(SYS_signalfd4, -1, (long)&bell, CS_KERNEL_SIGNAL_SET_BYTES, flags, 0, 0);
  return cs_descriptor_raise((int)number);
}

void cs_link_separate(void) {
  const int kept[] = {cs_process.ring_descriptor.number, __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE)};
  listening = connected = -1;
  is_separate = cs_descriptors_separate_keeping(kept, sizeof kept / sizeof kept[0]);
  if (!is_separate) return;
  // The descriptors are checked in this thread's own table, in which other threads cannot reuse the numbers. If the
  // program closed a descriptor of the shield before the table was copied, the number can refer to a file of the
  // program. This thread closes its copy, which would keep the program's file open.
  if (!cs_descriptor_is_ours(&cs_process.ring_descriptor)) cs_close(kept[0]);
  if (!cs_connection_is_ours(kept[1])) cs_close(kept[1]);
  listening = listen_for_bell();
}

bool cs_link_can_be_woken(void) {
  return __atomic_load_n(&listening, __ATOMIC_RELAXED) >= 0;
}

void cs_link_wake(void) {
  const int tid = cs_own_tid(CS_OWN_LINK);
  if (tid != 0 && cs_link_can_be_woken()) cs_system_call(SYS_tgkill, cs_getpid(), tid, CS_OWN_BELL, 0, 0, 0);
}

int cs_link_first_connection(void) {
  const int number = __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE);
  return cs_connection_is_ours(number) ? number : -1;
}

uint64_t cs_link_inode(int socket) {
  struct stat status = {0};
  return cs_fstat(socket, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

int cs_link_use(int socket) {
  if (!is_separate && socket != cs_link_first_connection()) {
    cs_connection_publish(socket);
    socket = cs_link_first_connection();
  }
  connected = socket;
  return socket;
}

void cs_link_drop(void) {
  // If the thread shares the program's table, the descriptor stays open until the next connection gets its number
  // (cs_connection_publish).
  if (is_separate && connected >= 0) cs_close(connected);
  connected = -1;
}

bool cs_link_is_ours(int socket) {
  return is_separate || cs_connection_is_ours(socket);
}

// Wakes crashd because a thread has crashed, if the crash handler requested this. The handler does so if it found no
// connection in the program's descriptor table.
static void wake_for_crash(int socket) {
  uint32_t number = 0;
  const uint8_t byte = CS_ATTACH_CRASHED;
  if (socket < 0 || !cs_own_link_is_asked(&number)) return;
  const long result = cs_send(socket, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result == (long)sizeof byte || result == -EAGAIN) cs_own_link_has_woken(number);
}

void cs_link_announce_incidents(bool does) {
  announces = does && cs_link_can_be_woken();
  is_held = false;
  if (announces) {
    cs_news_listen(cs_gettid());
  } else {
    cs_news_ignore();
  }
}

// Wakes crashd if there are new incidents, and starts the pause before the next wake-up.
static void announce_incidents(int socket) {
  const uint8_t byte = CS_ATTACH_INCIDENTS;
  if (!announces || is_held || !cs_news_take()) return;
  // If sending fails, for example because the socket's buffer is full, cs_news_add() marks the incidents as new again.
  // They are announced again after HOLD_NS. cs_news_add() sends a wake-up signal to this thread, but not if this thread
  // is itself the caller.
  if (cs_send(socket, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL) != (long)sizeof byte) cs_news_add();
  held = (struct timespec){.tv_nsec = HOLD_NS};
  is_held = true;
}

// Waits once. Returns true if the socket is ready, and false after a wake-up signal, another signal, the timeout or a
// failure. Sets `ret_is_over` to true after a timeout or a failure.
static bool wait_once(int socket, struct timespec *at_most, bool *ret_is_over) {
  struct pollfd waits[] = {{.fd = socket, .events = POLLIN}, {.fd = listening, .events = POLLIN}};
  // Incidents are announced only in waits without a time limit, because only these waits measure the pause between two
  // announcements. During a wait with a limit, the kernel subtracts the elapsed time from `at_most`.
  if (at_most == NULL) announce_incidents(socket);
  const bool ends_hold = at_most == NULL && is_held;
  if (ends_hold) at_most = &held;
  const long ready = cs_system_call(SYS_ppoll, (long)waits, 2, (long)at_most, 0, CS_KERNEL_SIGNAL_SET_BYTES, 0);
  // The pause also ends if its remaining time is 0: with frequent messages, ppoll can return for a message each time
  // and never report the timeout.
  if (ends_hold && (ready == 0 || held.tv_nsec == 0)) is_held = false;
  *ret_is_over = (ready == 0 && !ends_hold) || (ready < 0 && ready != -EINTR) || cs_own_are_dismissed();
  struct signalfd_siginfo rung;
  if (ready > 0 && waits[1].revents != 0) {
    cs_read(listening, &rung, sizeof rung);
    wake_for_crash(socket);
  }
  return ready > 0 && !*ret_is_over && waits[0].revents != 0;
}

bool cs_link_wait(int socket, int timeout_ms) {
  struct timespec left = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * (long)NS_PER_MS};
  bool is_over = cs_own_are_dismissed();
  while (!is_over) {
    // If this thread shares the program's descriptor table, the program can close the descriptor during the wait. The
    // number can then refer to a socket of the program, whose data this thread must not read.
    if (wait_once(socket, timeout_ms < 0 ? NULL : &left, &is_over)) return cs_link_is_ours(socket);
  }
  return false;
}

void cs_link_pause(uint64_t duration_ns) {
  // The kernel subtracts the elapsed time, so a wait that a signal interrupted continues with the remaining time. A
  // profiler's SIGPROF therefore does not shorten the pause.
  struct timespec left = {.tv_sec = (time_t)(duration_ns / NS_PER_S), .tv_nsec = (long)(duration_ns % NS_PER_S)};
  bool is_over = cs_own_are_dismissed();
  while (!is_over)
    (void)wait_once(-1, &left, &is_over);
}

#endif
