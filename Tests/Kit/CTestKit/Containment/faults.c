// Faults that Swift cannot express.
#include "host.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void ch_trap(void) {
  ch_add(CH_TRAPPING, 1);
  __builtin_trap();
}

// The trap instruction of the compiler, its signal, and a library without Swift code that contains the bytes of the
// instruction. On x86-64, they can be a part of a longer instruction.
#if defined(__aarch64__)
#define TRAP_CODE   "\x20\x00\x20\xd4" // brk #1
#define TRAP_SIGNAL SIGTRAP
#define TRAP_IMAGE  "/libdispatch.so"
#else
#define TRAP_CODE   "\x0f\x0b" // ud2
#define TRAP_SIGNAL SIGILL
#define TRAP_IMAGE  "/libm.so"
#endif

// Finds the bytes of the trap instruction in the code of TRAP_IMAGE.
static int find_trap(struct dl_phdr_info *information, size_t size, void *context) {
  (void)size;
  if (strstr(information->dlpi_name, TRAP_IMAGE) == NULL) return 0;
  for (int index = 0; index < information->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &information->dlpi_phdr[index];
    if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
    const char *code = (const char *)(information->dlpi_addr + header->p_vaddr);
    *(void **)context = memmem(code, header->p_memsz, TRAP_CODE, sizeof TRAP_CODE - 1);
  }
  return 1;
}

bool ch_foreign_trap(void) {
  ch_body trap = NULL;
  dl_iterate_phdr(find_trap, &trap);
  if (trap == NULL) return false;
  ch_add(CH_TRAPPING, 1);
  trap();
  return true;
}

void ch_in_forked_child(ch_body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(3);
  }
  int status = 0;
  if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
    ch_add(CH_CHILD_END, (uint64_t)WTERMSIG(status));
}

void ch_write_null(void) {
  ch_add(CH_TRAPPING, 1);
  *(volatile int *)8 = 1;
}

void ch_send_illegal(void) {
  ch_add(CH_TRAPPING, 1);
  syscall(SYS_tgkill, getpid(), gettid(), TRAP_SIGNAL);
}

void ch_breakpoint(void) {
  ch_add(CH_TRAPPING, 1);
  __builtin_debugtrap();
}

static struct sigaction previous;

static void chain(int signal, siginfo_t *information, void *context) {
  previous.sa_sigaction(signal, information, context);
}

void ch_replace_handler(void) {
  struct sigaction action = {.sa_sigaction = chain, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  sigaction(TRAP_SIGNAL, &action, &previous);
}

static sigjmp_buf after_abort;

static void leave_abort(int signal) {
  (void)signal;
  siglongjmp(after_abort, 1);
}

void ch_corrupt_heap(void) {
  struct sigaction action = {.sa_handler = leave_abort};
  struct sigaction old;
  sigaction(SIGABRT, &action, &old);
  // The pointer points into the middle of a block. free() detects that it is invalid, and aborts.
  if (sigsetjmp(after_abort, 1) == 0) free((char *)malloc(256) + 8);
  sigaction(SIGABRT, &old, NULL);
}

static void *call(void *body) {
  (*(ch_body *)body)();
  return NULL;
}

void ch_on_thread(ch_body body) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, call, &body) == 0) pthread_join(thread, NULL);
}
