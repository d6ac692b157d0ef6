// The interface of the crash capture in the program's process. The ring is the memory through which the process passes
// crash records and incidents to crashd. A crash that cannot reach crashd goes to a file in the spool directory.
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
  CS_SHIM_STATUS_UNREACHABLE = 1, // no crashd is reachable: crashes go to the spool directory; the shield retries
  CS_SHIM_STATUS_REFUSED = 2,     // crashd refused the process and there is no retry; `text` contains the reason
} cs_shim_status;

typedef enum __attribute__((enum_extensibility(open))) cs_shim_error : uint32_t {
  CS_SHIM_OK = 0,
  CS_SHIM_ALREADY_STARTED = 1,
  CS_SHIM_DISABLED = 2,     // CRASHSHIELD_DISABLE is set and not 0
  CS_SHIM_BAD_ARGUMENT = 3, // ret_failure names the argument
  CS_SHIM_SYSTEM_CALL = 4,  // ret_failure names the call; errno_value is its errno
  CS_SHIM_UNSUPPORTED = 5,  // the platform is not Linux on x86-64 or AArch64 with glibc
} cs_shim_error;

// The program's callback for changes of the connection to crashd. The shield calls it once for each change, on one of
// its own threads. The string `text` is valid only during the call.
typedef void (*cs_shim_status_function)(void *context, cs_shim_status status, const char *text);

// How much of the program's memory a crash report includes (the stack, and the memory near the addresses in registers).
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
  uint8_t guard_modes[CS_CONTROL_GUARD_KINDS]; // each element is a cs_control_guard
  uint8_t implicit_guard_modes[CS_CONTROL_GUARD_KINDS];
  uint64_t time_ns;                             // the time of the last crash; 0: there was none
  char crash_id[CS_CONTROL_ID_LIMIT_BYTES + 1]; // the ID of the last crash's report
  char name[CS_CONTROL_NAME_LIMIT_BYTES + 1];   // the class's name; for a last crash: its diagnosis
} cs_shim_control;

// The program's callback for control messages. The shield calls it for each message, on one of its own threads. If
// crashd sends no control when the process attaches, the callback gets one CS_CONTROL_SWEEP of round 0, which revokes
// earlier controls. Returns the result to send to crashd. Stores in `ret_count` how many classes or guard kinds the
// message changed.
typedef cs_control_result (*cs_shim_control_function)(const cs_shim_control *control, uint32_t *ret_count);

// Whether crashd is allowed to change settings in the process.
typedef enum __attribute__((enum_extensibility(open))) cs_shim_remote : uint32_t {
  CS_SHIM_REMOTE_DEFAULT = 0, // CRASHSHIELD_CONTROL=0 forbids changes; otherwise, they are allowed
  CS_SHIM_REMOTE_ALLOWED = 1,
  CS_SHIM_REMOTE_FORBIDDEN = 2,
} cs_shim_remote;

// If a field is NULL or empty, the environment variable determines the value, or the default if the variable is not
// set. For `name`, the environment variable takes precedence, because a deployment sets it. CRASHSHIELD_DISABLE also
// takes precedence. For all other settings, a value in this structure takes precedence over the environment.
// CRASHSHIELD_RELEASE and CRASHSHIELD_ENVIRONMENT set annotations that the program cannot change later.
typedef struct cs_shim_configuration {
  const char *socket_path;     // CRASHSHIELD_SOCKET, else /run/crashd/attach, else $XDG_RUNTIME_DIR/crashd/attach
  const char *spool_directory; // CRASHSHIELD_SPOOL, else the directory `spool` next to the socket
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
  char what[124]; // the argument or the system call that failed
} cs_shim_failure;

// Creates the ring, installs the handlers and starts the shield's threads. Thread-safe. Takes effect once in a process.
cs_shim_error cs_shim_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure);

// In a forked child: starts the shield with the parent's configuration and annotations, but without the parent's status
// callback. Does not call the loader, whose lock another thread of the parent can have held at the fork.
cs_shim_error cs_shim_start_in_forked_child(cs_shim_failure *ret_failure);

// Sets an annotation, which is a value with a key. An empty value removes the key. Returns false if the table is full,
// or if an environment variable sets the key. A key or value that is too long is cut at a UTF-8 boundary and stored. In
// this case, the result is also false. Any thread may call this function, but a signal handler may not.
bool cs_shim_annotate(const char *key, size_t key_bytes, const char *value, size_t value_bytes);

