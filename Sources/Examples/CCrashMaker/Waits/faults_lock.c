// Faults while a thread holds a lock that an unsafe signal handler would acquire.
#include "../faults.h"

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

static sem_t loader_lock_is_held;

static int hold_loader_lock(struct dl_phdr_info *info, size_t size, void *context) {
  (void)info;
  (void)size;
  (void)context;
  sem_post(&loader_lock_is_held);
  for (;;) {
    pause(); // Holds the lock until the process ends.
  }
}

static void *loader_lock_holder(void *context) {
  dl_iterate_phdr(hold_loader_lock, context);
  return NULL;
}

FAULT void cs_fault_loader_lock_held_by_other(void) {
  pthread_t holder;
  if (sem_init(&loader_lock_is_held, 0, 0) != 0) return;
  if (pthread_create(&holder, NULL, loader_lock_holder, NULL) != 0) return;
  while (sem_wait(&loader_lock_is_held) != 0) {
  }
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: loader-lock-held-by-other
}

static FAULT int cs_fault_in_callback(struct dl_phdr_info *info, size_t size, void *context) {
  (void)info;
  (void)size;
  volatile int *number = context;
  *number = 42; // fault: inside-dl-iterate-callback
  return 1;
}

FAULT void cs_fault_inside_dl_iterate_callback(void) {
  dl_iterate_phdr(cs_fault_in_callback, opaque_pointer(0));
  cs_opaque(1);
}
