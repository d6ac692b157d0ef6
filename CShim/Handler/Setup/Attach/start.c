// The steps of cs_shim_start in their order, and the code that reverses them if a start fails. A start can have two
// parts: first, a constructor makes the ring (the memory that the process shares with crashd) and installs the signal
// handlers; later, the program's call adds the threads and the connection.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../Containment/containment_start.h"
#include "../Threads/alternate_stack.h"
#include "../setup.h"

#include "../../Signal/Containment/containment.h"
#include "../../Signal/Containment/drain.h"
#include "../../Signal/Deliver/deliver.h"
#include "../../Signal/Dispatch/crasher.h"
#include "../../Signal/FirstChance/chance.h"
#include "../../Signal/Images/images.h"
#include "../../Signal/Kernel/privilege.h"
#include "../../Signal/Lines/lines.h"
#include "../../Signal/Threads/sweep.h"
#include "../../Signal/Unwind/unwind.h"

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool has_fork_handlers;
static bool is_early; // whether only the first part of the start (by a constructor) is done

// The settings of the last start, for a forked child that starts in the same way as its parent. The child reads its
// parent's ring but does not write to it.
static cs_environment chosen;
static bool has_chosen;
static bool reattaches;
static cs_ring *parents_ring;

// Closes the connection to crashd if the stored descriptor still refers to it.
static void drop_connection(void) {
  const int number = cs_connection_now.number;
  if (cs_connection_is_ours(number)) close(number);
  cs_connection_now = (cs_connection){.number = -1};
}

static cs_shim_error start_like_parent(cs_shim_failure *ret_failure);

static void keep_parents_ring(void) {
  if (mprotect(cs_process.ring, sizeof(cs_ring), PROT_READ) != 0) return; // cs_ring_unmake() unmaps it
  parents_ring = cs_process.ring;
  cs_process.ring = NULL;
}

static void drop_parents_ring(void) {
  if (parents_ring != NULL) munmap(parents_ring, sizeof *parents_ring);
  parents_ring = NULL;
}

// Closes a forked child's copies of the shield's descriptors. The handler ignores the child's crashes until the child
// starts the shield again.
static void child_after_fork(void) {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  starting = fresh;
  cs_annotations_reset();
  cs_alternate_stacks_switch(false);
  cs_stack_forget();
  cs_contained_forget();
  cs_contained_forget_here();
  cs_containment_forget();
  cs_watchdog_forget();
  cs_own_threads_forget();
  is_early = false;
  if (cs_started_pid == 0) return;
  __atomic_store_n(&cs_started_pid, 0, __ATOMIC_RELEASE);
  cs_process.pid = 0; // in a new pid namespace, the child may have the same pid as its parent
  drop_connection();
  keep_parents_ring();
  cs_ring_unmake();
  cs_crasher_forget_all();
  cs_chance_forget_all();
  cs_sweep_forget();
  cs_lines_forget();
  if (!reattaches) return;
  // No caller in the program could receive a failure, because this start happens automatically in a forked child.
  cs_shim_failure failure;
  const int before = errno;
  (void)start_like_parent(&failure);
  errno = before;
}

// Restores the state that existed before a failed start. The alternate signal stack of the thread stays installed,
// because a signal handler can be running on it.
static void undo(void) {
  cs_alternate_stacks_switch(false);
  cs_process.pid = 0;
  drop_connection();
  cs_ring_unmake();
}

static void forget_former_process(void) {
  memset(&cs_process, 0, offsetof(cs_state, swift_message));
  cs_process.ring_descriptor.number = cs_process.reserve.number = cs_process.spool.number = -1;
  cs_process.last_words.number = cs_process.first_stderr.number = -1;
  cs_crasher_forget_all();
  cs_chance_forget_all();
  cs_sweep_forget();
  cs_drain_forget();
  cs_lines_forget();
  cs_requests_forget();
}

// Gives an alternate stack to this thread and to threads that start later.
static void give_stacks(void) {
  if (!cs_environment_gives_stacks() || !cs_alternate_stack_prepare()) return;
  cs_alternate_stack_give_here();
  cs_alternate_stacks_switch(true);
}

// Prepares all data that the crash handler needs. In a forked child that starts in the same way as its parent, `parent`
// is the parent's ring.
static cs_shim_error make_ready(const cs_environment *environment, const cs_ring *parent,
                                cs_shim_failure *ret_failure) {
  forget_former_process();
  const cs_shim_error error = cs_ring_make(environment, ret_failure);
  if (error != CS_SHIM_OK) return error;
  cs_environment_apply(environment);
  if (parent == NULL) {
    cs_images_register(environment->executable);
    cs_texts_find();
    cs_places_find();
  } else {
    cs_images_inherit(parent);
    cs_annotations_inherit(parent);
  }
  cs_privilege_note();
  cs_heap_describe(&cs_process.ring->header);
  give_stacks();
  cs_warm_up();
  cs_process.user = cs_geteuid();
  cs_process.is_copied = cs_environment_keeps_copy();
  cs_lines_open();
  cs_process.pid = cs_getpid();
  return CS_SHIM_OK;
}

