// Makes the ring, a memfd of fixed size through which the process passes crash records to crashd: creates the file,
// maps it and fills its header.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "../setup.h"

#include "../../Signal/Capture/registers.h"
#include "../../Signal/Dispatch/trusted.h"
#include "../../Signal/Kernel/descriptors.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

bool cs_ring_has_old_kernel;

cs_shim_error cs_setup_failed(cs_shim_failure *ret_failure, const char *what) {
  *ret_failure = (cs_shim_failure){.errno_value = errno};
  (void)snprintf(ret_failure->what, sizeof ret_failure->what, "%s", what);
  return CS_SHIM_SYSTEM_CALL;
}

// Returns the start time of this process in CLOCK_REALTIME. Field 22 of /proc/self/stat contains the start time in
// clock ticks after the boot.
static uint64_t process_start_ns(void) {
  const uint64_t now_ns = cs_clock_ns(CLOCK_REALTIME);
  char text[1024];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return now_ns;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return now_ns;
  text[size] = 0;
  // Field 2 is the process name, which can contain spaces and parentheses. It ends at the last closing parenthesis, and
  // field 3 follows.
  const char *at = strrchr(text, ')');
  for (int field = 3; at != NULL && field <= 22; field++)
    at = strchr(at + 1, ' ');
  const long ticks_per_second = sysconf(_SC_CLK_TCK);
  if (at == NULL || ticks_per_second <= 0) return now_ns;
  const uint64_t since_boot_ns = strtoull(at + 1, NULL, 10) * (UINT64_C(1000000000) / (uint64_t)ticks_per_second);
  const uint64_t uptime_ns = cs_clock_ns(CLOCK_BOOTTIME);
  return uptime_ns < since_boot_ns ? now_ns : now_ns - (uptime_ns - since_boot_ns);
}

// The IDs of crash reports are derived from this random ID of the ring. The ID must be unique, but need not be secret.
static void make_id(uint8_t *ret_id, size_t size) {
  if (getrandom(ret_id, size, GRND_NONBLOCK) == (ssize_t)size) return;
  const uint64_t parts[2] = {cs_clock_ns(CLOCK_REALTIME), (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&parts};
  memcpy(ret_id, parts, size < sizeof parts ? size : sizeof parts);
}

// The getter of _SwiftStdlibVersion.current, which exists since Swift 5.7. The getter calls no other function.
extern uint32_t swift_version(void) __asm__("$sSo19_SwiftStdlibVersionasE7currentABvgZ")
    __attribute__((weak, visibility("default"), swiftcall));

static void fill_header(cs_ring_header *header, const cs_environment *environment) {
  header->version = CS_RING_VERSION;
  header->architecture = CS_RING_ARCHITECTURE_HERE;
  header->total_bytes = sizeof(cs_ring);
  make_id(header->ring_id, sizeof header->ring_id);
  header->pid = getpid();
  header->uid = getuid();
  header->start_time_ns = process_start_ns();
  if (swift_version != NULL) header->swift_version = swift_version();
  memcpy(header->name, environment->name, sizeof environment->name);
  memcpy(header->executable, environment->executable, sizeof environment->executable);
  header->magic = CS_RING_MAGIC;
}

cs_descriptor cs_descriptor_described(int number) {
  struct stat status = {0};
  if (fstat(number, &status) != 0) return (cs_descriptor){.number = -1};
  return (cs_descriptor){number, (uint64_t)status.st_dev, (uint64_t)status.st_ino};
}

static int make_memory_file(void) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int file = memfd_create("crash-shield", flags);
  // With vm.memfd_noexec = 2, the kernel refuses a memfd without MFD_NOEXEC_SEAL.
  return file < 0 && errno == EACCES ? memfd_create("crash-shield", flags | MFD_NOEXEC_SEAL) : file;
}

// If a write grows a file beyond RLIMIT_FSIZE, the kernel sends SIGXFSZ, which ends the program. This code therefore
// compares the size with the limit before the file grows.
static bool is_size_allowed(void) {
  if (!cs_file_size_is_limited(sizeof(cs_ring))) return true;
  errno = EFBIG;
  return false;
}

