// `again KIND HANDLER` crashes. The program's signal handler restores the previous handler and re-raises the signal.
//
// HANDLER selects how the handler re-raises the signal. "return" raises it while it is blocked, so it arrives after the
// handler has returned. "siginfo" does the same in a handler with SA_SIGINFO. "kill" uses kill(), and "abort" uses
// abort() while the handler blocks SIGABRT. "unmasked" does not block the signal. "stack" does the same as "return", on
// an alternate stack of the program.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
static struct sigaction replaced[65];
static const char *how;

static int is(const char *name) {
  return strcmp(how, name) == 0;
}

static void raise_again(int signal) {
  sigaction(signal, &replaced[signal], NULL);
  if (is("kill"))
    kill(getpid(), signal);
  else
    raise(is("abort") ? SIGABRT : signal);
}

static void raise_again_with_siginfo(int signal, siginfo_t *information, void *context) {
  (void)information;
  (void)context;
  raise_again(signal);
}

// Hides the value from the optimizer.
static void *opaque(uint64_t address) {
  __asm__ volatile("" : "+r"(address));
  return (void *)(uintptr_t)address;
}

NOINLINE static void null_write(void) {
  *(volatile int *)opaque(0) = 42;
}

NOINLINE static void wild_read(void) {
  (void)*(volatile int *)opaque(0x123456789000);
}

NOINLINE static void non_canonical(void) {
  (void)*(volatile int *)opaque(0x4141414141414141);
}

NOINLINE static void null_call(void) {
  ((void (*volatile)(void))opaque(0))();
  __asm__ volatile("");
}

NOINLINE static void trap(void) {
  __builtin_trap();
}

NOINLINE static void unknown_instruction(void) {
  __asm__ volatile(".byte 0x0f, 0xff, 0xc0");
}

NOINLINE static void privileged_instruction(void) {
  __asm__ volatile("hlt");
}

NOINLINE static void breakpoint(void) {
  __asm__ volatile("int3");
}

NOINLINE static void division(void) {
  __asm__ volatile("xorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n\tdivl %%ecx" ::: "eax", "ecx", "edx");
}

NOINLINE static void truncated(void) {
  volatile char *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_create("truncated", 0), 0);
  file[100] = 1;
}

NOINLINE static int64_t descend(int64_t depth) {
  volatile char room[512];
  room[0] = (char)depth;
  if (depth == INT64_MAX) return room[0];
  return descend(depth + 1) + room[0];
}

static void overflow(void) {
  descend(0);
}

// Skips the faulting instruction, so that the program survives the fault. The program later sends itself a signal.
static void skip(int signal, siginfo_t *information, void *context) {
  (void)information;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
  sigaction(signal, &replaced[signal], NULL);
}

NOINLINE static void survived(void) {
  const struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGILL, &action, NULL);
  __asm__ volatile("ud2");
  raise(SIGILL);
}

static atomic_int rounds;

static void *abort_other(void *thread) {
  while (atomic_load(&rounds) < 100)
    ;
  pthread_kill(*(pthread_t *)thread, SIGABRT);
  return NULL;
}

// Like survived(), but the signal arrives while the thread accesses pages for the first time. If the signal interrupts
// such an access after its page fault, the saved context has the flag RF, and the exception number is still that of the
// earlier fault.
NOINLINE static void touched(void) {
  const struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGILL, &action, NULL);
  __asm__ volatile("ud2");
  enum { BYTES = 1 << 20 };
  volatile char *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t self = pthread_self(), other;
  pthread_create(&other, NULL, abort_other, &self);
  for (;; atomic_fetch_add(&rounds, 1)) {
    madvise((void *)pages, BYTES, MADV_DONTNEED);
    for (int at = 0; at < BYTES; at += 4096)
      pages[at] = 1;
  }
}

static const struct {
  const char *name;
  void (*crash)(void);
} kinds[] = {
    {"null-write", null_write},
    {"wild-read", wild_read},
    {"non-canonical", non_canonical},
    {"null-call", null_call},
    {"trap", trap},
    {"unknown-instruction", unknown_instruction},
    {"privileged-instruction", privileged_instruction},
    {"breakpoint", breakpoint},
    {"division", division},
    {"truncated", truncated},
    {"overflow", overflow},
    {"survived", survived},
    {"touched", touched},
};

int main(int argument_count, char **arguments) {
  static char stack[65536];
  if (argument_count != 3) return 2;
  how = arguments[2];
  const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  if (is("stack")) sigaltstack(&own, NULL);
  struct sigaction action = {.sa_flags = SA_ONSTACK | (is("unmasked") ? SA_NODEFER : 0)};
  if (is("abort")) sigaddset(&action.sa_mask, SIGABRT);
  action.sa_handler = raise_again;
  if (is("siginfo")) {
    action.sa_sigaction = raise_again_with_siginfo;
    action.sa_flags |= SA_SIGINFO;
  }
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, &replaced[signals[i]]);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(arguments[1], kinds[i].name) == 0) kinds[i].crash();
  }
  return 0;
}