// Adds a line of text to the breadcrumbs in the ring, which are short messages about the program's last actions. If
// there is no free entry, the line replaces the oldest one. A line that is too long is cut at a UTF-8 boundary.
// Lock-free. Any thread may call this function.
void cs_shim_breadcrumb(const char *text, size_t text_bytes);

typedef struct cs_shim_text {
  const char *start;
  size_t bytes;
} cs_shim_text;

// Like cs_shim_breadcrumb(), but also stores a level, a category, metadata and a request. The metadata consist of pairs
// of a key and a value. Each of these strings ends with a NUL. Pairs that do not fit are dropped. `request` is the
// number of the current request, or 0 if there is none.
void cs_shim_breadcrumb_with(cs_shim_text message, cs_ring_level level, cs_shim_text category, cs_shim_text metadata,
                             uint64_t request);

// The handle of a request in flight. It is 0 if there is no request, for example because the shield is not started.
typedef uint64_t cs_shim_request;

// Begins to register a request. The caller then adds details by the functions below, and calls cs_shim_request_run()
// before the request's work. One thread makes all these calls; any thread may end the request. Strings are cut at a
// UTF-8 boundary. Tags that do not fit completely are dropped. The calls are lock-free and do not allocate. A signal
// handler must not make them.
cs_shim_request cs_shim_request_begin(cs_shim_text operation, cs_shim_text id);
// Sets the IDs of W3C Trace Context, of 32 and 16 hexadecimal digits. Any other string is ignored.
void cs_shim_request_trace(cs_shim_request request, cs_shim_text trace_id, cs_shim_text span_id);
void cs_shim_request_tag(cs_shim_request request, cs_shim_text key, cs_shim_text value);
void cs_shim_request_run(cs_shim_request request);
void cs_shim_request_end(cs_shim_request request, bool has_failed);

// Returns the number of a request, or 0 if the request has ended.
uint64_t cs_shim_request_number(cs_shim_request request);

// Sets the request of the synchronous code on this thread, for code outside of tasks. Returns the previous request.
cs_shim_request cs_shim_request_enter(cs_shim_request request);

// Sets the task-local value with this key to the request, on a thread that runs no task. `type` is the metadata of
// UInt64. Returns false if the process does not have Swift's concurrency library. Otherwise, the same thread must later
// call cs_shim_request_unbind().
bool cs_shim_request_bind(uint64_t key, cs_shim_request request, const void *type);
void cs_shim_request_unbind(void);

// Checks, once in a process, whether the crash handler can read the request from the task-local value that the calling
// task has just set. All calls pass the same `key`, the address of the task-local's object.
void cs_shim_request_check(uint64_t key, cs_shim_request request);
cs_ring_request_lookup cs_shim_request_lookup(void);

// Records an incident, an event that a component of the shield has detected, in the ring. The component fills the
// fields of `incident` from `address` on. If an equal incident was recorded before, only its count is increased. Calls
// wake crashd, at most four times a second, unless the incident belongs to a crash. Lock-free. Any thread and any
// signal handler may call this function. The function has no effect before the start of the shield.
void cs_shim_incident(const cs_ring_incident *incident) SIGNAL_SAFE;
// Records `times` occurrences of an incident. Incidents that have the same key share one entry of the ring, unless the
// key is 0. Returns false before the start of the shield, because nothing is recorded then.
bool cs_shim_incident_times(const cs_ring_incident *incident, uint64_t times) SIGNAL_SAFE;

// Copies the incident at an index of the ring, below CS_RING_INCIDENT_LIMIT. Returns false if the entry is unused. Also
// returns false if the incident belongs to a crash report, even if the process survived that crash. Any thread may call
// this.
bool cs_shim_incident_at(uint32_t index, cs_ring_incident *ret_incident);
// Starts a thread that calls `deliver` after incidents were recorded, at most four times a second. Returns false if the
// thread cannot be created. The function may be called only once in a process.
bool cs_shim_incidents_follow(void (*deliver)(void));
// Returns the number of occurrences of incidents that were lost because the ring had no free entry.
uint64_t cs_shim_incidents_lost(void);

// A hook that receives faults before the shield treats them as crashes, with the fault's `siginfo_t` and `ucontext_t`.
// If it returns true, the fault is repaired, and the thread executes the faulting instruction again.
typedef bool cs_shim_fault_function(int signal, const void *information, void *context) SIGNAL_SAFE;

// Sets the hook for faults, which stays set in forked children. Only one hook is set at a time. NULL removes the hook.
void cs_shim_set_fault_function(cs_shim_fault_function *function);

