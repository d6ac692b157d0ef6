// cs_shim_start: the steps in order, and their way back.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alternate_stack.h"
#include "setup.h"

#include "../Signal/crasher.h"
#include "../Signal/deliver.h"
#include "../Signal/images.h"
#include "../Signal/sweep.h"

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool has_fork_handlers;

// Nonzero when the handlers stand; the pid says in which process.
static int started_pid;

cs_ring *cs_started_ring(void) {
  // acquire: pairs with the release store at the end of start().
  const int pid = __atomic_load_n(&started_pid, __ATOMIC_ACQUIRE);
  return pid != 0 ? cs_process.ring : NULL;
}

bool cs_shim_is_started(void) {
  return cs_started_ring() != NULL && cs_getpid() == cs_process.pid;
}

// Closes the connection if it is still ours.
static void drop_connection(void) {
  const int number = cs_connection_now.number;
  if (cs_connection_is_ours(number)) close(number);
  cs_connection_now = (cs_connection){.number = -1};
}

// A forked child holds copies of our descriptors: while it lives, crashd would not see that the parent ended. Its
// crashes are not ours either, until it starts anew.
static void child_after_fork(void) {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  starting = fresh;
  cs_annotations_reset();
  cs_alternate_stacks_switch(false);
  cs_watcher_forget();
  if (started_pid == 0) return;
  __atomic_store_n(&started_pid, 0, __ATOMIC_RELEASE);
  cs_process.pid = 0; // the first process of a pid namespace may have its parent's number
  drop_connection();
  cs_ring_unmake();
  cs_crasher_forget_all();
  cs_sweep_forget();
}

// Back to how it was before start(), except for what cannot be taken back without harm (the alternate stack).
static void undo(void) {
  cs_alternate_stacks_switch(false);
  cs_process.pid = 0;
  drop_connection();
  cs_ring_unmake();
}

static void forget_former_process(void) {
  memset(&cs_process, 0, offsetof(cs_state, previous));
  cs_process.ring_descriptor.number = cs_process.reserve.number = -1;
  memset(&cs_images, 0, sizeof cs_images);
  cs_crasher_forget_all();
  cs_sweep_forget();
}

// To this thread, and to those that come.
static void give_stacks(void) {
  if (!cs_environment_gives_stacks() || !cs_alternate_stack_prepare()) return;
  cs_alternate_stack_give_here();
  cs_alternate_stacks_switch(true);
}

static cs_shim_error start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  cs_environment environment;
  cs_shim_error error = cs_environment_read(configuration, &environment, ret_failure);
  if (error != CS_SHIM_OK) return error;
  forget_former_process();
  error = cs_ring_make(&environment, ret_failure);
  if (error != CS_SHIM_OK) return error;
  cs_environment_apply(&environment);
  cs_images_register(environment.executable);
  cs_texts_find();
  give_stacks();
  cs_warm_up();

  cs_process.pid = cs_getpid();
  cs_attach_client_connect();
  error = cs_watcher_start(ret_failure);
  if (error == CS_SHIM_OK) error = cs_handlers_install(ret_failure);
  if (error == CS_SHIM_OK) {
    error = cs_attach_client_start(configuration, ret_failure);
    if (error != CS_SHIM_OK) cs_handlers_remove();
  }
  if (error != CS_SHIM_OK) {
    undo();
    return error;
  }
  __atomic_store_n(&started_pid, cs_process.pid, __ATOMIC_RELEASE);
  return CS_SHIM_OK;
}

cs_shim_error cs_shim_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  if (cs_environment_is_disabled()) return CS_SHIM_DISABLED;
  pthread_mutex_lock(&starting);
  cs_shim_error error = CS_SHIM_ALREADY_STARTED;
  if (!cs_shim_is_started()) {
    const cs_shim_configuration defaults = {0};
    cs_shim_failure failure = {0};
    if (!has_fork_handlers) has_fork_handlers = pthread_atfork(NULL, NULL, child_after_fork) == 0;
    error = start(configuration != NULL ? configuration : &defaults, &failure);
    if (error != CS_SHIM_OK && ret_failure != NULL) *ret_failure = failure;
  }
  pthread_mutex_unlock(&starting);
  return error;
}
