// The steps of cs_shim_start(). They may allocate and fail; what a step did, its `undo` takes back.
#ifndef CS_SETUP_H
#define CS_SETUP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Signal/Dispatch/state.h"
#include "../Signal/Threads/own_threads.h"
#include "cs_shim.h"

// Writes what failed into `ret_failure` (with errno's value) and returns CS_SHIM_SYSTEM_CALL.
cs_shim_error cs_setup_failed(cs_shim_failure *ret_failure, const char *what);

// Where crashd is, where the spool is, what the process is called.
typedef struct cs_environment {
  char socket_path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
  char spool_directory[CS_RING_PATH_LIMIT_BYTES - 64]; // room for a file's name
  char name[CS_RING_NAME_LIMIT_BYTES];
  char executable[CS_RING_PATH_LIMIT_BYTES];
  uint32_t memory_mode; // cs_ring_memory_mode
} cs_environment;

// Merges the configuration, CRASHSHIELD_* and the defaults.
cs_shim_error cs_environment_read(const cs_shim_configuration *configuration, cs_environment *ret_environment,
                                  cs_shim_failure *ret_failure);
// Annotates the ring with release and environment: CRASHSHIELD_RELEASE, CRASHSHIELD_ENVIRONMENT.
void cs_environment_annotate(void);
bool cs_environment_is_disabled(void);
// Whether threads get alternate signal stacks: unless CRASHSHIELD_ALTSTACKS is 0.
bool cs_environment_gives_stacks(void);
// How long a crash waits for the answers of the other threads: CRASHSHIELD_SWEEP_MS; 0 is not at all.
uint32_t cs_environment_sweep_ms(void);
// How long the handler may take: CRASHSHIELD_DEADLINE_MS; 0 is for ever.
uint32_t cs_environment_deadline_ms(void);

// Whether crashd may say what is to be done in this process: CRASHSHIELD_CONTROL.
bool cs_environment_allows_control(const cs_shim_configuration *configuration);

// Whether a crash that is delivered to crashd is left in the spool as well: CRASHSHIELD_COPY.
bool cs_environment_keeps_copy(void);

// Whether forked children start like their parent: CRASHSHIELD_FORK=1.
bool cs_environment_reattaches(void);
// Whether a constructor is to start the shield: CRASHSHIELD_EARLY=1.
bool cs_environment_starts_early(void);
// Whether Swift's own backtracer is asked for: SWIFT_BACKTRACE, SWIFT_ROOT.
bool cs_environment_asks_for_backtracer(void);

// Fills the paths of cs_process; the spool file is named after the ring.
void cs_environment_apply(const cs_environment *environment);

// What a record keeps of the program's memory, as the program chose (cs_ring_memory_mode).
void cs_memory_mode_choose(uint32_t mode);
// Nothing is kept, until a sweep of another round: crashd's word.
void cs_memory_mode_withhold(uint32_t round);
void cs_memory_mode_sweep(uint32_t round);

// cs_testing.h: the kernel does not know F_SEAL_FUTURE_WRITE.
extern bool cs_ring_has_old_kernel;
cs_shim_error cs_ring_make(const cs_environment *environment, cs_shim_failure *ret_failure);
// Keeps the spool directory open, if there is one.
void cs_spool_open(void);
void cs_ring_unmake(void);

// Enters the loaded images into the ring.
void cs_images_register(const char *executable);

// In a forked child: those of its parent, without asking the loader.
void cs_images_inherit(const cs_ring *parent);

// Finds the texts that runtimes leave behind.
void cs_texts_find(void);

// Finds where the process keeps tasks, the first stack and the heap, for records.
void cs_places_find(void);

// Writes what distinguishes freed blocks from others.
void cs_heap_describe(cs_ring_header *header);

// Unwinds once from here: binds the functions the handler calls and touches the pages it reads.
void cs_warm_up(void);

cs_shim_error cs_handlers_install(cs_shim_failure *ret_failure);
void cs_handlers_remove(void);

// A thread of the shield's own. It keeps the structure. It ends when the shield's threads are dismissed.
typedef struct cs_own_thread {
  void (*prepare)(void); // the start waits for it; NULL: nothing
  void (*routine)(void);
  const char *name;
  size_t stack_bytes; // 0: the default
  cs_own_role role;
  sigset_t starters; // what the thread that started it first blocked
  int starters_pid;  // in which process; 0: it has not been started
  sigset_t mask;     // what it blocks
  uint32_t is_ready; // atomic, a futex
} cs_own_thread;

// No signal runs on it from its first instruction on, except SIGPROF where Swift's backtracer needs it.
cs_shim_error cs_own_thread_start(cs_own_thread *thread, cs_shim_failure *ret_failure);
// Whether the kernel has none of this role (any more).
bool cs_own_thread_has_ended(cs_own_role role);
// A futex of this process. NULL: however long it takes.
void cs_own_sleep_while(const uint32_t *word, uint32_t value, const struct timespec *at_most);
void cs_own_wake(const uint32_t *word);

// The thread that sleeps until a thread crashes, and watches over it then (watchdog.h).
cs_shim_error cs_watchdog_start(cs_shim_failure *ret_failure);
// After a dismissal.
cs_shim_error cs_watchdog_restart(cs_shim_failure *ret_failure);
// Whether the process got it over a fork that called no fork handlers.
bool cs_watchdog_is_inherited(void);
// In a forked child.
void cs_watchdog_forget(void);

// The thread that keeps the connection to crashd. While attached it makes no system call but for messages and
// incidents.
cs_shim_error cs_attach_client_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure);
// After a dismissal: goes on with the connection that is there.
cs_shim_error cs_attach_client_restart(cs_shim_failure *ret_failure);

// Ends the shield's threads, and starts them again: for calls that the kernel or libc refuse, or make in every thread,
// because there are threads (privileges.c). false: there are none, or they cannot be ended now; then
// cs_own_threads_return() must not be called. `waits`: where another thread makes such a call, this one comes after it;
// else it does not, for the kernel refuses the call to a process with several threads.
bool cs_own_threads_step_aside(bool waits);
// Waits until no thread makes such a call, a second at most.
void cs_own_threads_await_return(void);
void cs_own_threads_return(void);
// In a forked child.
void cs_own_threads_forget(void);

// One attempt without waiting for an answer, so that a crash right after the start finds a connection.
void cs_attach_client_connect(void);

// Sleeps that long, whatever signals come.
void cs_attach_client_pause(uint64_t duration_ns);

void cs_annotations_reset(void);
// Sets the annotation at a start; no later call changes it. `key` is a constant.
void cs_annotations_fix(const char *key, const char *value);
// Takes over the annotations of the parent's ring.
void cs_annotations_inherit(const cs_ring *parent);

// The first part of a start, for a constructor: ring and handlers, no thread and no connection. cs_shim_start() adds
// the rest; without it a crash connects itself.
void cs_start_early(void);

// Whether Swift's own backtracer is asked for and has not had the time to install its handlers: it does that in a
// constructor, and only where it finds the default action, so that ours would take its place for good.
bool cs_swift_comes_later(void);

// The largest part of `text` of at most `limit` bytes that ends between two characters.
size_t cs_text_cut(const char *text, size_t text_bytes, size_t limit);

#endif
