// A program for AArch64 that traps in a known chain of calls, and prints its registers and its stack: the snapshot that
// a record of the ring would contain. `make` in this folder runs it.
//
// `inner` has no frame, so its return address is only in x30. `middle` and `outer` sign their return addresses (pointer
// authentication).
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK_WORDS = 96 };

static void print(int signal, siginfo_t *info, void *context) {
  (void)signal;
  (void)info;
  const mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
  for (int i = 0; i < 31; i++)
    printf("%" PRIx64 "\n", (uint64_t)machine->regs[i]);
  printf("%" PRIx64 "\n%" PRIx64 "\n", (uint64_t)machine->sp, (uint64_t)machine->pc);
  const uint64_t *stack = (const uint64_t *)machine->sp;
  for (int i = 0; i < STACK_WORDS; i++)
    printf("%" PRIx64 "\n", stack[i]);
  fflush(stdout);
  _Exit(0);
}

__attribute__((noinline, target("branch-protection=none"))) int inner(int number) {
  if (number == 3) __asm__ volatile("brk #1");
  return number;
}

__attribute__((noinline)) int middle(int number) {
  volatile char room[100] = {0};
  const int result = inner(number + 1) + room[5];
  __asm__ volatile("" ::: "memory");
  return result + 1;
}

__attribute__((noinline)) int outer(int number) {
  volatile int result = middle(number + 1);
  return result + 1;
}

int main(void) {
  // The handler prints STACK_WORDS words of the stack. This array makes sure that as much memory exists above the
  // frames.
  volatile uint64_t room[STACK_WORDS] = {0};
  const struct sigaction action = {.sa_sigaction = print, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  return outer(1) + (int)room[3];
}
