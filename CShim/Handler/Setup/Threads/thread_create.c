// Interposes pthread_create, so that each new thread gets an alternate signal stack. libdispatch, libstdc++, NIO and a
// static Swift library call the definition in the executable or in a preloaded library.
//
// Before cs_shim_start, and if alternate stacks are switched off, the call is passed on unchanged.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

#include "alternate_stack.h"

// The sanitizers intercept pthread_create themselves, and must see each thread.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer) || __has_feature(memory_sanitizer) ||       \
    __has_feature(thread_sanitizer)
#define CS_LEAVES_THREADS_ALONE
#endif
#endif

#ifndef CS_LEAVES_THREADS_ALONE

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_function *next; // atomic

// A static executable has no loader that could find libc's pthread_create. There libc's function also has this name. It
// is in one object with the weak pthread_create that ours replaces (glibc, nptl/pthread_create.c). A shared libc does
// not export this name.
extern create_function __pthread_create_2_1 __attribute__((weak)); // NOLINT(*-reserved-identifier)

// The linker takes that object from libc.a only for a strong reference; a weak reference is not enough. This reference
// to thrd_create is strong.
__attribute__((used)) static int (*const needs_threads)(thrd_t *, thrd_start_t, void *) = thrd_create;

static create_function *find_next(void) {
  if (__pthread_create_2_1 != NULL) return __pthread_create_2_1;
  create_function *found = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (found != NULL) return found;
  found = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
  __atomic_store_n(&next, found, __ATOMIC_RELAXED);
  return found;
}

// Resolved while the process has one thread: dlsym takes the loader's lock, which another thread may hold until the new
// thread has done something. If the constructor of a library runs earlier, its own call resolves the function.
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
  // A tail call: no frame of the shield appears below the thread's own frames in debuggers and reports.
  __attribute__((musttail)) return routine(argument);
}

// Maps a stack for a new thread. NULL: the thread gets no alternate stack.
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
  // The alternate stack may have used the memory for the thread's own stack, so the creation is retried without it.
  return error == EAGAIN ? create(ret_thread, attributes, routine, argument) : error;
}
#endif

#endif
