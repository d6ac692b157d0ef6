// The data that the quarantine stores for each thread.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../Machine/clock.h"
#include "memos.h"
#include "thread.h"

__thread cs_thread cs_this_thread __attribute__((tls_model("initial-exec")));

// The destructor of this key runs when a thread ends.
static pthread_key_t key;
static bool has_key;

void cs_thread_learn(void) {
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size = 0;
  const int error = errno;
  cs_thread *const thread = &cs_this_thread;
  const uint32_t number = (uint32_t)syscall(SYS_gettid);
  thread->random = cs_ticks() ^ (uint64_t)number << 32;
  // These bounds include no address, so no frame is read. They stay if the query of the thread's stack below fails. On
  // the main thread, for example, the query fails if no file descriptor is free.
  thread->stack_start = UINTPTR_MAX;
  thread->stack_end = UINTPTR_MAX;
  thread->number = number;
  // In a forked child, the only thread keeps the cache of the parent's thread that forked.
  if (thread->memos == NULL && has_key) {
    thread->memos = calloc(1, sizeof(cs_memos));
    pthread_setspecific(key, thread->memos);
  }
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 && size > 4096) {
      thread->stack_start = (uintptr_t)lowest;
      thread->stack_end = thread->stack_start + size;
    }
    pthread_attr_destroy(&attributes);
  }
  errno = error;
}

// When a thread ends, its cache is freed. If the thread releases further objects after that, it has no cache, so each
// release unwinds the stack.
static void free_memos(void *memos) {
  cs_this_thread.memos = NULL;
  free(memos);
}

static void forget_thread(void) {
  cs_this_thread.number = 0;
}

// A forked child has one thread. The thread's ID differs from the ID of the parent's thread that forked.
__attribute__((constructor)) static void prepare(void) {
  pthread_atfork(NULL, NULL, forget_thread);
  has_key = pthread_key_create(&key, free_memos) == 0;
}

#endif
