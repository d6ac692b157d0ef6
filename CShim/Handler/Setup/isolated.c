// The threads of isolated work. What happens when one of them traps is in Signal/isolated.c.
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "setup.h"

#include "../Signal/isolated.h"
#include "../Signal/thread_pointer_x86_64.h"

// By the begin of the file's name: whoever is stopped in them has a lock that others need, such as the loader's, or has
// begun what is done once, such as a lazy global of Swift's.
static const char *const unsafe_images[] = {"libc.so", "libpthread.so", "ld-linux", "libdispatch.so"};

static pthread_once_t once = PTHREAD_ONCE_INIT;

// The work of this thread. In the block that the thread has from its begin: the handler finds it without a call.
static __thread cs_isolated *here __attribute__((tls_model("initial-exec")));

static bool is_unsafe(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  for (size_t index = 0; index < sizeof unsafe_images / sizeof unsafe_images[0]; index++) {
    if (strncmp(name, unsafe_images[index], strlen(unsafe_images[index])) == 0) return true;
  }
  return false;
}

static int note_image(struct dl_phdr_info *information, size_t size, void *context) {
  (void)size, (void)context;
  cs_isolated_layout *layout = &cs_isolated_here;
  if (!is_unsafe(information->dlpi_name) || layout->image_count >= CS_ISOLATED_IMAGE_LIMIT) return 0;
  uint64_t start = UINT64_MAX;
  uint64_t end = 0;
  for (int index = 0; index < information->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &information->dlpi_phdr[index];
    if (header->p_type != PT_LOAD) continue;
    const uint64_t at = information->dlpi_addr + header->p_vaddr;
    if (at < start) start = at;
    if (at + header->p_memsz > end) end = at + header->p_memsz;
  }
  layout->image_start[layout->image_count] = start;
  layout->image_end[layout->image_count++] = end;
  return 0;
}

// glibc's lock of a stream: { int lock; int count; void *owner; }, where the owner is a thread pointer.
static uint64_t owner_of(const FILE *stream) {
  return (uint64_t)(uintptr_t)stream->_lock + 2 * sizeof(int);
}

static void prepare(void) {
  dl_iterate_phdr(note_image, NULL);
  const FILE *const streams[CS_ISOLATED_STREAM_COUNT] = {stdin, stdout, stderr};
  for (int index = 0; index < CS_ISOLATED_STREAM_COUNT; index++)
    cs_isolated_here.stream_owner[index] = owner_of(streams[index]);
  const int64_t offset = (int64_t)((uint64_t)(uintptr_t)&here - cs_thread_pointer());
  // release: pairs with work_here() of the handler.
  __atomic_store_n(&cs_isolated_here.offset, offset, __ATOMIC_RELEASE);
}

static void let_go(cs_isolated *work) {
  if (__atomic_sub_fetch(&work->references, 1, __ATOMIC_ACQ_REL) == 0) free(work);
}

// Also where the thread is ended from within.
static void leave(void *context) {
  cs_isolated *work = context;
  here = NULL;
  // release: pairs with cs_shim_isolated_run().
  __atomic_store_n(&work->end, CS_SHIM_ISOLATED_FINISHED, __ATOMIC_RELEASE);
  syscall(SYS_futex, &work->end, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  let_go(work);
}

typedef struct start {
  cs_isolated *work;
  void (*routine)(void *);
  void *argument;
} start;

// The handler finds it on the stack: what lies below is not the work's. Not inlined, so that it has a frame.
__attribute__((noinline)) static void *begin(void *context) {
  const start given = *(start *)context;
  free(context);
  pthread_cleanup_push(leave, given.work);
  here = given.work;
  given.routine(given.argument);
  pthread_cleanup_pop(1);
  return NULL;
}

static bool start_thread(const start *given) {
  pthread_attr_t attributes;
  pthread_t thread;
  start *copy = malloc(sizeof *copy);
  if (copy == NULL) return false;
  *copy = *given;
  if (pthread_attr_init(&attributes) != 0) {
    free(copy);
    return false;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const bool is_started = pthread_create(&thread, &attributes, begin, copy) == 0;
  pthread_attr_destroy(&attributes);
  if (!is_started) free(copy);
  return is_started;
}

cs_shim_isolated_end cs_shim_isolated_run(void (*routine)(void *), void *argument) {
  pthread_once(&once, prepare);
  cs_isolated *work = calloc(1, sizeof *work);
  if (work == NULL) return CS_SHIM_ISOLATED_NO_THREAD;
  work->references = 2;
  work->pid = getpid();
  work->begin = (uint64_t)(uintptr_t)begin;
  const start given = {.work = work, .routine = routine, .argument = argument};
  if (!start_thread(&given)) {
    free(work);
    return CS_SHIM_ISOLATED_NO_THREAD;
  }
  uint32_t end = 0;
  // acquire: pairs with leave(), and with park() of the handler.
  while ((end = __atomic_load_n(&work->end, __ATOMIC_ACQUIRE)) == 0)
    syscall(SYS_futex, &work->end, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  let_go(work);
  return (cs_shim_isolated_end)end;
}

void cs_shim_isolated_set_budget(uint32_t threads) {
  __atomic_store_n(&cs_isolated_budget, threads, __ATOMIC_RELAXED);
}

uint32_t cs_shim_isolated_budget(void) {
  return __atomic_load_n(&cs_isolated_budget, __ATOMIC_RELAXED);
}

uint32_t cs_shim_isolated_parked(void) {
  return __atomic_load_n(&cs_isolated_parked, __ATOMIC_RELAXED);
}

void *cs_shim_isolated_hold(void) {
  cs_isolated *work = here;
  if (work == NULL) return NULL;
  __atomic_fetch_add(&work->references, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&work->holds, 1, __ATOMIC_RELAXED);
  return work;
}

void cs_shim_isolated_let_go(void *hold) {
  cs_isolated *work = hold;
  if (work == NULL) return;
  __atomic_fetch_sub(&work->holds, 1, __ATOMIC_RELAXED);
  let_go(work);
}
