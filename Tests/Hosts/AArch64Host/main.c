// aarch64-host: crashes in known functions with known registers, and compares the records. The program runs on AArch64,
// or under qemu-user; scripts/check/aarch64 builds it.
// Usage: aarch64-host DIRECTORY [frames] [no-nested], with an empty directory
// `frames` runs only the crashes that compare frames. `no-nested` omits faults in the handler, because they end qemu
// 7.2.
#include "host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../Kit/CTestKit/Handler/ways.h"
#include "cs_ring_access.h"

bool complain(const char *name, const char *format, ...) {
  va_list values;
  printf("aarch64-host: %s: ", name);
  va_start(values, format);
  vprintf(format, values);
  va_end(values);
  printf("\n");
  return false;
}

// Maps the spool file that the handler wrote, because no crashd runs. Returns NULL if there is no such file.
static const cs_ring *map_ring(const char *directory) {
  char path[512];
  snprintf(path, sizeof path, "%s/spool", directory);
  DIR *entries = opendir(path);
  const cs_ring *ring = NULL;
  for (const struct dirent *entry = entries != NULL ? readdir(entries) : NULL; entry != NULL && ring == NULL;
       entry = readdir(entries)) {
    const int file = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC);
    struct stat status = {0};
    if (fstat(file, &status) != 0 || status.st_size != (off_t)sizeof(cs_ring)) continue;
    void *bytes = mmap(NULL, sizeof(cs_ring), PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) ring = bytes;
    close(file);
  }
  if (entries != NULL) closedir(entries);
  return ring;
}

// Returns the name of the function of a frame in a crashed child. The child was forked from this process, so its code
// has the same addresses here.
static const char *name_of(const cs_ring_frame *frame) {
  Dl_info found = {0};
  const uint64_t pc = frame->pc - ((frame->flags & CS_RING_FRAME_EXACT) == 0);
  if (dladdr((void *)(uintptr_t)pc, &found) == 0 || found.dli_sname == NULL) return "-";
  return found.dli_sname;
}

static bool has_frames(const crash *wanted, const cs_ring_record *record) {
  uint32_t at = 0;
  bool skips = false;
  for (int index = 0; index < FRAME_NAME_LIMIT && wanted->frames[index] != NULL; index++) {
    const char *name = wanted->frames[index];
    if (strcmp(name, "*") == 0) {
      skips = true;
      continue;
    }
    while (skips && at < record->frame_count && strcmp(name_of(&record->frames[at]), name) != 0)
      at++;
    if (at == record->frame_count) return complain(wanted->name, "no frame '%s'", name);
    if (strcmp(name_of(&record->frames[at]), name) != 0) {
      return complain(wanted->name, "frame %u is '%s', not '%s'", at, name_of(&record->frames[at]), name);
    }
    at++;
    skips = false;
  }
  return true;
}

static void print_frames(const cs_ring_record *record) {
  for (uint32_t index = 0; index < record->frame_count; index++) {
    const cs_ring_frame *frame = &record->frames[index];
    printf("  %2u %#18lx trust %u flags %u %s\n", index, (unsigned long)frame->pc, frame->trust, frame->flags,
           name_of(frame));
  }
  printf("  stop %u, signal %d, code %d, address %#lx, syndrome %#lx\n", record->unwind_stop, record->signal,
         record->code, (unsigned long)record->address, (unsigned long)record->registers.error_code);
}

static bool is_right(const crash *wanted, const cs_ring *ring) {
  const cs_ring_slot *slot = &ring->slots[0];
  const cs_ring_record *record = &slot->record;
  uint32_t crc = cs_ring_crc32c(0, record, sizeof *record);
  crc = cs_ring_crc32c(crc, slot->stack, record->stack_bytes);
  if (ring->header.architecture != CS_RING_ARCHITECTURE_AARCH64) return complain(wanted->name, "wrong architecture");
  if ((slot->state & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED || crc != slot->crc || record->flags != 0) {
    if (record->flags != CS_RING_RECORD_FILE) return complain(wanted->name, "no complete record");
  }
  const bool has_code = wanted->code == 0 || record->code == wanted->code;
  if (record->signal != wanted->signal || !has_code) return complain(wanted->name, "wrong signal");
  if (!has_frames(wanted, record)) return false;
  if (wanted->check != NULL && !wanted->check(record)) return complain(wanted->name, "wrong record");
  return true;
}

static bool run(const crash *wanted, const char *parent) {
  char directory[256];
  char spool[300];
  snprintf(directory, sizeof directory, "%s/%s", parent, wanted->name);
  snprintf(spool, sizeof spool, "%s/spool", directory);
  if (mkdir(directory, 0700) != 0 || mkdir(spool, 0700) != 0) return complain(wanted->name, "mkdir failed");
  const int child = cs_test_fork();
  if (child == 0) {
    cs_test_start(directory);
    wanted->run();
    _exit(1);
  }
  const int status = cs_test_wait(child);
  const cs_ring *ring = map_ring(directory);
  if (ring == NULL) return complain(wanted->name, "no spool file; wait status %#x", status);
  const bool has_ended = WIFSIGNALED(status) && WTERMSIG(status) == wanted->signal;
  const bool is_good = has_ended ? is_right(wanted, ring) : complain(wanted->name, "wait status %#x", status);
  if (!is_good) print_frames(&ring->slots[0].record);
  munmap((void *)(uintptr_t)ring, sizeof *ring);
  return is_good;
}

static bool has_word(char **arguments, const char *word) {
  for (char **argument = arguments + 1; *argument != NULL; argument++) {
    if (strcmp(*argument, word) == 0) return true;
  }
  return false;
}

int main(int count, char **arguments) {
  if (count < 2) return 64; // EX_USAGE
  setvbuf(stdout, NULL, _IONBF, 0);
  int failures = 0;
  for (size_t index = 0; index < crash_count; index++)
    failures += !run(&crashes[index], arguments[1]);
  const bool has_nested = !has_word(arguments, "no-nested");
  const int ways = has_word(arguments, "frames") ? 0 : run_ways(arguments[1], has_nested, &failures);
  printf("%zu crashes and %d ways of tests, %d wrong\n", crash_count, ways, failures);
  return failures == 0 ? 0 : 1;
}
