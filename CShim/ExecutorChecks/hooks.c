// The hooks that the Swift runtime calls for executor checks, before a failing check ends the process. When asked for
// an answer, a hook first calls the runtime's own function, or the hook that another library installed earlier. The
// hook changes the resulting answer only if this answer would end the process.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <stdatomic.h>
#include <stddef.h>

#include "executor_checks.h"

// The answers of a hook to the runtime's question whether the current context is isolated.
#define ISOLATED  1
#define ELSEWHERE 0
#define UNKNOWN   (-1)

typedef __attribute__((swiftcall)) int8_t ask_hook(uintptr_t identity, uintptr_t implementation,
                                                   cs_executor_ask *original);
typedef __attribute__((swiftcall)) void check_hook(uintptr_t identity, uintptr_t implementation,
                                                   cs_executor_check *original);

// The runtime's variables in which a library stores its hooks. The runtime reads them at each check without memory
// ordering.
extern __attribute__((weak, visibility("default"))) ask_hook *swift_task_isIsolatingCurrentContext_hook;
extern __attribute__((weak, visibility("default"))) check_hook *swift_task_checkIsolated_hook;
extern __attribute__((weak, visibility("default"))) const void *swift_getObjectType(uintptr_t object);

static ask_hook *previous_ask;
static check_hook *previous_check;
static cs_executor_obstacle obstacle = CS_EXECUTOR_NO_HOOKS;

static void check(uintptr_t identity, uintptr_t implementation, cs_executor_check *original) __attribute__((swiftcall));

static bool are_ours(void) {
  return __atomic_load_n(&swift_task_isIsolatingCurrentContext_hook, __ATOMIC_RELAXED) == cs_executor_asked &&
         __atomic_load_n(&swift_task_checkIsolated_hook, __ATOMIC_RELAXED) == check;
}

// Returns whether to make a failing check pass.
static bool passes(uintptr_t identity, bool is_main, const void *frame) {
  // swift_getObjectType does not accept the null executor, which has no type.
  if (obstacle != CS_EXECUTOR_WORKS || cs_executor_met == NULL || identity == 0) return false;
  const void *const type = swift_getObjectType(identity);
  cs_calls_call call;
  if (!cs_executor_find_call(frame, &call)) return cs_executor_met(type, is_main, 0, false);
  const bool is_consequence = cs_executor_is_consequence(identity, &call, frame);
  if (!cs_executor_met(type, is_main, cs_executor_place(&call), is_consequence)) return false;
  if (!is_consequence) cs_executor_passed(identity, &call);
  return true;
}

int8_t cs_executor_answer(uintptr_t identity, uintptr_t implementation, cs_executor_ask *original,
                          const cs_executor_asker *asker) {
  // acquire: the runtime read the address of this hook with a plain load, without memory ordering. The fence pairs with
  // the exchange in set_hooks(), so that this thread reads previous_ask after that exchange.
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (cs_executor_is_probe(identity)) {
    cs_executor_probe_asked(asker);
    return UNKNOWN;
  }
  int8_t answer;
  if (previous_ask != NULL) {
    answer = previous_ask(identity, implementation, original);
  } else {
    answer = original(identity, implementation);
  }
  // ELSEWHERE alone can end the process here. If this hook answers UNKNOWN, the runtime calls
  // swift_task_checkIsolated_hook next, and that hook decides.
  if (answer != ELSEWHERE || obstacle != CS_EXECUTOR_WORKS) return answer;
  // If another library has installed its hook after this one, the answer stays unchanged. The later hook can change the
  // answers, so the result of the test of the hooks (probe.c) possibly no longer applies.
  if (!are_ours() || !cs_executor_must_hold(asker)) return answer;
  const bool is_main = swift_task_isMainExecutor(identity, implementation);
  return passes(identity, is_main, &asker->registers[CS_EXECUTOR_REGISTERS - 1]) ? ISOLATED : ELSEWHERE;
}

// The runtime calls this hook only in checks that end the process on failure. If the hook returns, the check succeeds.
static __attribute__((swiftcall)) void check(uintptr_t identity, uintptr_t implementation,
                                             cs_executor_check *original) {
  const void *const frame = __builtin_frame_address(0);
  __atomic_thread_fence(__ATOMIC_ACQUIRE); // as in cs_executor_answer()
  if (cs_executor_is_probe(identity)) {
    cs_executor_probe_checked(frame);
    return;
  }
  // The runtime itself determines where an actor without a custom executor runs. If the runtime calls this hook for
  // such an actor, the check has failed. A custom executor makes the check itself, in `original`: it ends the process
  // or returns.
  const bool is_plain_actor = identity != 0 && implementation == 0;
  const bool is_main = !is_plain_actor && swift_task_isMainExecutor(identity, implementation);
  const bool fails = is_plain_actor || (is_main && cs_executor_is_off_main_queue(identity));
  if (fails && passes(identity, is_main, frame)) return;
  if (previous_check != NULL) {
    previous_check(identity, implementation, original);
  } else {
    original(identity, implementation);
  }
}

cs_executor_obstacle cs_executor_status(void) {
  if (obstacle == CS_EXECUTOR_WORKS && !are_ours()) return CS_EXECUTOR_REPLACED;
  return obstacle;
}

// Installs each hook with an atomic compare-and-exchange. A plain store could overwrite a hook that another library
// installs at the same time.
static void set_hooks(void) {
  previous_ask = __atomic_load_n(&swift_task_isIsolatingCurrentContext_hook, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&swift_task_isIsolatingCurrentContext_hook, &previous_ask, cs_executor_asked,
                                      false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    ;
  previous_check = __atomic_load_n(&swift_task_checkIsolated_hook, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&swift_task_checkIsolated_hook, &previous_check, check, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE))
    ;
}

__attribute__((constructor)) static void start(void) {
  if (&swift_task_isIsolatingCurrentContext_hook == NULL || &swift_task_checkIsolated_hook == NULL ||
      swift_task_isCurrentExecutor == NULL || swift_task_isCurrentExecutorWithFlags == NULL ||
      swift_task_isMainExecutor == NULL || swift_getObjectType == NULL)
    return;
  set_hooks();
  obstacle = cs_executor_test();
}

#endif
