// `beside WAY`: a thread crashes while the main thread waits in the system call that WAY names. faults_waits.c lists
// the WAYs.
#include <string.h>

#include "cs_faults.h"

// A copy of cs_opaque from faults_memory.c. The program does not link that file, because it needs no other function of
// it.
int64_t cs_opaque(int64_t value) {
  volatile int64_t unknown = value;
  return unknown;
}

int main(int count, char **arguments) {
  for (int way = 0; count == 2 && way < cs_fault_main_waits_count(); way++) {
    if (strcmp(arguments[1], cs_fault_main_waits_name(way)) == 0) cs_fault_main_waits(way);
  }
  return 64;
}
