// Writes `attached` when crashd has accepted the process, or `alone` if there is no crashd. Then reads a line and
// crashes. When it crashes, the line is on the stack, and also in a heap block to which a register points. The line
// comes from the test, so no file of the program contains it.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cs_shim.h"
#include "host.h"

#define COPIES 8

typedef struct secrets {
  char word[128];
  char copies[COPIES][128];
} secrets;

static void say(void *context, cs_shim_status status, const char *text) {
  (void)context;
  (void)text;
  static const char attached[] = "attached\n";
  static const char alone[] = "alone\n";
  const bool is_attached = status == CS_SHIM_STATUS_ATTACHED;
  if (write(STDOUT_FILENO, is_attached ? attached : alone, (is_attached ? sizeof attached : sizeof alone) - 1) < 0) {
    _exit(74); // EX_IOERR
  }
}

__attribute__((noinline)) static void crash_with(const char *on_heap, const char *on_stack) {
#if defined(__aarch64__)
  __asm__ volatile("mov x19, %0\n mov x20, %1\n mov x9, #8\n str wzr, [x9]"
                   :
                   : "r"(on_heap), "r"(on_stack)
                   : "x9", "x19", "x20", "memory");
#else
  __asm__ volatile("movq %0, %%rbx\n movq %1, %%r12\n movl $1, 8"
                   :
                   : "r"(on_heap), "r"(on_stack)
                   : "rbx", "r12", "memory");
#endif
}

__attribute__((noinline)) static void keep_secrets(void) {
  secrets secrets = {0};
  if (fgets(secrets.word, sizeof secrets.word, stdin) == NULL) _exit(0);
  secrets.word[strcspn(secrets.word, "\n")] = 0;
  char *on_heap = strdup(secrets.word);
  if (on_heap == NULL) _exit(71); // EX_OSERR
  for (int index = 0; index < COPIES; index++)
    memcpy(secrets.copies[index], secrets.word, sizeof secrets.word);
  crash_with(on_heap, secrets.copies[0]);
}

int keep_memory(void) {
  const cs_shim_configuration configuration = {.status_function = say};
  cs_shim_failure failure = {0};
  if (cs_shim_start(&configuration, &failure) != CS_SHIM_OK) return 71;
  keep_secrets();
  return 70; // EX_SOFTWARE
}
