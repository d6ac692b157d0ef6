// The steps of cs_shim_start(). They can allocate memory, and can fail; `undo` in start.c reverses them. The ring is
// the memory through which the process passes crash records to crashd. The handler is the shield's crash handler, a
// signal handler.
#ifndef CS_SETUP_H
#define CS_SETUP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Signal/Dispatch/state.h"
#include "../Signal/Threads/own_threads.h"
#include "cs_shim.h"

// Stores `what` and errno in `ret_failure`, and returns CS_SHIM_SYSTEM_CALL.
cs_shim_error cs_setup_failed(cs_shim_failure *ret_failure, const char *what);

// The socket of crashd, the spool directory and the name of the process.
typedef struct cs_environment {
  char socket_path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
  char spool_directory[CS_RING_PATH_LIMIT_BYTES - 64]; // leaves space for a file name
  char name[CS_RING_NAME_LIMIT_BYTES];
  char executable[CS_RING_PATH_LIMIT_BYTES];
  uint32_t memory_mode; // cs_ring_memory_mode
} cs_environment;

// Merges the configuration, the environment variables CRASHSHIELD_* and the defaults.
cs_shim_error cs_environment_read(const cs_shim_configuration *configuration, cs_environment *ret_environment,
                                  cs_shim_failure *ret_failure);
// Adds annotations of the deployment to the ring: release, environment, and the names of pod, namespace, node and
// container.
void cs_environment_annotate(void);
bool cs_environment_is_disabled(void);
// Returns whether the shield gives threads alternate signal stacks. CRASHSHIELD_ALTSTACKS=0 switches them off.
bool cs_environment_gives_stacks(void);
// Returns how long a crash waits for the other threads, which record their stacks (the sweep): CRASHSHIELD_SWEEP_MS. 0:
// no sweep.
uint32_t cs_environment_sweep_ms(void);
// Returns how long the handler is allowed to run, from CRASHSHIELD_DEADLINE_MS. 0: no limit.
uint32_t cs_environment_deadline_ms(void);

// Returns whether crashd is allowed to change settings in this process: CRASHSHIELD_CONTROL.
bool cs_environment_allows_control(const cs_shim_configuration *configuration);

// Returns whether the handler leaves a copy of each crash in the spool directory, even if crashd has received the
// crash: CRASHSHIELD_COPY.
bool cs_environment_keeps_copy(void);

// Returns where the handler writes the last words, a short description of a crash: CRASHSHIELD_LAST_WORDS. NULL: the
// default.
const char *cs_environment_last_words(void);
// Returns whether a crash that neither crashd nor the spool has received is written to stderr:
// CRASHSHIELD_RECORD=stderr.
bool cs_environment_records_to_stderr(void);

// Returns whether forked children start the shield in the same way as their parent: CRASHSHIELD_FORK=1.
bool cs_environment_reattaches(void);
// Returns whether a constructor starts the shield: CRASHSHIELD_EARLY=1.
bool cs_environment_starts_early(void);
// Returns whether Swift's own backtracer is enabled: SWIFT_BACKTRACE and SWIFT_ROOT.
bool cs_environment_asks_for_backtracer(void);

// Sets the paths and the memory mode in cs_process. The name of the spool file contains the ring's ID.
void cs_environment_apply(const cs_environment *environment);

// Sets how much memory of the program a crash record contains, as the program chose (cs_ring_memory_mode).
void cs_memory_mode_choose(uint32_t mode);
// Applies crashd's request to record no memory. A round is the number of a set of controls that crashd sends together.
// The request stays in force until crashd sends a CS_CONTROL_SWEEP with another round: the later set does not contain
// this request.
void cs_memory_mode_withhold(uint32_t round);
void cs_memory_mode_sweep(uint32_t round);

// cs_testing.h: if true, simulates a kernel without F_SEAL_FUTURE_WRITE.
extern bool cs_ring_has_old_kernel;
cs_shim_error cs_ring_make(const cs_environment *environment, cs_shim_failure *ret_failure);
// Opens the spool directory, if it exists, and keeps it open.
void cs_spool_open(void);
void cs_ring_unmake(void);
// Returns a cs_descriptor with the descriptor's number and the identity of its file.
cs_descriptor cs_descriptor_described(int number);

// Opens the file for the last words, and finds the functions whose frames the last words omit. The last words and the
// record line are disabled in a program that has more privileges than its caller.
void cs_lines_open(void);
void cs_lines_close(void);

// Adds the loaded images to the ring.
void cs_images_register(const char *executable);

// In a forked child: copies the parent's images without calling the loader.
void cs_images_inherit(const cs_ring *parent);

// Finds the buffers in which the Swift runtime and libc store their error messages.
void cs_texts_find(void);

// Finds addresses that the handler needs: the unwind tables of the executable, the runtime's variable for the current
// task, and the upper end of the first thread's stack.
void cs_places_find(void);

