// The steps of cs_shim_start(). They may allocate and fail. `undo` in start.c reverts them.
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

// The socket of crashd, the spool directory and the name of the process.
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
// Returns whether threads get alternate signal stacks. CRASHSHIELD_ALTSTACKS=0 switches them off.
bool cs_environment_gives_stacks(void);
// How long a crash waits for the answers of the other threads: CRASHSHIELD_SWEEP_MS. 0: it does not wait.
uint32_t cs_environment_sweep_ms(void);
// How long the handler may take: CRASHSHIELD_DEADLINE_MS. 0: no limit.
uint32_t cs_environment_deadline_ms(void);

// Returns whether crashd may change settings in this process: CRASHSHIELD_CONTROL.
bool cs_environment_allows_control(const cs_shim_configuration *configuration);

// Returns whether a crash that is delivered to crashd is also left in the spool: CRASHSHIELD_COPY.
bool cs_environment_keeps_copy(void);

// Returns whether forked children start like their parent: CRASHSHIELD_FORK=1.
bool cs_environment_reattaches(void);
// Returns whether a constructor starts the shield: CRASHSHIELD_EARLY=1.
bool cs_environment_starts_early(void);
// Returns whether Swift's own backtracer is enabled: SWIFT_BACKTRACE, SWIFT_ROOT.
bool cs_environment_asks_for_backtracer(void);

// Fills the paths of cs_process; the spool file is named after the ring.
void cs_environment_apply(const cs_environment *environment);

// Sets the memory contents that a record keeps, as the program chose (cs_ring_memory_mode).
void cs_memory_mode_choose(uint32_t mode);
// crashd's request: records keep no memory until a sweep with another round.
void cs_memory_mode_withhold(uint32_t round);
void cs_memory_mode_sweep(uint32_t round);

// cs_testing.h: simulates a kernel without F_SEAL_FUTURE_WRITE.
extern bool cs_ring_has_old_kernel;
cs_shim_error cs_ring_make(const cs_environment *environment, cs_shim_failure *ret_failure);
// Keeps the spool directory open, if there is one.
void cs_spool_open(void);
void cs_ring_unmake(void);

// Enters the loaded images into the ring.
void cs_images_register(const char *executable);

// In a forked child: copies the parent's images without asking the loader.
void cs_images_inherit(const cs_ring *parent);

// Finds the buffers in which the Swift runtime and libc leave error messages.
void cs_texts_find(void);

// Finds where the process keeps its tasks, its first stack and its heap, for records.
void cs_places_find(void);

// Writes how a freed heap block differs from a block in use.
void cs_heap_describe(cs_ring_header *header);

// Unwinds once from here. This binds the functions that the handler calls and touches the pages that it reads.
void cs_warm_up(void);

cs_shim_error cs_handlers_install(cs_shim_failure *ret_failure);
void cs_handlers_remove(void);

// A thread of the shield. It uses this structure until the shield's threads are dismissed and it ends.
typedef struct cs_own_thread {
  void (*prepare)(void); // runs before the start returns; NULL: nothing
  void (*routine)(void);
  const char *name;
  size_t stack_bytes; // 0: the default
  cs_own_role role;
  sigset_t starters; // the signals blocked in the thread that first started it
  int starters_pid;  // the process of that start; 0: it has not been started
  sigset_t mask;     // the signals that this thread blocks
  uint32_t is_ready; // atomic, a futex
} cs_own_thread;

// The thread blocks all signals from its first instruction on, except SIGPROF if Swift's backtracer needs it.
cs_shim_error cs_own_thread_start(cs_own_thread *thread, cs_shim_failure *ret_failure);
// Returns whether the kernel has no thread of this role, or has removed it.
bool cs_own_thread_has_ended(cs_own_role role);
// Sleeps on a futex of this process. `at_most` NULL: no limit.
void cs_own_sleep_while(const uint32_t *word, uint32_t value, const struct timespec *at_most);
void cs_own_wake(const uint32_t *word);

// Starts the thread that sleeps until a thread crashes and then supervises the handler (watchdog.h).
cs_shim_error cs_watchdog_start(cs_shim_failure *ret_failure);
// Restarts the thread after a dismissal.
cs_shim_error cs_watchdog_restart(cs_shim_failure *ret_failure);
// Returns whether a fork without fork handlers left the watchdog's state to this process.
bool cs_watchdog_is_inherited(void);
// Resets the watchdog's state in a forked child.
void cs_watchdog_forget(void);

// Starts the thread that keeps the connection to crashd. While attached it makes system calls only for messages and
// incidents.
cs_shim_error cs_attach_client_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure);
// Restarts the thread after a dismissal. It continues with the existing connection.
cs_shim_error cs_attach_client_restart(cs_shim_failure *ret_failure);

// Ends the shield's threads before a call that fails in a process with several threads, or that libc makes in every
// thread (privileges.c). cs_own_threads_return() restarts them. false: there are no threads, or they cannot be ended
// now; then cs_own_threads_return() must not be called. `waits`: wait if another thread makes such a call. Otherwise
// return false, because the kernel refuses the call to a process with several threads.
bool cs_own_threads_step_aside(bool waits);
// Waits until no thread makes such a call, at most one second.
void cs_own_threads_await_return(void);
void cs_own_threads_return(void);
// Resets that state in a forked child.
void cs_own_threads_forget(void);

// Tries once to connect, without waiting for an answer, so that a crash right after the start finds a connection.
void cs_attach_client_connect(void);

// Sleeps for the duration, even if signals arrive.
void cs_attach_client_pause(uint64_t duration_ns);

void cs_annotations_reset(void);
// Sets the annotation at the start of the shield. Later calls of the program cannot change it. `key` is a constant.
void cs_annotations_fix(const char *key, const char *value);
// Copies the annotations of the parent's ring.
void cs_annotations_inherit(const cs_ring *parent);

// The first part of a start, for a constructor: makes the ring and installs the handlers. It starts no thread and makes
// no connection; cs_shim_start() adds them. Without cs_shim_start() the handler of a crash connects to crashd.
void cs_start_early(void);

// Returns whether Swift's own backtracer is enabled but has not installed its handlers yet. The backtracer installs
// them in a constructor, and only for signals with the default action. Our handlers, installed first, would replace it
// permanently.
bool cs_swift_comes_later(void);

// Returns the length of the longest prefix of `text` that has at most `limit` bytes and ends between two characters.
size_t cs_text_cut(const char *text, size_t text_bytes, size_t limit);

#endif
