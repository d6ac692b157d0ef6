// The counters of a run, in a memfd that the supervisor passes to the program.
#include "host.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *counters;

bool ch_counters_map(int file) {
  void *memory = mmap(NULL, CH_COUNTERS * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return false;
  counters = memory;
  return true;
}

uint64_t ch_add(ch_counter counter, uint64_t amount) {
  return __atomic_add_fetch(&counters[counter], amount, __ATOMIC_SEQ_CST);
}

uint64_t ch_get(ch_counter counter) {
  return __atomic_load_n(&counters[counter], __ATOMIC_SEQ_CST);
}

void ch_open(void) {
  if (!ch_counters_map(CH_COUNTERS_FILE)) _exit(2);
}

void ch_await_supervisor(void) {
  char byte = 0;
  if (write(CH_SUPERVISOR_FILE, &byte, 1) != 1 || read(CH_SUPERVISOR_FILE, &byte, 1) != 1) _exit(2);
}

static uint64_t resident_kib(void) {
  FILE *file = fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  if (file == NULL) return 0;
  // Skips the first number, the size of the address space. The second one is the resident memory.
  if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
  fclose(file);
  return pages * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
}

static uint64_t file_count(void) {
  DIR *directory = opendir("/proc/self/fd");
  uint64_t count = 0;
  if (directory == NULL) return 0;
  while (readdir(directory) != NULL)
    count++;
  closedir(directory);
  return count;
}

void ch_note_resources(bool is_after) {
  ch_add(is_after ? CH_RESIDENT_AFTER : CH_RESIDENT_BEFORE, resident_kib());
  ch_add(is_after ? CH_FILES_AFTER : CH_FILES_BEFORE, file_count());
}