// Writes to the pages that the record of the first crash will occupy, so that they are in memory. Otherwise, the
// handler would cause a page fault for each of them, and the page faults would take longer than writing the record.
static void prefault(cs_ring *ring) {
  const size_t first_slot_end = offsetof(cs_ring_slot, stack) + CS_RING_STACK_LIMIT_BYTES;
  volatile uint8_t *bytes = (volatile uint8_t *)&ring->slots[0];
  for (size_t at = 0; at < first_slot_end; at += CS_PAGE_BYTES)
    bytes[at] = 0;
}

// Seals the file, so that no process can shrink it while crashd reads it. F_SEAL_FUTURE_WRITE also forbids new writable
// mappings: only this process can write to the file, through the mapping that it already has. Linux before 5.1 does not
// have this seal. There, crashd gets a read-only descriptor, and the file's mode becomes read-only, so that a process
// of crashd's user cannot open the file for writing through /proc.
static cs_shim_error seal(int *file, cs_shim_failure *ret_failure) {
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (!cs_ring_has_old_kernel && fcntl(*file, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) == 0) {
    return CS_SHIM_OK;
  }
  if (fcntl(*file, F_ADD_SEALS, seals) != 0) return cs_setup_failed(ret_failure, "fcntl(F_ADD_SEALS)");
  char name[32];
  (void)snprintf(name, sizeof name, "/proc/self/fd/%d", *file);
  const int reader = fchmod(*file, 0400) == 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  // Without /proc, no read-only descriptor can be opened. crashd then gets a writable descriptor, but does not write to
  // it.
  if (reader < 0) return CS_SHIM_OK;
  close(*file);
  *file = cs_descriptor_raise(reader);
  return CS_SHIM_OK;
}

cs_shim_error cs_ring_make(const cs_environment *environment, cs_shim_failure *ret_failure) {
  int file = cs_descriptor_raise(make_memory_file());
  if (file < 0) return cs_setup_failed(ret_failure, "memfd_create");
  cs_shim_error error = CS_SHIM_OK;
  void *memory = MAP_FAILED;
  if (!is_size_allowed() || ftruncate(file, sizeof(cs_ring)) != 0) {
    error = cs_setup_failed(ret_failure, "ftruncate of the ring");
  } else {
    memory = mmap(NULL, sizeof(cs_ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = memory == MAP_FAILED ? cs_setup_failed(ret_failure, "mmap of the ring") : seal(&file, ret_failure);
  }
  if (error != CS_SHIM_OK) {
    if (memory != MAP_FAILED) munmap(memory, sizeof(cs_ring));
    close(file);
    return error;
  }
  // Excludes the ring from core dumps, so that core dumps have the same contents as without the shield.
  madvise(memory, sizeof(cs_ring), MADV_DONTDUMP);
  cs_process.ring = memory;
  cs_process.ring_descriptor = cs_descriptor_described(file);
  const int reserve = cs_descriptor_raise(fcntl(file, F_DUPFD_CLOEXEC, 0));
  cs_process.reserve = reserve < 0 ? (cs_descriptor){.number = -1} : cs_descriptor_described(reserve);
  fill_header(&cs_process.ring->header, environment);
  prefault(cs_process.ring);
  return CS_SHIM_OK;
}

void cs_spool_open(void) {
  // An early start, in a constructor, may already have opened another spool directory.
  if (cs_descriptor_is_ours(&cs_process.spool)) close(cs_process.spool.number);
  // O_PATH opens the directory without read permission: the directory's mode can allow all users to create files in it,
  // but not to list them.
  const int directory = cs_descriptor_raise(open(cs_process.spool_directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
  cs_process.spool = directory < 0 ? (cs_descriptor){.number = -1} : cs_descriptor_described(directory);
}

void cs_ring_unmake(void) {
  cs_lines_close();
  if (cs_descriptor_is_ours(&cs_process.spool)) close(cs_process.spool.number);
  if (cs_descriptor_is_ours(&cs_process.reserve)) close(cs_process.reserve.number);
  if (cs_descriptor_is_ours(&cs_process.ring_descriptor)) close(cs_process.ring_descriptor.number);
  cs_process.reserve.number = cs_process.ring_descriptor.number = cs_process.spool.number = -1;
  if (cs_process.ring != NULL) munmap(cs_process.ring, sizeof(cs_ring));
  cs_process.ring = NULL;
}

#endif
