// The interface of the crash capture in the program's process: start, annotations, breadcrumbs. All other code of the
// capture runs in signal handlers and in the shield's own threads.
#ifndef CS_SHIM_H
#define CS_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_attach.h"
#include "cs_ring.h"
#include "cs_signal_safe.h"

// The reason why an unwind ended (cs_ring_record.unwind_stop).
typedef enum __attribute__((enum_extensibility(open))) cs_unwind_stop : uint32_t {
  CS_UNWIND_STOP_END = 0,        // the outermost frame was reached
  CS_UNWIND_STOP_LIMIT = 1,      // the stack has more frames than the unwinder's limit
  CS_UNWIND_STOP_UNREADABLE = 2, // a stack word could not be read
  CS_UNWIND_STOP_NO_CALLER = 3,  // neither CFI nor the frame pointer leads to a caller
  CS_UNWIND_STOP_LOOP = 4,       // the stack pointer did not grow
} cs_unwind_stop;

typedef enum __attribute__((enum_extensibility(open))) cs_shim_status : uint32_t {
  CS_SHIM_STATUS_ATTACHED = 0,    // crashd has the ring
  CS_SHIM_STATUS_UNREACHABLE = 1, // no crashd is reachable: crashes go to the spool; the idle thread retries
  CS_SHIM_STATUS_REFUSED = 2,     // crashd refused the process and there is no retry; `text` contains the reason
} cs_shim_status;

typedef enum __attribute__((enum_extensibility(open))) cs_shim_error : uint32_t {
  CS_SHIM_OK = 0,
  CS_SHIM_ALREADY_STARTED = 1,
  CS_SHIM_DISABLED = 2,     // CRASHSHIELD_DISABLE is set and not 0
  CS_SHIM_BAD_ARGUMENT = 3, // ret_failure names the argument
  CS_SHIM_SYSTEM_CALL = 4,  // ret_failure names the call; errno_value is its errno
  CS_SHIM_UNSUPPORTED = 5,  // the platform is not Linux on x86-64 with glibc
} cs_shim_error;

// The program's status callback. It is called once for each change of the connection, on a thread of the shield. `text`
// is valid only during the call.
typedef void (*cs_shim_status_function)(void *context, cs_shim_status status, const char *text);

// The memory contents that a report includes: the stack, and the memory near the addresses in registers.
typedef enum __attribute__((enum_extensibility(open))) cs_shim_memory : uint32_t {
  CS_SHIM_MEMORY_DEFAULT = 0, // CRASHSHIELD_MEMORY (none, scrubbed, full) if it is set, else scrubbed
  CS_SHIM_MEMORY_NONE = 1,
  CS_SHIM_MEMORY_SCRUBBED = 2, // runs of text characters are overwritten
  CS_SHIM_MEMORY_FULL = 3,
} cs_shim_memory;

// A control message of crashd, after it was checked. The names are printable, end with a NUL, and are never cut off.
typedef struct cs_shim_control {
  cs_control_kind kind;
  uint32_t flags;
  uint32_t round;
  uint32_t policy; // cs_mode
  uint32_t limit;
  uint32_t stack_frames;
  uint64_t budget_bytes;
  uint8_t guard_modes[CS_CONTROL_GUARD_KINDS]; // each a cs_control_guard
  uint8_t implicit_guard_modes[CS_CONTROL_GUARD_KINDS];
  uint64_t time_ns;                             // the time of the last crash; 0: there was none
  char crash_id[CS_CONTROL_ID_LIMIT_BYTES + 1]; // the ID of the last crash's report
  char name[CS_CONTROL_NAME_LIMIT_BYTES + 1];   // of the class; of a last crash: the sentence of its diagnosis
} cs_shim_control;

// The program's control callback. It is called on a thread of the shield for each message. If crashd accepts the
// process and requests nothing, the callback is called once, with a sweep of round 0. Returns the result. Stores in
// `ret_count` the number of classes or guard kinds that the message changed.
typedef cs_control_result (*cs_shim_control_function)(const cs_shim_control *control, uint32_t *ret_count);

// Determines whether crashd may change settings in the process.
typedef enum __attribute__((enum_extensibility(open))) cs_shim_remote : uint32_t {
  CS_SHIM_REMOTE_DEFAULT = 0, // CRASHSHIELD_CONTROL=0 forbids changes; otherwise, they are allowed
  CS_SHIM_REMOTE_ALLOWED = 1,
  CS_SHIM_REMOTE_FORBIDDEN = 2,
} cs_shim_remote;

