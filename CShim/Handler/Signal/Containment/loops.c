#include "cs_platform.h"

#if CS_SUPPORTED

#include "loops.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"

// SwiftNIO names its threads NIO-ELT-GROUP-#NUMBER.
static const char nio_name[] = {'N', 'I', 'O', '-', 'E', 'L', 'T', '-'};

typedef struct loop {
  int tid;        // atomic; 0: unused
  int descriptor; // atomic
} loop;

static loop loops[CS_LOOP_LIMIT];

void cs_loops_forget(void) SIGNAL_SAFE {
  memset(loops, 0, sizeof loops);
}

void cs_loop_note(int tid, int epoll_descriptor) SIGNAL_SAFE {
  for (int index = 0; index < CS_LOOP_LIMIT; index++) {
    int holder = 0;
    loop *const entry = &loops[index];
    if (!__atomic_compare_exchange_n(&entry->tid, &holder, tid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
        holder != tid) {
      continue;
    }
    __atomic_store_n(&entry->descriptor, epoll_descriptor, __ATOMIC_RELEASE);
    return;
  }
}

static const loop *loop_of(int tid) SIGNAL_SAFE {
  for (int index = 0; index < CS_LOOP_LIMIT; index++) {
    if (__atomic_load_n(&loops[index].tid, __ATOMIC_ACQUIRE) == tid) return &loops[index];
  }
  return NULL;
}

bool cs_loop_is_here(void) SIGNAL_SAFE {
  char name[16] = {0};
  if (loop_of(cs_gettid()) != NULL) return true;
  cs_thread_name(name);
  return memcmp(name, nio_name, sizeof nio_name) == 0;
}

int cs_loop_descriptor(int tid) SIGNAL_SAFE {
  const loop *found = loop_of(tid);
  return found == NULL ? -1 : __atomic_load_n(&found->descriptor, __ATOMIC_ACQUIRE);
}

#endif
