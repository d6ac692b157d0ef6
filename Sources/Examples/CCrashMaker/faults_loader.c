// Faults while the dynamic loader runs code, and faults at the start and the end of a process.
#include "faults.h"
#include "plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static FAULT void cs_fault_in_constructor(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: during-dlopen-constructor
}

FAULT void cs_fault_during_dlopen_constructor(void) {
  void *handle = cs_plugin_load(cs_fault_in_constructor);
  cs_opaque((int64_t)(uintptr_t)handle);
}

static void do_nothing(void) {
  cs_opaque(1);
}

FAULT void cs_fault_after_dlclose(void) {
  void *handle = cs_plugin_load(do_nothing);
  if (handle == NULL) return;
  void (*function)(void) = (void (*)(void))cs_plugin_code(handle);
  dlclose(handle);
  function(); // fault: after-dlclose
  cs_opaque(1);
}

static FAULT void cs_fault_at_exit(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: crash-during-exit
}

FAULT void cs_fault_crash_during_exit(void) {
  if (atexit(cs_fault_at_exit) == 0) exit(0);
}

// The C library passes the program's arguments to constructors. If CRASHSHIELD_EARLY is not set, main() sets it and
// executes the program again.
__attribute__((constructor)) static void cs_fault_before_main(int count, char **arguments) {
  if (count < 2 || strcmp(arguments[1], "before-main") != 0 || getenv("CRASHSHIELD_EARLY") == NULL) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: before-main
}