// Determines how a freed heap block differs from a block in use, and writes the result into the ring's header.
void cs_heap_describe(cs_ring_header *header);

// Unwinds once. This call makes the loader bind the functions that the handler calls, and brings the pages that the
// handler reads into memory.
void cs_warm_up(void);

cs_shim_error cs_handlers_install(cs_shim_failure *ret_failure);
void cs_handlers_remove(void);

// A thread of the shield. The structure must stay valid until the thread has ended.
typedef struct cs_own_thread {
  void (*prepare)(void); // runs on the new thread before cs_own_thread_start returns; NULL: nothing
  void (*routine)(void);
  const char *name;
  size_t stack_bytes; // 0: the default size
  cs_own_role role;
  sigset_t starters; // the signals that were blocked in the thread that called for the first start of this thread
  int starters_pid;  // the process in which this thread was first started; 0: none
  sigset_t mask;     // the signals that this thread blocks
  uint32_t is_ready; // atomic, a futex
} cs_own_thread;

// Starts the thread. The thread blocks all signals from its first instruction. However, SIGPROF is not blocked if
// Swift's backtracer needs this signal.
cs_shim_error cs_own_thread_start(cs_own_thread *thread, cs_shim_failure *ret_failure);
// Returns whether no thread of the shield with this role exists.
bool cs_own_thread_has_ended(cs_own_role role);
// Sleeps on a futex of this process while its value is `value`. If `at_most` is NULL, there is no time limit.
void cs_own_sleep_while(const uint32_t *word, uint32_t value, const struct timespec *at_most);
void cs_own_wake(const uint32_t *word);

// Starts the watchdog, a thread that sleeps until a thread crashes and then supervises the handler (watchdog.h).
cs_shim_error cs_watchdog_start(cs_shim_failure *ret_failure);
// Starts the watchdog again after a dismissal (after the shield's threads were asked to end).
cs_shim_error cs_watchdog_restart(cs_shim_failure *ret_failure);
// Returns whether this process inherited the watchdog's state at a fork that did not run the fork handlers, for example
// a raw fork system call.
bool cs_watchdog_is_inherited(void);
// Resets the watchdog's state, which a forked child inherits.
void cs_watchdog_forget(void);

// Starts the thread that keeps the connection to crashd. While the process is attached to crashd, the thread makes
// system calls only if a message arrives or an incident is recorded.
cs_shim_error cs_attach_client_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure);
// Starts the thread again after a dismissal. The thread continues with the existing connection.
cs_shim_error cs_attach_client_restart(cs_shim_failure *ret_failure);

// Ends the shield's threads before a call that fails in a process with several threads, or that libc makes in every
// thread (privileges.c). If it returns true, cs_own_threads_return() must restart them after the call. Returns false if
// the shield has no threads, or if they cannot be ended now. `waits`: whether to wait, at most one second, if another
// thread has ended the shield's threads for its own call. Without waiting, the result is then false.
bool cs_own_threads_step_aside(bool waits);
// Waits at most one second, until no other thread is making a call for which it has ended the shield's threads.
void cs_own_threads_await_return(void);
void cs_own_threads_return(void);
// In a forked child: resets the state of the functions that end and restart the threads.
void cs_own_threads_forget(void);

// Tries once to connect to crashd, and does not wait for an answer. If the process crashes soon after the start, the
// crash handler can then use this connection.
void cs_attach_client_connect(void);

// Sleeps for the duration, even if signals arrive.
void cs_attach_client_pause(uint64_t duration_ns);

void cs_annotations_reset(void);

// Writes the bytes that the hexadecimal digits of `text` represent. Writes zeros if `text` contains another character,
// and nothing if its length is not 2 * size. `size` is a multiple of 4.
void cs_hex_digits_put(uint8_t *to, size_t size, cs_shim_text text);

// Frees the entries of all requests when a new ring is created. A request that is already running has no entry in the
// new ring.
void cs_requests_forget(void);

// Sets an annotation at the start of the shield. The program cannot change this annotation later. The string `key` must
// stay valid forever.
void cs_annotations_fix(const char *key, const char *value);
// Copies the annotations of the parent's ring.
void cs_annotations_inherit(const cs_ring *parent);

// The first part of a start, for a constructor: makes the ring and installs the handlers. Starts no threads and does
// not connect to crashd: cs_shim_start() does both later. If the process crashes before cs_shim_start(), the handler
// connects to crashd.
void cs_start_early(void);

// Returns whether Swift's own backtracer is enabled but has not yet installed its handlers. The backtracer installs
// them in a constructor, and only for signals that have the default action. If the shield installed its handlers first,
// the backtracer would never install its own.
bool cs_swift_comes_later(void);

// Returns the length of the longest prefix of `text` that has at most `limit` bytes and does not end inside a UTF-8
// character.
size_t cs_text_cut(const char *text, size_t text_bytes, size_t limit);

#endif