// If a field is NULL or empty, the environment variable determines the value, or else the default. For `name`, the
// environment variable takes precedence, because a deployment sets it. CRASHSHIELD_DISABLE also takes precedence. For
// all other settings, a value in this structure takes precedence over the environment. CRASHSHIELD_RELEASE and
// CRASHSHIELD_ENVIRONMENT set annotations that the program cannot change later.
typedef struct cs_shim_configuration {
  const char *socket_path;     // CRASHSHIELD_SOCKET, else /run/crashd/attach, else $XDG_RUNTIME_DIR/crashd/attach
  const char *spool_directory; // CRASHSHIELD_SPOOL, else the directory `spool` beside the socket
  const char *name;            // CRASHSHIELD_NAME, else the executable's last path component
  cs_shim_memory memory;
  cs_shim_status_function status_function;
  void *status_context;
  cs_shim_control_function control_function; // NULL: crashd's requests are answered with "unavailable"
  cs_shim_remote remote;
  bool reattaches_forked_children; // CRASHSHIELD_FORK: each forked child starts like its parent, before fork returns
} cs_shim_configuration;

typedef struct cs_shim_failure {
  int errno_value;
  char what[124]; // the argument or system call
} cs_shim_failure;

// Creates the ring, installs the handlers and starts the idle thread. Once per process; thread-safe.
cs_shim_error cs_shim_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure);

// In a forked child: starts with the parent's configuration and annotations, but without its status function. It does
// not call the loader, because a thread of the parent may have held the loader's lock.
cs_shim_error cs_shim_start_in_forked_child(cs_shim_failure *ret_failure);

// Sets or replaces a key. An empty value removes the key. Returns false if the table is full or if the environment sets
// the key. Also returns false for a part that is too long; that part is cut at a UTF-8 boundary and stored. Any thread;
// not from a signal handler.
bool cs_shim_annotate(const char *key, size_t key_bytes, const char *value, size_t value_bytes);

// Writes a line to the breadcrumb ring, overwriting the oldest. Longer text is cut at a UTF-8 boundary. Lock-free; any
// thread.
void cs_shim_breadcrumb(const char *text, size_t text_bytes);

typedef struct cs_shim_text {
  const char *start;
  size_t bytes;
} cs_shim_text;

// Like cs_shim_breadcrumb(), with a level, a category and metadata. The metadata are pairs of texts, and each text ends
// with a NUL. Pairs that do not fit are dropped.
void cs_shim_breadcrumb_with(cs_shim_text message, cs_ring_level level, cs_shim_text category, cs_shim_text metadata);

// Records an incident of a part of the shield. The fields from `address` on describe it. A repetition is counted, and
// wakes crashd too, at most four times a second. Lock-free; any thread, also in a signal handler; no effect before the
// start.
void cs_shim_incident(const cs_ring_incident *incident) SIGNAL_SAFE;
// Records `times` occurrences of an incident. Incidents with the same key other than 0 are counted as one. Returns
// false before the start, when nothing is recorded.
bool cs_shim_incident_times(const cs_ring_incident *incident, uint64_t times) SIGNAL_SAFE;

// Copies the incident at an index of the ring, below CS_RING_INCIDENT_LIMIT. Returns false if the entry is unused, or
// if it belongs to a crash, which the process may have survived. Any thread.
bool cs_shim_incident_at(uint32_t index, cs_ring_incident *ret_incident);
// Starts a thread that calls the function after incidents were recorded, at most four times a second. Returns false if
// the thread cannot be created. Once per process.
bool cs_shim_incidents_follow(void (*deliver)(void));
// The number of occurrences for which the ring had no free entry.
uint64_t cs_shim_incidents_lost(void);

// A first-chance handler of a fault, with its `siginfo_t` and `ucontext_t`. Returns true if it repaired the fault; the
// thread then continues.
typedef bool cs_shim_fault_function(int signal, const void *information, void *context) SIGNAL_SAFE;

// Sets the first-chance handler, also for forked children. There is one at a time; NULL removes it.
void cs_shim_set_fault_function(cs_shim_fault_function *function);

// A hook that reads the record of a crash before its commit, and may add incidents.
typedef void cs_shim_record_function(const cs_ring_record *record) SIGNAL_SAFE;

// Sets the hook for each crash. There is one at a time; NULL removes it.
void cs_shim_set_record_function(cs_shim_record_function *function);

// Returns whether our SIGSEGV handler is installed.
bool cs_shim_handles_faults(void) SIGNAL_SAFE;

