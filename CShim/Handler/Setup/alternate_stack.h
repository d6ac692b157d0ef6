// Alternate signal stacks for threads, and their way back at the thread's end.
#ifndef CS_ALTERNATE_STACK_H
#define CS_ALTERNATE_STACK_H

#include <stdbool.h>
#include <stdint.h>

// A new thread: what it runs, then the alternate stack that it has of us.
typedef struct cs_thread {
  void *(*routine)(void *);
  void *argument;
  uint8_t *memory; // the guard page, then the stack
  int round;       // of destructors at the thread's end
} cs_thread;

// Once before the others. false: no key is left for thread-specific data.
bool cs_alternate_stack_prepare(void);

// Gives the calling thread an alternate stack if it has none. true: it keeps `thread`, from malloc, until its end.
bool cs_alternate_stack_give(cs_thread *thread);

// The same for a thread that runs already.
void cs_alternate_stack_give_here(void);

// Whether threads that start from now on get one.
void cs_alternate_stacks_switch(bool is_on);
bool cs_alternate_stacks_are_on(void);

#endif