// A hook that reads the record of a crash before the handler marks the record as complete. The hook can add incidents.
typedef void cs_shim_record_function(const cs_ring_record *record) SIGNAL_SAFE;

// Sets the hook that is called for each crash record. Only one hook is set at a time. NULL removes the hook.
void cs_shim_set_record_function(cs_shim_record_function *function);

// Returns whether the shield's handler is installed for SIGSEGV.
bool cs_shim_handles_faults(void) SIGNAL_SAFE;

// Stores the return addresses on the stack of the calling thread, beginning with the innermost frame. The list begins
// with the return address `first`, or, if no frame has it, with an address in this function. Returns the number of
// stored addresses, at most `limit`. Returns 0 if too many threads call this function at the same time. The function
// takes one or two microseconds, and takes no lock.
size_t cs_shim_stack_here(uint64_t first, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE;

// Stores the stack of the thread that a signal interrupted. `context` is the handler's `ucontext_t`. The first stored
// address is that of the interrupted instruction.
size_t cs_shim_stack_of(const void *context, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE;

// The way in which contained work ended.
typedef enum __attribute__((enum_extensibility(open))) cs_shim_contained_end : uint32_t {
  CS_SHIM_CONTAINED_FINISHED = 1, // the thread of the work has ended
  CS_SHIM_CONTAINED_TRAPPED = 2,  // the thread of the work has trapped; it is stopped forever and releases nothing
  CS_SHIM_CONTAINED_NO_THREAD = 3,
} cs_shim_contained_end;

// The default budget: the maximum number of threads that contained traps are allowed to stop forever.
#define CS_SHIM_CONTAINED_BUDGET 16

// Runs the routine as contained work on a new thread, and waits until the work ends. A Swift trap stops only that
// thread, not the process, and is recorded as an incident. Any other crash, and a trap beyond the budget, ends the
// process as usual. containment.c lists all cases. Any thread may call this function, but a signal handler may not.
cs_shim_contained_end cs_shim_contained_run(void (*routine)(void *), void *argument);

// Returns the reason why this process cannot contain traps, or NULL if it can.
const char *cs_shim_contained_obstacle(void);

// Contained work that runs a Swift task calls this function at the beginning of the task. The call identifies the
// frames of the Swift runtime that run the task on this stack. Without the call, these frames would make a trap end the
// process.
void cs_shim_contained_task_begins(void);

// Set and return the budget (the maximum number of threads that are stopped forever), and return their current number.
void cs_shim_contained_set_budget(uint32_t threads);
uint32_t cs_shim_contained_budget(void);
uint32_t cs_shim_contained_parked(void);

// Retains the data of this thread's contained work until cs_shim_contained_release(). Returns NULL if this thread runs
// no contained work.
void *cs_shim_contained_keep(void);
void cs_shim_contained_release(void *kept);

// Suspends the containment of the work while the work holds a lock for which other threads can wait. In this time, a
// trap ends the process. `kept` is a result of cs_shim_contained_keep(), or NULL for the work of the calling thread.
// Returns the argument for cs_shim_contained_let_go(), or NULL if there is no contained work. Different threads may
// call the two functions.
void *cs_shim_contained_hold(void *kept);
void cs_shim_contained_let_go(void *hold);

// What a Swift trap in a contained request does. DRAIN: the process finishes its requests and then ends. CONTAIN: only
// the request's thread stops. docs/decisions/0137-drain-and-contain.md explains the modes. The numbers are those of
// cs_ring_containment.
typedef enum __attribute__((enum_extensibility(open))) cs_shim_containment_mode : uint32_t {
  CS_SHIM_CONTAINMENT_OFF = 0,
  CS_SHIM_CONTAINMENT_DRAIN = 1,
  CS_SHIM_CONTAINMENT_CONTAIN = 2, // requires the shield's thread pool
} cs_shim_containment_mode;

typedef struct cs_shim_containment {
  cs_shim_containment_mode mode;
  uint32_t budget; // the number of traps that CONTAIN survives
  uint64_t grace_ns;
  uint64_t stall_ns;
  bool has_pool;  // Swift tasks run on the shield's pool instead of Dispatch's threads
  uint32_t width; // the number of threads of the pool; 0: one for each processor
  // Resumes the code that waits for a contained request (the caller), if the request's work has trapped, or still runs
  // at the end of a drain. Called once for each such request, on a thread of the shield.
  void (*answer)(uint64_t continuation, bool is_trap);
  void (*drain)(void); // called once when a drain begins, on a thread of the shield; may be NULL
} cs_shim_containment;

// Returns the value of CRASHSHIELD_CONTAINMENT, which takes precedence over the program's mode. Returns NULL if the
// variable is not set or empty, or if the program has more privileges than its caller.
const char *cs_shim_containment_variable(void);

// Starts the containment of requests. Takes effect once in a process, after cs_shim_start(). Returns the reason why
// containment does not work, or NULL. cs_shim_contained_probe() can find further reasons later.
const char *cs_shim_containment_start(const cs_shim_containment *containment);

// The first function returns whether a trap in a contained request is contained or begins a drain, the second whether
// the process is draining. Any thread may call these functions.
bool cs_shim_containment_is_on(void);
bool cs_shim_containment_is_draining(void);
// Returns the reason why containment does not work although it was started, or NULL.
const char *cs_shim_containment_obstacle(void);

// Finds the functions of the Swift runtime that run a task, and checks whether the handler can read the data that it
// needs about a task. The first contained request of a process calls this function, in a task that runs on the global
// executor and not on an actor. Later calls return at once.
void cs_shim_contained_probe(void);

// Makes a request contained. `continuation` identifies the caller, which waits for the request. Returns false if the
// work must run without containment.
bool cs_shim_contained_request_arm(cs_shim_request request, uint64_t continuation);

// Ends the containment of a request whose work is done, before the caller resumes. Returns false if the shield has
// already resumed the caller or will do so. In this case, the request's entry belongs to the shield, and the work's
// result is discarded.
bool cs_shim_contained_request_finish(cs_shim_request request);

// Returns whether the pool runs the jobs of Swift's global executor. Any thread may call this function.
bool cs_shim_pool_is_on(void);
// Runs a job of the Swift runtime on the pool. Precondition: the pool is on.
void cs_shim_pool_enqueue(void *job);

// Announces that the calling thread will suspend or end its Swift job right after it enqueues the next job. A thread of
// the pool then runs that job itself next, and wakes no other thread for it. The announcement ends with that job, or by
// a call with false. On threads outside of the pool, the call has no effect.
void cs_shim_pool_runs_next(bool is_so);

// Declares the epoll descriptor of the event loop that runs on the calling thread. If this thread traps, the
// connections of the loop are shut down at once.
void cs_shim_containment_note_loop(int epoll_descriptor);

// Adds a class to the ring's table of protected classes. Returns the address of the new entry in the ring, which stays
// valid, and whose counters the caller increments. Returns NULL before the start, or if the table is full. Only one
// thread at a time may call this function.
cs_ring_class *cs_shim_class(const cs_ring_class *class);

// Publishes the result of a self-test of the guards. The result replaces the previous one. Bit N of a mask represents
// the guards of kind N. If two self-tests end at the same time, the ring contains the result of one of them. Lock-free.
// Any thread may call this function. The function has no effect before the start of the shield.
void cs_shim_self_test(uint64_t asked, uint64_t failing, uint32_t checks, uint32_t failures);

typedef enum __attribute__((enum_extensibility(open))) cs_shim_action : uint32_t {
  CS_SHIM_ACTION_HANDLER = 1,
  CS_SHIM_ACTION_DEFAULT = 2,
  CS_SHIM_ACTION_IGNORED = 3,
} cs_shim_action;

// A crash signal for which other code has replaced our handler.
typedef struct cs_shim_replaced_handler {
  int32_t signal;
  cs_shim_action action; // the action that is now installed
  uint64_t address;      // the address of the installed handler; 0: there is no handler
  const char *image;     // the path of the image that contains the handler, as the loader reports it; NULL: unknown
} cs_shim_replaced_handler;

#define CS_SHIM_HANDLER_LIMIT 8

// Checks which of the shield's signal handlers are replaced now, and also stores the result in the ring. Returns the
// number of entries, at most CS_SHIM_HANDLER_LIMIT, or 0 before the start. Takes some microseconds. Any thread may call
// this function.
size_t cs_shim_replaced_handlers(cs_shim_replaced_handler *ret_handlers);

#define CS_SHIM_STATUS_TEXT_BYTES 392

// Returns the last reported state of the connection to crashd. If `ret_text` is not NULL, copies the string that
// describes it, at most CS_SHIM_STATUS_TEXT_BYTES. Returns false before the first report. Any thread may call this.
bool cs_shim_last_status(cs_shim_status *ret_status, char *ret_text);

// Returns whether cs_shim_start succeeded in this process. In a forked child, the result is false until the child
// starts the shield.
bool cs_shim_is_started(void);

#endif
