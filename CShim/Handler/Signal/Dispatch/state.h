// The handler's state, prepared by the setup: the handler looks nothing up and allocates nothing.
#ifndef CS_STATE_H
#define CS_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "../Capture/task.h"
#include "../Kernel/system_call.h"
#include "../Unwind/cfi.h"
#include "cs_attach.h"
#include "cs_ring.h"

#define CS_SIGNAL_COUNT 65

// A descriptor and its file: a program that closes unknown descriptors may have reused our number for a file of its
// own, which we must not touch.
typedef struct cs_descriptor {
  int number; // -1 when there is none
  uint64_t device;
  uint64_t inode;
} cs_descriptor;

// Constant once the handlers are installed, unless a field's comment differs.
typedef struct cs_state {
  cs_ring *ring;
  int pid;        // the process that started us; 0 before. A forked child differs.
  uint32_t user;  // its effective user then: crashd knows the process by it
  bool is_copied; // what is delivered to crashd is left in the spool, too
  cs_descriptor ring_descriptor;
  cs_descriptor reserve; // held to be closed when a crash finds no free descriptor
  cs_descriptor spool;   // the spool directory, if there was one at the start

  struct sockaddr_un socket_address;
  uint32_t socket_address_bytes;
  char spool_parent[CS_RING_PATH_LIMIT_BYTES];
  char spool_directory[CS_RING_PATH_LIMIT_BYTES];
  char spool_path[CS_RING_PATH_LIMIT_BYTES];
  char spool_partial_path[CS_RING_PATH_LIMIT_BYTES];
  size_t spool_name_offset; // in both: where the file's name begins

  uint32_t memory_mode;      // atomic: cs_ring_memory_mode, NONE where crashd withholds it
  uint32_t memory_shown;     // atomic: what the ring's header says of it
  uint32_t is_restricted;    // atomic: the kernel would not dump this process, see privilege.h
  uint32_t busy_count;       // atomic: threads between the claim of a slot and its delivery
  int delivering_tid;        // atomic: the thread that connects or spools, 0 when none; a spool file has one writer
  uint32_t delivery_wanted;  // atomic: threads that found no connection, ever
  uint32_t delivery_done;    // atomic: how many of them are served
  uint32_t delivery_count;   // atomic: deliveries that have begun, ever
  uint32_t spooled_count;    // atomic: how many of them had begun before the last try to write the spool file
  uint32_t spooled_pending;  // atomic: records that may be withdrawn, and that a spool file was written for
  uint32_t is_refused;       // atomic: crashd does not want this process
  uint32_t sweep_ms;         // how long other threads are waited for; 0: they are not asked
  uint32_t injection_points; // cs_testing.h: where in the handler what happens
  uint32_t injection;
  uint32_t injections_awaited; // how many threads are to meet it before the watchdog's time begins
  uint32_t injections_met;     // atomic: how many have
  uint32_t test_reminder_ms;   // of the watchdog; 0: as it is configured
  uint32_t test_deadline_ms;

  uint64_t given_back; // atomic: signals that we have put back to what was before us, a bit each

  cs_kernel_action own; // our handler, as the kernel holds it

  cs_kernel_action sweep_action; // of SIGPROF while the other threads are asked

  // The following fields outlive a start. A forked child has the same runtimes, and must not call the loader, whose
  // lock another thread of its parent may have held.

  // The addresses of the runtime error messages; 0 without such a runtime.
  uint64_t swift_message;                      // address of a `const char *`
  uint64_t abort_message;                      // address of a pointer to glibc's { unsigned size; char text[]; }
  void *(*exception_type)(void)SIGNAL_SAFE;    // __cxa_current_exception_type, bound already; see exception.c
  void *(*exception_globals)(void)SIGNAL_SAFE; // __cxa_get_globals_fast
  uint64_t single_class;                       // the virtual tables of the type_info of a class with one base
  uint64_t multiple_class;                     // and of one with several, or a virtual one
  uint64_t cxx_runtime_start;                  // the image of __cxa_current_exception_type
  uint64_t cxx_runtime_end;

  cs_task_layout task_layout;
  uint64_t first_stack_end; // where the first thread's stack begins: above stand its arguments and environment

  // The actions before our handlers, which a forked child inherits.
  cs_kernel_action previous[CS_SIGNAL_COUNT];
} cs_state;

extern cs_state cs_process;

// Relaxed: it is independent, and each part of a record may use the value of its own time.
static inline uint32_t cs_memory_mode(void) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) != 0) return CS_RING_MEMORY_NONE;
  return __atomic_load_n(&cs_process.memory_mode, __ATOMIC_RELAXED);
}

// Writes it into the ring's header.
static inline void cs_memory_mode_show(void) SIGNAL_SAFE {
  const uint32_t shown = __atomic_load_n(&cs_process.memory_shown, __ATOMIC_RELAXED);
  const bool is_restricted = __atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) != 0;
  __atomic_store_n(&cs_process.ring->header.memory_mode, is_restricted ? (uint32_t)CS_RING_MEMORY_NONE : shown,
                   __ATOMIC_RELAXED);
}

// The pid of the process whose handlers are installed; 0 if none are. Atomic.
extern int cs_started_pid;

// The ring if this process, or the one that it was forked from, has started; else NULL.
static inline cs_ring *cs_started_ring(void) SIGNAL_SAFE {
  // acquire: pairs with the release store at the end of a start.
  return __atomic_load_n(&cs_started_pid, __ATOMIC_ACQUIRE) != 0 ? cs_process.ring : NULL;
}

// The connection to crashd, written by the idle thread and by a crashing thread that had to connect itself.
// number, then inode: see connection.c.
typedef struct cs_connection {
  int number;
  uint64_t inode;
} cs_connection;

extern cs_connection cs_connection_now;

static inline bool cs_descriptor_is_ours(const cs_descriptor *descriptor) SIGNAL_SAFE {
  struct stat status = {0};
  return descriptor->number >= 0 && cs_fstat(descriptor->number, &status) == 0 &&
         (uint64_t)status.st_dev == descriptor->device && (uint64_t)status.st_ino == descriptor->inode;
}

// The crash signals.
#define CS_CRASH_SIGNALS      {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE, SIGSYS}
#define CS_CRASH_SIGNAL_COUNT 7

#endif
