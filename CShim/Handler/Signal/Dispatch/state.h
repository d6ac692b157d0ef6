// The state that the crash handler uses. The setup computes it in advance, so that the handler need not search for it
// or allocate memory.
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

// A descriptor of the shield, or stderr (first_stderr), and the identity of its file. With this identity, the shield
// detects that the program has closed the descriptor and reused the number for its own file. The shield does not use
// that file, except a log file that replaced stderr (lines.c).
typedef struct cs_descriptor {
  int number; // -1: no descriptor
  uint64_t device;
  uint64_t inode;
} cs_descriptor;

// The fields are constant after the handlers are installed, unless a field's comment says that it is atomic.
typedef struct cs_state {
  cs_ring *ring;
  int pid;        // the process that started the shield; 0 before the start. A forked child has another pid.
  uint32_t user;  // the effective user at the start, by which crashd identifies the process
  bool is_copied; // whether the handler also leaves a copy of each crash in the spool directory
  cs_descriptor ring_descriptor;
  cs_descriptor reserve; // a descriptor in reserve, which a crashing thread closes if it needs a descriptor and none is
                         // free
  cs_descriptor spool;   // the spool directory, if it existed at the start

  cs_descriptor last_words;   // the open file for the last words, a short description of the crash (Lines)
  cs_descriptor first_stderr; // the identity of stderr at the start
  bool words_to_stderr;       // whether the last words go to stderr
  bool record_to_stderr;      // whether a crash that could not be delivered is written to stderr, as a line of text
                              // (record line)

  struct sockaddr_un socket_address;
  uint32_t socket_address_bytes;
  char spool_parent[CS_RING_PATH_LIMIT_BYTES];
  char spool_directory[CS_RING_PATH_LIMIT_BYTES];
  char spool_path[CS_RING_PATH_LIMIT_BYTES];
  char spool_partial_path[CS_RING_PATH_LIMIT_BYTES];
  size_t spool_name_offset; // the offset of the file name in both spool paths

  uint32_t memory_mode;      // atomic: cs_ring_memory_mode; CS_RING_MEMORY_NONE if crashd withholds memory
  uint32_t memory_shown;     // atomic: the mode that the ring's header shows
  uint32_t is_restricted;    // atomic: whether the kernel would refuse the user a core dump (privilege.h)
  uint32_t busy_count;       // atomic: the number of threads in the handler that other crashing threads must wait for
                             // (others.c)
  int delivering_tid;        // atomic: the one thread that connects or writes the spool file; 0: no thread does
  uint32_t delivery_wanted;  // atomic: how many times a crashing thread found no connection since the start
  uint32_t delivery_done;    // atomic: the value of `delivery_wanted` that the last delivery has served
  uint32_t delivery_count;   // atomic: the number of deliveries that have begun since the start
  uint32_t spooled_count;    // atomic: `delivery_count` at the last attempt to write the spool file
  uint32_t spooled_pending;  // atomic: the number of pending records in the spool file; a pending record can be
                             // withdrawn
  uint32_t is_refused;       // atomic: whether crashd has refused this process
  uint32_t has_incidents;    // atomic: whether an entry of the ring's incidents was ever used
  uint32_t sweep_ms;         // how long a sweep waits for the other threads; 0: threads are not swept
  uint32_t injection_points; // cs_testing.h: one bit for each point in the handler where a fault is injected
  uint32_t injection;
  uint32_t injections_awaited; // the number of threads that must reach an injection point before the watchdog's time
                               // begins
  uint32_t injections_met;     // atomic: the number of threads that have reached an injection point
  uint32_t test_reminder_ms;   // the time until the watchdog's reminder in a test; 0: the configured time
  uint32_t test_deadline_ms;

  uint64_t given_back; // atomic: one bit for each signal whose previous action the shield has restored

  cs_kernel_action own; // the action of our handler, in the kernel's form

  cs_kernel_action sweep_action; // the action that a sweep installs for SIGPROF

  // The following fields stay valid in a forked child that starts the shield again, because the child has the same
  // libraries. The child must not determine them again: it could wait forever for the loader's lock, if another thread
  // of the parent held it at the fork.

  // The addresses of the variables with the error messages of the Swift runtime and of glibc; 0: the process has no
  // such variable.
  uint64_t swift_message;                      // address of a `const char *`
  uint64_t abort_message;                      // address of a pointer to glibc's { unsigned size; char text[]; }
  void *(*exception_type)(void)SIGNAL_SAFE;    // __cxa_current_exception_type, already bound; see exception.c
  void *(*exception_globals)(void)SIGNAL_SAFE; // __cxa_get_globals_fast
  uint64_t single_class;                       // the virtual table of the type_info of a class with one base class
  uint64_t multiple_class;                     // the same for several base classes or a virtual one
  uint64_t cxx_runtime_start;                  // the image that contains __cxa_current_exception_type
  uint64_t cxx_runtime_end;

  cs_task_layout task_layout;
  uint64_t first_stack_end; // the upper end of the first thread's stack; the arguments and the environment are above it

  // The previous actions of the crash signals, which our handlers replaced. A forked child inherits these actions.
  cs_kernel_action previous[CS_SIGNAL_COUNT];
} cs_state;

extern cs_state cs_process;

// relaxed, because no other data depends on the memory mode. If the mode changes during a crash, the parts of one
// record can use different modes.
static inline uint32_t cs_memory_mode(void) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) != 0) return CS_RING_MEMORY_NONE;
  return __atomic_load_n(&cs_process.memory_mode, __ATOMIC_RELAXED);
}

// Writes the memory mode into the ring's header.
static inline void cs_memory_mode_show(void) SIGNAL_SAFE {
  const uint32_t shown = __atomic_load_n(&cs_process.memory_shown, __ATOMIC_RELAXED);
  const bool is_restricted = __atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) != 0;
  __atomic_store_n(&cs_process.ring->header.memory_mode, is_restricted ? (uint32_t)CS_RING_MEMORY_NONE : shown,
                   __ATOMIC_RELAXED);
}

// The pid of the process in which the shield's handlers are installed, or 0 before the start. Atomic.
extern int cs_started_pid;

// Returns the ring if this process has started the shield, or has inherited a started one at a fork. Otherwise returns
// NULL.
static inline cs_ring *cs_started_ring(void) SIGNAL_SAFE {
  // acquire: pairs with the release store at the end of a start.
  return __atomic_load_n(&cs_started_pid, __ATOMIC_ACQUIRE) != 0 ? cs_process.ring : NULL;
}

// The connection to crashd that a crashing thread uses. The thread that starts the shield writes it, later the
// connection's thread (Setup/Attach/attach_client.c), and a crashing thread that had to open a connection.
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
