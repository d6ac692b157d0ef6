// Runs crash-maker's C and C++ faults under clang's realtime sanitizer, or under the allocator of no_malloc.c.
//
// `faults NAME [pthread]` calls cs_prepare_NAME, if it exists, and then cs_fault_NAME. It exits with 64 if the function
// cs_fault_NAME does not exist. scripts/check/realtime builds and runs this program.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cs_faults.h"
#include "cs_shim.h"

#define NOT_HERE 64
#define WAITS    "main-waits-"

static int waits; // the index of the system call in which the main thread waits

static void wait_beside_crash(void) {
  cs_fault_main_waits(waits);
}

static bool is_wait(const char *name) {
  if (strncmp(name, WAITS, sizeof WAITS - 1) != 0) return false;
  for (waits = 0; waits < cs_fault_main_waits_count(); waits++) {
    if (strcmp(name + sizeof WAITS - 1, cs_fault_main_waits_name(waits)) == 0) return true;
  }
  return false;
}

static void (*function(const char *kind, const char *name))(void) {
  char symbol[96];
  void (*found)(void) = NULL;
  snprintf(symbol, sizeof symbol, "cs_%s_%s", kind, name);
  for (char *at = symbol; *at != 0; at++) {
    if (*at == '-') *at = '_';
  }
  *(void **)&found = dlsym(RTLD_DEFAULT, symbol);
  return found;
}

static void *run(void *fault) {
  (*(void (**)(void))fault)();
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 2) return 2;
  void (*prepare)(void) = function("prepare", arguments[1]);
  void (*fault)(void) = function("fault", arguments[1]);
  if (is_wait(arguments[1])) fault = wait_beside_crash;
  if (fault == NULL) return NOT_HERE;
  if (prepare != NULL) prepare();
  cs_shim_failure failure = {0};
  if (cs_shim_start(NULL, &failure) != CS_SHIM_OK) {
    fprintf(stderr, "cannot start: %s\n", failure.what);
    return 2;
  }
  pthread_t thread;
  if (count < 3) {
    fault();
  } else if (pthread_create(&thread, NULL, run, &fault) == 0) {
    pthread_join(thread, NULL);
  }
  return 70;
}
