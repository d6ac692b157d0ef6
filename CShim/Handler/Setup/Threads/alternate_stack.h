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

// Maps a stack for a thread that is to come. false: there is no memory. Called by the creator: a hundred threads that
// each map their own queue for the one lock of the address space, behind those that already run.
bool cs_alternate_stack_map(cs_thread *thread);
void cs_alternate_stack_unmap(const cs_thread *thread);

// The calling thread takes the stack as its own, unless it has one. true: it keeps `thread`, from malloc, until its
// end; else the stack is unmapped.
bool cs_alternate_stack_take(cs_thread *thread);

// Maps and takes, for a thread that runs already.
void cs_alternate_stack_give_here(void);

// Whether threads that start from now on get one.
void cs_alternate_stacks_switch(bool is_on);
bool cs_alternate_stacks_are_on(void);

#endif
