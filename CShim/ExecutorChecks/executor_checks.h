// The interface between the files that implement the hooks of executor checks. The runtime has two hooks: one asks
// whether an executor is the current one (`ask`), the other makes a check that ends the process if it fails (`check`).
#ifndef CS_EXECUTOR_CHECKS_PARTS_H
#define CS_EXECUTOR_CHECKS_PARTS_H

#include "cs_calls.h"
#include "cs_executor_checks.h"

#pragma GCC visibility push(hidden)

// The types of the runtime's own functions. The runtime passes a hook the two words of an executor and such a function,
// which the hook can call.
typedef __attribute__((swiftcall)) int8_t cs_executor_ask(uintptr_t identity, uintptr_t implementation);
typedef __attribute__((swiftcall)) void cs_executor_check(uintptr_t identity, uintptr_t implementation);

// These functions of the Swift runtime are weak: their addresses are NULL if the runtime does not have them.
#define RUNTIME(result) extern __attribute__((weak, visibility("default"), swiftcall)) result
RUNTIME(bool) swift_task_isCurrentExecutor(uintptr_t identity, uintptr_t implementation);
RUNTIME(bool) swift_task_isCurrentExecutorWithFlags(uintptr_t identity, uintptr_t implementation, uint64_t flags);
RUNTIME(bool) swift_task_isMainExecutor(uintptr_t identity, uintptr_t implementation);

// The callee-saved registers of the runtime's function that called the hook, and the return address into this function.
// entry_x86_64.S and entry_aarch64.S store them.
#if defined(__aarch64__)
#define CS_EXECUTOR_REGISTERS 11 // x19 to x29
#else
#define CS_EXECUTOR_REGISTERS 6 // r15 to r12, rbx, rbp
#endif
typedef struct cs_executor_asker {
  uint64_t registers[CS_EXECUTOR_REGISTERS]; // the last one is the frame pointer; together with the return address
                                             // below, it is a frame that an unwinder can read
  uint64_t return_address;
} cs_executor_asker;
__attribute__((swiftcall)) int8_t cs_executor_asked(uintptr_t identity, uintptr_t implementation,
                                                    cs_executor_ask *original);
// hooks.c: returns the hook's answer to the runtime. cs_executor_asked (entry_*.S) calls this function.
int8_t cs_executor_answer(uintptr_t identity, uintptr_t implementation, cs_executor_ask *original,
                          const cs_executor_asker *asker);

// Defined in probe.c: an executor that no task has. If the runtime calls a hook for this executor, a test of the hooks
// (probe.c) caused the call.
extern const uint64_t cs_executor_probe;
static inline bool cs_executor_is_probe(uintptr_t identity) {
  return identity == (uintptr_t)&cs_executor_probe;
}
void cs_executor_probe_asked(const cs_executor_asker *asker);
void cs_executor_probe_checked(const void *frame);
// Tests the hooks after they are installed. Returns the reason why the hooks do not work, or CS_EXECUTOR_WORKS.
cs_executor_obstacle cs_executor_test(void);
// Returns whether the runtime's function that called the hook (the asker) ends the process if the hook answers no.
bool cs_executor_must_hold(const cs_executor_asker *asker);

// place.c: finds the addresses of the runtime's code. Returns false if the runtime and this code are in one image
// (executable or shared library), because an address in this image then does not show whose code it is.
bool cs_executor_find_runtime(void);
// Finds the program's call that led to the hook whose frame is `frame`. Returns false if it does not find this call.
bool cs_executor_find_call(const void *frame, cs_calls_call *ret_call);
// Returns a number that identifies the call site.
uint64_t cs_executor_place(const cs_calls_call *call);
// Stores that an executor check failed at `call`, and that the hook let the check pass.
void cs_executor_passed(uintptr_t identity, const cs_calls_call *call);
// Returns whether `call` is a consequence of an earlier failing check that the hook let pass. The result is true if the
// function that contains the earlier check is still running and made `call`, directly or through other functions.
bool cs_executor_is_consequence(uintptr_t identity, const cs_calls_call *call, const void *frame);

// main_queue.c: returns true if the main actor's check certainly fails on this thread. If the result is false, the
// check can pass or fail.
bool cs_executor_is_off_main_queue(uintptr_t identity);

#pragma GCC visibility pop

#endif