// Starts the threads, and installs the handlers unless they are installed already.
static cs_shim_error go(const cs_shim_configuration *configuration, bool has_handlers, cs_shim_failure *ret_failure) {
  // The ring's field must be set before the hello is sent, because crashd reads the field when it receives the hello.
  cs_process.ring->header.takes_last_crash = configuration->control_function != NULL;
  cs_attach_client_connect();
  // This process is a child of a fork that did not run the fork handlers, such as a raw fork system call. The state of
  // the watchdog and of the shield's other threads is still the parent's, so the child resets it.
  if (cs_watchdog_is_inherited()) {
    cs_watchdog_forget();
    cs_own_threads_forget();
  }
  cs_shim_error error = cs_watchdog_start(ret_failure);
  if (error == CS_SHIM_OK && !has_handlers) error = cs_handlers_install(ret_failure);
  if (error != CS_SHIM_OK) return error;
  error = cs_attach_client_start(configuration, ret_failure);
  if (error != CS_SHIM_OK && !has_handlers) cs_handlers_remove();
  return error;
}

static void note_started(const cs_environment *environment) {
  chosen = *environment;
  has_chosen = true;
  drop_parents_ring();
  __atomic_store_n(&cs_started_pid, cs_process.pid, __ATOMIC_RELEASE);
}

static cs_shim_error start(const cs_environment *environment, const cs_ring *parent,
                           const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  cs_shim_error error = make_ready(environment, parent, ret_failure);
  if (error != CS_SHIM_OK) return error;
  if (parent == NULL) cs_environment_annotate();
  error = go(configuration, false, ret_failure);
  if (error != CS_SHIM_OK) {
    undo();
    return error;
  }
  note_started(environment);
  return CS_SHIM_OK;
}

// The second part of a start, after a constructor has installed the handlers. On failure, the handlers stay installed.
static cs_shim_error complete(const cs_environment *environment, const cs_shim_configuration *configuration,
                              cs_shim_failure *ret_failure) {
  memcpy(cs_process.ring->header.name, environment->name, sizeof environment->name);
  cs_environment_apply(environment);
  // The loader can have loaded more images since the first part of the start.
  cs_images_register(environment->executable);
  cs_texts_find();
  cs_places_find();
  cs_heap_describe(&cs_process.ring->header);
  const cs_shim_error error = go(configuration, true, ret_failure);
  if (error != CS_SHIM_OK) return error;
  is_early = false;
  note_started(environment);
  return CS_SHIM_OK;
}

// A first-chance handler is a handler of the program that can resolve a fault before the fault counts as a crash
// (chance.h). While such a handler runs, a crash record is pending. If the program left the handler with siglongjmp()
// shortly before exit(), the pending record must be withdrawn here.
__attribute__((destructor)) static void at_exit(void) {
  if (cs_shim_is_started()) cs_chance_end_all();
}

static void watch_forks(void) {
  if (!has_fork_handlers) has_fork_handlers = pthread_atfork(NULL, NULL, child_after_fork) == 0;
}

void cs_start_early(void) {
  const cs_shim_configuration defaults = {0};
  cs_shim_failure failure = {0};
  cs_environment environment;
  if (cs_environment_is_disabled() || cs_started_pid != 0) return;
  if (cs_environment_read(&defaults, &environment, &failure) != CS_SHIM_OK) return;
  watch_forks();
  if (make_ready(&environment, NULL, &failure) != CS_SHIM_OK) return;
  cs_environment_annotate();
  if (cs_handlers_install(&failure) != CS_SHIM_OK) {
    undo();
    return;
  }
  is_early = true;
  note_started(&environment);
}

static cs_shim_error start_as_configured(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  cs_environment environment;
  const cs_shim_error error = cs_environment_read(configuration, &environment, ret_failure);
  if (error != CS_SHIM_OK) return error;
  reattaches = configuration->reattaches_forked_children || cs_environment_reattaches();
  return is_early ? complete(&environment, configuration, ret_failure)
                  : start(&environment, NULL, configuration, ret_failure);
}

cs_shim_error cs_shim_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  if (cs_environment_is_disabled()) return CS_SHIM_DISABLED;
  pthread_mutex_lock(&starting);
  cs_shim_error error = CS_SHIM_ALREADY_STARTED;
  if (!cs_shim_is_started() || is_early) {
    const cs_shim_configuration defaults = {0};
    cs_shim_failure failure = {0};
    watch_forks();
    error = start_as_configured(configuration != NULL ? configuration : &defaults, &failure);
    if (error != CS_SHIM_OK && ret_failure != NULL) *ret_failure = failure;
  }
  pthread_mutex_unlock(&starting);
  return error;
}

// A forked child does not call its parent's status function: it could wait for a lock that another thread held at the
// fork and that is never released in the child.
static cs_shim_error start_like_parent(cs_shim_failure *ret_failure) {
  const cs_shim_configuration defaults = {0};
  const cs_environment environment = chosen;
  return start(&environment, parents_ring, &defaults, ret_failure);
}

cs_shim_error cs_shim_start_in_forked_child(cs_shim_failure *ret_failure) {
  if (cs_environment_is_disabled()) return CS_SHIM_DISABLED;
  pthread_mutex_lock(&starting);
  cs_shim_error error = CS_SHIM_ALREADY_STARTED;
  cs_shim_failure failure = {.errno_value = EINVAL, .what = "no process started the shield before the fork"};
  if (!cs_shim_is_started()) {
    error = has_chosen ? start_like_parent(&failure) : CS_SHIM_BAD_ARGUMENT;
    if (error != CS_SHIM_OK && ret_failure != NULL) *ret_failure = failure;
  }
  pthread_mutex_unlock(&starting);
  return error;
}

#endif
