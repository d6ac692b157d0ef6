// The hook that receives a program's dynamic casts before the Swift runtime receives them. A conditional cast costs one
// comparison and one jump more than without the hook. A forced cast that succeeds costs one additional call.
// Conditional casts, and forced casts that succeed, reach the runtime with unchanged arguments. The code of this file
// takes no lock and allocates no memory until a forced cast has failed.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <stddef.h>

#include "casts.h"

// Flags of the runtime's DynamicCastFlags, which compiled programs pass to swift_dynamicCast. The hook passes all other
// flags to the runtime unchanged.
#define UNCONDITIONAL      ((uintptr_t)1)
#define TAKE_ON_SUCCESS    ((uintptr_t)2)
#define DESTROY_ON_FAILURE ((uintptr_t)4)

// A tail call leaves no frame of this library on the stack. If the cast ends the process, the recorded stack is
// therefore the same as without the hook.
#define MUST_JUMP __attribute__((musttail))

cs_casts_function *cs_casts_original;

static const char *obstacle = "the program has not started yet";
// True while this thread runs a function of CrashShieldCasts. The hook then passes all casts of this thread to the
// runtime.
static __thread bool is_asking;
static __thread bool is_testing;
static __thread cs_casts_seen seen;

static bool gives(void *target, void *source, const void *source_type, const void *target_type, uintptr_t flags,
                  uint64_t pc) {
  const bool was_asking = is_asking;
  is_asking = true;
  const bool is_given = cs_casts_meet(target, source, source_type, target_type, pc);
  is_asking = was_asking;
  // With the flag TAKE_ON_SUCCESS, the runtime destroys the source of a cast that succeeds, and the caller relies on
  // this destruction. A cast that gets a fallback value succeeds for the caller, but the runtime has not destroyed the
  // source. The hook therefore destroys it.
  if (is_given && (flags & TAKE_ON_SUCCESS) != 0) cs_casts_destroy(source, source_type);
  return is_given;
}

__attribute__((noinline)) static bool cast_or_ask(void *target, void *source, const void *source_type,
                                                  const void *target_type, uintptr_t flags) {
  if (is_testing) seen = (cs_casts_seen){(uintptr_t)source_type, (uintptr_t)target_type, flags};
  // This first cast omits the flags UNCONDITIONAL and DESTROY_ON_FAILURE. A failing cast then returns false and leaves
  // the source unchanged, so the hook can examine the source and cast it again.
  if (cs_casts_original(target, source, source_type, target_type, flags & ~(UNCONDITIONAL | DESTROY_ON_FAILURE)))
    return true;
  const uint64_t pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
  if ((!is_asking || is_testing) && gives(target, source, source_type, target_type, flags, pc)) return true;
  MUST_JUMP return cs_casts_original(target, source, source_type, target_type, flags);
}

bool cs_casts_cast(void *target, void *source, const void *source_type, const void *target_type, uintptr_t flags) {
  // acquire: the caller has read the address of this function from a table without an ordering. The fence pairs with
  // the release store in cs_casts_write_tables(), so that this thread reads cs_casts_original after that store. On
  // x86-64, the fence needs no instruction.
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if ((flags & UNCONDITIONAL) == 0) {
    MUST_JUMP return cs_casts_original(target, source, source_type, target_type, flags);
  }
  MUST_JUMP return cast_or_ask(target, source, source_type, target_type, flags);
}

// Runs before main, when the process has only one thread and nothing else writes the tables. Other threads exist only
// if a library that contains this code is loaded after main has started.
__attribute__((constructor)) static void start(void) {
  static const char name[] = "swift_dynamicCast";
  cs_casts_original = (cs_casts_function *)dlsym(RTLD_DEFAULT, name);
  obstacle = cs_casts_original == NULL ? "the Swift runtime is a part of the program (static standard library)"
                                       : cs_casts_write_tables(name, cs_casts_cast);
}

const char *cs_casts_obstacle(void) {
  return obstacle;
}

bool cs_casts_begin_test(void) {
  const bool goes_on = is_testing;
  is_testing = true;
  seen = (cs_casts_seen){0};
  return goes_on;
}

cs_casts_seen cs_casts_end_test(bool goes_on) {
  is_testing = goes_on;
  return seen;
}

#endif