// Writes the caller's stack, innermost first. It starts at the return address `first`, or at the caller if `first` is
// not among the frames. Returns the number of frames, at most `limit` and CS_RING_INCIDENT_FRAME_LIMIT. Returns 0 if
// too many threads call it at once. Takes one or two microseconds; no lock.
size_t cs_shim_stack_here(uint64_t first, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE;

// Writes the stack of the thread in a signal handler's `ucontext_t`. The first address is the interrupted instruction.
size_t cs_shim_stack_of(const void *context, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE;

// How contained work ended.
typedef enum __attribute__((enum_extensibility(open))) cs_shim_contained_end : uint32_t {
  CS_SHIM_CONTAINED_FINISHED = 1, // its thread has ended
  CS_SHIM_CONTAINED_TRAPPED = 2,  // its thread is parked forever at the trap, and releases nothing
  CS_SHIM_CONTAINED_NO_THREAD = 3,
} cs_shim_contained_end;

// The default limit of parked threads.
#define CS_SHIM_CONTAINED_BUDGET 16

// Runs the routine on a new thread, and waits for it. A Swift trap there ends the routine, and is recorded as an
// incident. Any other crash, and a trap beyond the limit, ends the process as usual. containment.c has the table. Any
// thread; not from a signal handler.
cs_shim_contained_end cs_shim_contained_run(void (*routine)(void *), void *argument);

// Returns the reason why no trap can be contained in this process; NULL if traps can be contained.
const char *cs_shim_contained_obstacle(void);

// Called first by the code of the task that this thread's work runs. It identifies the functions of Swift's runtime on
// the stack that run the task. Without this call, a trap with any such function on the stack is not contained.
void cs_shim_contained_task_begins(void);

// The maximum number of parked threads.
void cs_shim_contained_set_budget(uint32_t threads);
uint32_t cs_shim_contained_budget(void);
uint32_t cs_shim_contained_parked(void);

// Retains the work of this thread until it is released. Returns NULL outside of contained work.
void *cs_shim_contained_keep(void);
void cs_shim_contained_release(void *kept);

// Suspends containment while work holds a lock that others wait for: a trap then ends the process. `kept` is from
// cs_shim_contained_keep(); NULL means the work of this thread. Returns the argument for cs_shim_contained_let_go(), or
// NULL without work. The two calls may come from any threads.
void *cs_shim_contained_hold(void *kept);
void cs_shim_contained_let_go(void *hold);

// Adds a protected class. The caller updates the class's counters in the ring, at the returned address, which stays
// valid. Returns NULL before the start, or if there is no room. One thread at a time.
cs_ring_class *cs_shim_class(const cs_ring_class *class);

// Publishes the result of a guard self-test, and replaces an earlier result. Bit N of a mask stands for the guards of
// kind N. If two self-tests end at the same moment, one result is kept. Lock-free; any thread; no effect before the
// start.
void cs_shim_self_test(uint64_t asked, uint64_t failing, uint32_t checks, uint32_t failures);

typedef enum __attribute__((enum_extensibility(open))) cs_shim_action : uint32_t {
  CS_SHIM_ACTION_HANDLER = 1,
  CS_SHIM_ACTION_DEFAULT = 2,
  CS_SHIM_ACTION_IGNORED = 3,
} cs_shim_action;

// A crash signal whose handler has been replaced.
typedef struct cs_shim_replaced_handler {
  int32_t signal;
  cs_shim_action action; // what is installed now
  uint64_t address;      // of the handler; 0: none
  const char *image;     // the loader's name of the file that contains the handler; NULL: unknown
} cs_shim_replaced_handler;

#define CS_SHIM_HANDLER_LIMIT 8

// Checks which of our handlers were replaced since the start, and writes the result to the ring. Returns the number of
// entries, at most CS_SHIM_HANDLER_LIMIT, or 0 before the start. Any thread; takes some microseconds.
size_t cs_shim_replaced_handlers(cs_shim_replaced_handler *ret_handlers);

#define CS_SHIM_STATUS_TEXT_BYTES 392

// Returns the last state of the connection. Writes its text, in CS_SHIM_STATUS_TEXT_BYTES, to `ret_text` unless that is
// NULL. Returns false if there is no state yet. Any thread.
bool cs_shim_last_status(cs_shim_status *ret_status, char *ret_text);

// Returns whether cs_shim_start succeeded in this process. It did not in a forked child.
bool cs_shim_is_started(void);

#endif
