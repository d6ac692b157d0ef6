// Confines itself and then tries one operation: `confine-probe WHAT [fetch|image]`. Without a second argument the
// program is confined like crash-analyse, with `fetch` like crash-fetch, and with `image` like a crash-analyse that
// reads an image. Exit status 0: the operation succeeded. 1: the kernel refused the operation.
#include "cs_confine.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool wait_for_input(void) {
  char byte;
  return read(0, &byte, 1) >= 0;
}

static bool open_file(void) {
  return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool stat_path(void) {
  struct stat status;
  return stat("/etc/passwd", &status) == 0;
}

// This call can succeed in a confined process: fstat() makes the same system call with an empty path, and a seccomp
// filter cannot read the path.
static bool stat_path_at(void) {
  struct stat status;
  return syscall(SYS_newfstatat, 0, "/etc/passwd", &status, AT_EMPTY_PATH) == 0;
}

static bool stat_input(void) {
  struct stat status;
  return fstat(0, &status) == 0;
}

static bool create_file(void) {
  return open("/tmp/confine-probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
}

static bool connect_socket(void) {
  return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
}

static bool connect_locally(void) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
}

static bool listen_to_kernel(void) {
  return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) >= 0;
}

static bool start_process(void) {
  return fork() >= 0;
}

static bool run_program(void) {
  return execl("/bin/true", "true", (char *)NULL) == 0;
}

static bool trace_parent(void) {
  return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0;
}

static bool kill_parent(void) {
  return kill(getppid(), SIGTERM) == 0;
}

static bool remove_file(void) {
  return unlink("/tmp/confine-probe") == 0;
}

static bool map_code(void) {
  return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool make_code(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool use_memory(void) {
  // Allocates small and large blocks: malloc takes small ones from the heap, and large ones from mmap().
  for (uint64_t used = 0; used < 2 * CS_CONFINE_MEMORY_BYTES; used += 1 << 20) {
    // The memory is volatile, because the compiler can remove memory that is never read.
    volatile char *piece = malloc(1 << 20);
    if (!piece) return false;
    *piece = 1;
  }
  return true;
}

static bool use_gibibyte(void) {
  return mmap(NULL, 1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool use_output(void) {
  return lseek(1, CS_CONFINE_FILE_BYTES, SEEK_SET) >= 0 && write(1, "x", 1) == 1;
}

static bool use_processor(void) {
  for (;;)
    __asm__ volatile("");
}

static bool end_by_abort(void) {
  abort();
}

int main(int count, char **arguments) {
  static const struct {
    const char *name;
    bool (*run)(void);
  } probes[] = {
      {"wait", wait_for_input},          {"open", open_file},           {"create", create_file},
      {"socket", connect_socket},        {"fork", start_process},       {"exec", run_program},
      {"trace", trace_parent},           {"kill", kill_parent},         {"unlink", remove_file},
      {"local-socket", connect_locally}, {"netlink", listen_to_kernel}, {"map-code", map_code},
      {"make-code", make_code},          {"memory", use_memory},        {"output", use_output},
      {"processor", use_processor},      {"abort", end_by_abort},       {"stat", stat_path},
      {"stat-at", stat_path_at},         {"stat-input", stat_input},    {"gibibyte", use_gibibyte},
  };
  const bool is_fetch = count == 3 && strcmp(arguments[2], "fetch") == 0;
  const bool is_image = count == 3 && strcmp(arguments[2], "image") == 0;
  if (count != 2 && !is_fetch && !is_image) return 2;
  int code = is_image ? cs_confine_image(0) : is_fetch ? cs_confine_fetch(CS_CONFINE_FILE_BYTES) : cs_confine();
  if (code != 0) {
    (void)fprintf(stderr, "cannot confine this process: %s\n", strerror(code));
    return 3;
  }
  for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
    if (strcmp(probes[i].name, arguments[1]) == 0) return probes[i].run() ? 0 : 1;
  }
  return 2;
}
