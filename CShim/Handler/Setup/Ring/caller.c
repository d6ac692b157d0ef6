#include "cs_platform.h"

#if CS_SUPPORTED

#include "caller.h"

#include <pthread.h>

// The stack size leaves space for the program's callbacks. Unused pages of the stack need no memory.
#define THREAD_STACK_BYTES (UINT64_C(256) * 1024)

// clang-format off
// The state of a call of a callback. Both threads wait on this state, which is a futex. The connection's thread posts
// a call, and the caller's thread makes it:
//
// | state  | set by                     | next                                                   |
// |--------|----------------------------|--------------------------------------------------------|
// | NONE   | the connection's thread    | POSTED                                                 |
// | POSTED | the connection's thread    | DONE; NONE if the caller's thread has ended            |
// | DONE   | the caller's thread        | NONE                                                   |
// clang-format on
enum { NONE, POSTED, DONE };

typedef struct call {
  uint32_t state;                 // atomic
  const cs_shim_control *control; // the control to apply; NULL: the call reports the status instead
  cs_shim_status status;
  const char *text;
  cs_control_result result;
  uint32_t count;
} call;

static call now;
static cs_callbacks callbacks;

static const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;

static void run(void);
static cs_own_thread thread = {
    .routine = run, .stack_bytes = THREAD_STACK_BYTES, .role = CS_OWN_CALLER, .name = "crashshield-c"};

static uint32_t state(void) {
  // acquire: pairs with the release store of set_state().
  return __atomic_load_n(&now.state, __ATOMIC_ACQUIRE);
}

static void set_state(uint32_t value) {
  __atomic_store_n(&now.state, value, __ATOMIC_RELEASE);
  cs_own_wake(&now.state);
}

// A callback is code of the program and can crash. During a callback, crash signals are therefore unblocked. A crash
// signal stays blocked if the thread that started the shield had blocked it.
static void make_call(void) {
  sigset_t before;
  sigset_t open;
  sigemptyset(&open);
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    if (sigismember(&thread.starters, crash_signals[index]) == 0) sigaddset(&open, crash_signals[index]);
  }
  cs_own_runs_callback(true);
  pthread_sigmask(SIG_UNBLOCK, &open, &before);
  if (now.control != NULL) {
    now.result = callbacks.control(now.control, &now.count);
  } else {
    callbacks.status(callbacks.context, now.status, now.text);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  cs_own_runs_callback(false);
}

static void run(void) {
  for (;;) {
    const uint32_t seen = state();
    if (seen == POSTED) {
      make_call();
      set_state(DONE);
      continue;
    }
    if (cs_own_are_dismissed()) return;
    cs_own_sleep_while(&now.state, seen, NULL);
  }
}

cs_shim_error cs_caller_restart(cs_shim_failure *ret_failure) {
  if (callbacks.status == NULL && callbacks.control == NULL) return CS_SHIM_OK;
  return cs_own_thread_start(&thread, ret_failure);
}

cs_shim_error cs_caller_start(const cs_callbacks *wanted, cs_shim_failure *ret_failure) {
  callbacks = *wanted;
  // If an earlier start of the shield created this thread and then failed, the thread still exists. A second thread
  // would call each callback a second time.
  if (!cs_own_thread_has_ended(CS_OWN_CALLER)) return CS_SHIM_OK;
  now = (call){.state = NONE};
  return cs_caller_restart(ret_failure);
}

void cs_caller_wake(void) {
  cs_own_wake(&now.state);
}

// Posts the call in `now`. Waits without a time limit until the caller's thread has made the call, or until that thread
// has ended.
static bool post(void) {
  set_state(POSTED);
  for (;;) {
    const uint32_t seen = state();
    const bool has_left = seen == POSTED && cs_own_are_dismissed() && cs_own_thread_has_ended(CS_OWN_CALLER);
    if (seen == DONE || has_left) {
      set_state(NONE);
      return seen == DONE;
    }
    cs_own_sleep_while(&now.state, seen, NULL);
  }
}

bool cs_caller_report_status(cs_shim_status status, const char *text) {
  if (callbacks.status == NULL) return true;
  now.control = NULL;
  now.status = status;
  now.text = text;
  return post();
}

cs_control_result cs_caller_apply(const cs_shim_control *control, uint32_t *ret_count) {
  if (callbacks.control == NULL) return CS_CONTROL_UNAVAILABLE;
  now.control = control;
  now.result = CS_CONTROL_UNAVAILABLE;
  now.count = *ret_count;
  if (!post()) return CS_CONTROL_UNAVAILABLE;
  *ret_count = now.count;
  return now.result;
}

#endif
