// Between the files of the hooks.
#ifndef CS_EXECUTOR_CHECKS_PARTS_H
#define CS_EXECUTOR_CHECKS_PARTS_H

#include "cs_calls.h"
#include "cs_executor_checks.h"

#pragma GCC visibility push(hidden)

// What the runtime hands to a hook: an executor's two words, and its own function.
typedef __attribute__((swiftcall)) int8_t cs_executor_ask(uintptr_t identity, uintptr_t implementation);
typedef __attribute__((swiftcall)) void cs_executor_check(uintptr_t identity, uintptr_t implementation);

// The Swift runtime's; NULL in one that does not have them.
#define RUNTIME(result) extern __attribute__((weak, visibility("default"), swiftcall)) result
RUNTIME(bool) swift_task_isCurrentExecutor(uintptr_t identity, uintptr_t implementation);
RUNTIME(bool) swift_task_isCurrentExecutorWithFlags(uintptr_t identity, uintptr_t implementation, uint64_t flags);
RUNTIME(bool) swift_task_isMainExecutor(uintptr_t identity, uintptr_t implementation);

// entry_x86_64.S: what the runtime's function has in the registers that a call keeps, and where it goes on.
#define CS_EXECUTOR_REGISTERS 6
typedef struct cs_executor_asker {
  uint64_t registers[CS_EXECUTOR_REGISTERS]; // the last is the frame pointer: with what follows it is a frame
  uint64_t return_address;
} cs_executor_asker;
__attribute__((swiftcall)) int8_t cs_executor_asked(uintptr_t identity, uintptr_t implementation,
                                                    cs_executor_ask *original);
// hooks.c, called by that.
int8_t cs_executor_answer(uintptr_t identity, uintptr_t implementation, cs_executor_ask *original,
                          const cs_executor_asker *asker);

// probe.c: an executor that no task has. Questions about it are tests.
extern const uint64_t cs_executor_probe;
static inline bool cs_executor_is_probe(uintptr_t identity) {
  return identity == (uintptr_t)&cs_executor_probe;
}
void cs_executor_probe_asked(const cs_executor_asker *asker);
void cs_executor_probe_checked(const void *frame);
// The hooks are set. Returns what they do not do.
cs_executor_obstacle cs_executor_test(void);
// Whether the asker's call is one that ends the process where the answer is no.
bool cs_executor_must_hold(const cs_executor_asker *asker);

// place.c
// Finds out where the runtime's code lies. False: that is where the program's lies.
bool cs_executor_find_runtime(void);
// The call of the program's that led to this frame of a hook; false: it was not found.
bool cs_executor_find_call(const void *frame, cs_calls_call *ret_call);
// A number for the place of a call.
uint64_t cs_executor_place(const cs_calls_call *call);
// A check of an executor's has failed at the call, and was made to pass.
void cs_executor_passed(uintptr_t identity, const cs_calls_call *call);
// Whether the call that led to this frame is one that a function makes which has gone on after such a check.
bool cs_executor_is_consequence(uintptr_t identity, const cs_calls_call *call, const void *frame);

// main_queue.c
// Whether it is certain that the main actor's check fails here. Where it is not certain it may fail or hold.
bool cs_executor_is_off_main_queue(uintptr_t identity);

#pragma GCC visibility pop

#endif
