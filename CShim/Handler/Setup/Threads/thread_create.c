// Interposes pthread_create, in order to give each new thread an alternate signal stack. If the definition is in the
// executable or in a preloaded library, it also receives the calls of libdispatch, libstdc++, NIO and a static Swift
// library.
//
// Before cs_shim_start, or if alternate stacks are switched off, the call goes to libc unchanged.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "alternate_stack.h"

// Sanitizers intercept pthread_create themselves and must receive each call, so the shield does not interpose it in
// their builds.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer) || __has_feature(memory_sanitizer) ||       \
    __has_feature(thread_sanitizer)
#define CS_LEAVES_THREADS_ALONE
#endif
#endif

#ifndef CS_LEAVES_THREADS_ALONE

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_function *next; // atomic

// libc's pthread_create in a static executable, where dlsym cannot find it under its usual name. In libc.a, one object
// file (glibc, nptl/pthread_create.c) contains __pthread_create_2_1 and the weak pthread_create that ours replaces. A
// shared libc does not export __pthread_create_2_1.
extern create_function __pthread_create_2_1 __attribute__((weak)); // NOLINT(*-reserved-identifier)

// The linker takes this object file from libc.a only for a strong reference, but the declaration above is weak. The
// reference to thrd_create below is strong, and thrd_create refers to the same object file.
__attribute__((used)) static int (*const needs_threads)(thrd_t *, thrd_start_t, void *) = thrd_create;

static create_function *find_next(void) {
  if (__pthread_create_2_1 != NULL) return __pthread_create_2_1;
  create_function *found = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (found != NULL) return found;
  found = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
  __atomic_store_n(&next, found, __ATOMIC_RELAXED);
  return found;
}

// Finds libc's function while the process has only one thread. Later, dlsym could wait forever for the loader's lock:
// another thread can hold it while it waits for the thread that is being created here. If the constructor of another
// library creates a thread before this constructor runs, the first call of pthread_create finds the function.
__attribute__((constructor(101))) static void find_early(void) {
  find_next();
}

static void *run(void *context) {
  cs_thread *thread = context;
  void *(*const routine)(void *) = thread->routine;
  void *const argument = thread->argument;
  const int before = errno;
  if (!cs_alternate_stack_take(thread)) free(thread);
  errno = before;
  // The tail call removes this function's frame, so debuggers and reports show no frame of the shield below the
  // thread's routine.
  __attribute__((musttail)) return routine(argument);
}

// Maps an alternate stack for a new thread. Returns NULL if the thread gets no alternate stack.
static cs_thread *prepare(void *(*routine)(void *), void *argument) {
  const int before = errno;
  cs_thread *thread = cs_alternate_stacks_are_on() ? malloc(sizeof *thread) : NULL;
  if (thread != NULL) *thread = (cs_thread){.routine = routine, .argument = argument};
  if (thread != NULL && !cs_alternate_stack_map(thread)) {
    free(thread);
    thread = NULL;
  }
  errno = before;
  return thread;
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                                                          void *(*routine)(void *), void *argument) {
  create_function *const create = find_next();
  if (create == NULL) return EAGAIN;
  cs_thread *const thread = prepare(routine, argument);
  if (thread == NULL) return create(ret_thread, attributes, routine, argument);
  const int error = create(ret_thread, attributes, run, thread);
  if (error == 0) return 0;
  cs_alternate_stack_unmap(thread);
  free(thread);
  // Creating the thread can have failed because the new alternate stack used the memory that the thread's own stack
  // needs. The creation is therefore retried without an alternate stack.
  return error == EAGAIN ? create(ret_thread, attributes, routine, argument) : error;
}
#endif

#endif
