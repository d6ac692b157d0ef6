// pthread_create in front of libc's, so that each new thread gets an alternate signal stack. A definition in the
// executable, or in a preloaded library, is the one that libdispatch, libstdc++, NIO and a static Swift library call.
//
// Before cs_shim_start, and where stacks are switched off, a call goes straight on.
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

// In a static executable no loader could find libc's. There it has this name too, in one object with the weak
// pthread_create that ours takes the place of (glibc, nptl/pthread_create.c); a libc that is loaded does not export it.
extern create_function __pthread_create_2_1 __attribute__((weak)); // NOLINT(*-reserved-identifier)

// The linker takes that object out of libc.a for a strong reference, and a weak reference does not count: this one
// does.
__attribute__((used)) static int (*const needs_threads)(thrd_t *, thrd_start_t, void *) = thrd_create;

static create_function *find_next(void) {
  if (__pthread_create_2_1 != NULL) return __pthread_create_2_1;
  create_function *found = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (found != NULL) return found;
  found = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
  __atomic_store_n(&next, found, __ATOMIC_RELAXED);
  return found;
}

// dlsym takes the loader's lock, which another thread may hold until the new one has done something: so it is looked
// up while there is one thread. A library's constructor that came before this one asks itself.
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
  // No frame of ours stands under the thread's own, in no debugger and no report.
  __attribute__((musttail)) return routine(argument);
}

// A stack for a thread that is to come; NULL: it must do without.
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
  // Perhaps it was our stack that left no memory for the thread's own.
  return error == EAGAIN ? create(ret_thread, attributes, routine, argument) : error;
}
#endif

#endif
