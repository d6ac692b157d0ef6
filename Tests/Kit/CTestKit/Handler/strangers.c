// A peer on the attach socket that tries to get more access than the protocol grants.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cs_attach.h"
#include "cs_ring.h"
#include "cs_shim.h"
#include "cs_testing.h"
#include "ways.h"

#define STRANGER    65534
#define PATIENCE_MS 300000

// If the condition does not hold, returns the line number from the function that contains this macro.
#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) return __LINE__;                                                                                 \
  } while (0)

typedef struct hello {
  int descriptors[253];
  uint32_t count;
} hello;

// Waits for a connection and its first message. Returns the connection, or -1 if no client connects. If the client
// sends no hello with descriptors, `ret_hello` contains zeros.
static int take_hello(int listener, hello *ret_hello) {
  cs_attach_hello message_bytes;
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))];
  struct iovec part = {&message_bytes, sizeof message_bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct pollfd wait = {.fd = listener, .events = POLLIN};
  *ret_hello = (hello){0};
  if (poll(&wait, 1, PATIENCE_MS) != 1) return -1;
  const int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) <= 0) return connection;
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_type != SCM_RIGHTS) return connection;
  ret_hello->count = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  memcpy(ret_hello->descriptors, CMSG_DATA(header), ret_hello->count * sizeof(int));
  return connection;
}

static void let_go(const hello *taken) {
  for (uint32_t index = 0; index < taken->count; index++)
    close(taken->descriptors[index]);
}

static bool is_writable(int ring) {
  void *memory = mmap(NULL, sizeof(cs_ring), PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
  if (memory != MAP_FAILED) munmap(memory, sizeof(cs_ring));
  return memory != MAP_FAILED || pwrite(ring, "x", 1, 0) == 1;
}

static bool is_file(int descriptor, const char *path) {
  struct stat here = {0};
  struct stat there = {0};
  return fstat(descriptor, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

// Returns whether the descriptor refers to one of `files`, without index 0.
static bool is_among(int descriptor, const struct stat *files, uint32_t count) {
  struct stat here = {0};
  if (fstat(descriptor, &here) != 0) return false;
  for (uint32_t index = 1; index < count; index++)
    if (here.st_dev == files[index].st_dev && here.st_ino == files[index].st_ino) return true;
  return false;
}

static bool copy_file(const char *from, const char *to) {
  struct stat status = {0};
  const int source = open(from, O_RDONLY | O_CLOEXEC);
  const int target = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  const bool is_copied =
      fstat(source, &status) == 0 && sendfile(target, source, NULL, (size_t)status.st_size) == status.st_size;
  close(source);
  close(target);
  return is_copied;
}

// Overwrites the ring's image table, as a hostile peer would do if it could write to the ring.
static void overwrite_images(const char *path) {
  cs_ring *ring = (cs_ring *)(uintptr_t)cs_testing_ring();
  for (uint32_t index = 0; index < ring->header.image_count; index++) {
    ring->images[index].flags = 0;
    snprintf((char *)ring->images[index].path, sizeof ring->images[index].path, "%s", path);
  }
}

static void be_generous(const char *directory, bool has_old_kernel, int asked, int done) {
  char plugin[256];
  char secret[256];
  char byte = 0;
  snprintf(plugin, sizeof plugin, "%s/plugin.so", directory);
  snprintf(secret, sizeof secret, "%s/secret", directory);
  if (dlopen(plugin, RTLD_NOW | RTLD_LOCAL) == NULL) _exit(80);
  if (has_old_kernel) cs_testing_have_old_kernel();
  cs_test_start(directory);
  if (read(asked, &byte, 1) != 1) _exit(81);
  overwrite_images(secret);
  // The file at the plug-in's path is now not a library.
  if (rename(secret, plugin) != 0 || !copy_file("/proc/self/cmdline", secret)) _exit(82);
  if (write(done, &byte, 1) != 1) _exit(83);
  for (;;)
    pause();
}

// Returns whether a byte arrives within the time limit.
static bool is_answered(int pipe_end) {
  char byte = 0;
  struct pollfd wait = {.fd = pipe_end, .events = POLLIN};
  return poll(&wait, 1, PATIENCE_MS) == 1 && read(pipe_end, &byte, 1) == 1;
}

static int take_both(int listener, const char *plugin, int ask, int answered, cs_test_gifts *gifts) {
  char byte = 0;
  hello taken;
  int connection = take_hello(listener, &taken);
  REQUIRE(connection >= 0 && taken.count > 1);
  gifts->first_count = taken.count - 1;
  gifts->is_ring_writable = is_writable(taken.descriptors[0]);
  int original = -1;
  struct stat first[sizeof taken.descriptors / sizeof *taken.descriptors];
  for (uint32_t index = 1; index < taken.count; index++) {
    REQUIRE(fstat(taken.descriptors[index], &first[index]) == 0);
    if (is_file(taken.descriptors[index], plugin)) original = fcntl(taken.descriptors[index], F_DUPFD_CLOEXEC, 0);
  }
  let_go(&taken);
  REQUIRE(original >= 0 && write(ask, &byte, 1) == 1 && is_answered(answered));
  close(connection);

  char original_path[64];
  snprintf(original_path, sizeof original_path, "/proc/self/fd/%d", original);
  connection = take_hello(listener, &taken);
  REQUIRE(connection >= 0 && taken.count > 0);
  gifts->second_count = taken.count - 1;
  for (uint32_t index = 1; index < taken.count; index++) {
    const bool is_plugin =
        is_file(taken.descriptors[index], plugin) || is_file(taken.descriptors[index], original_path);
    if (is_plugin) gifts->has_replaced_plugin = true;
    // Only the plug-in's file has changed, so each other file must have been in the first hello, too.
    if (!is_plugin && !is_among(taken.descriptors[index], first, gifts->first_count + 1)) gifts->foreign_count++;
  }
  let_go(&taken);
  close(original);
  close(connection);
  return 0;
}

int cs_test_take_gifts(bool has_old_kernel, const char *directory, cs_test_gifts *ret_gifts) {
  char plugin[256];
  char secret[256];
  int asked[2];
  int done[2];
  struct link_map *map = NULL;
  snprintf(plugin, sizeof plugin, "%s/plugin.so", directory);
  snprintf(secret, sizeof secret, "%s/secret", directory);
  void *library = dlopen("libm.so.6", RTLD_NOW);
  REQUIRE(library != NULL && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
  REQUIRE(copy_file(map->l_name, plugin) && copy_file("/etc/passwd", secret));
  REQUIRE(pipe2(asked, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
  const int listener = cs_test_listen(directory);
  REQUIRE(listener >= 0);
  *ret_gifts = (cs_test_gifts){0};
  const int child = fork();
  if (child == 0) be_generous(directory, has_old_kernel, asked[0], done[1]);
  const int line = take_both(listener, plugin, asked[1], done[0], ret_gifts);
  close(listener);
  for (int index = 0; index < 2; index++) {
    close(asked[index]);
    close(done[index]);
  }
  kill(child, SIGKILL);
  cs_test_wait(child);
  return line;
}

// SO_PEERCRED of a client returns the credentials that the listener had when it called listen().
static bool listen_as_stranger(int listener) {
  const int child = cs_test_fork_with_descriptors();
  if (child == 0) _exit(setresuid(STRANGER, STRANGER, STRANGER) == 0 && listen(listener, 4) == 0 ? 0 : 1);
  return cs_test_wait(child) == 0;
}

int cs_test_run_beside_stranger(const char *directory, int *ret_wait_status) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  hello taken;
  snprintf(address.sun_path, sizeof address.sun_path, "%s/attach", directory);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  REQUIRE(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen_as_stranger(listener));
  const int child = cs_test_fork();
  if (child == 0) _exit(cs_test_way_run(CS_TEST_SEGV, directory));
  *ret_wait_status = cs_test_wait(child);
  // The process has ended. Therefore each connection that the process made is already in the queue.
  struct pollfd wait = {.fd = listener, .events = POLLIN};
  int count = 0;
  int line = 0;
  for (; poll(&wait, 1, 0) == 1; count++) {
    const int connection = take_hello(listener, &taken);
    if (taken.count > 0) line = __LINE__;
    let_go(&taken);
    close(connection);
  }
  close(listener);
  return count > 0 ? line : __LINE__;
}

static void tell_text(void *told, cs_shim_status status, const char *text) {
  (void)status;
  const bool is_reported = write(*(int *)told, text, strlen(text)) >= 0;
  _exit(is_reported ? 0 : 1);
}

bool cs_test_default_socket(const char *runtime_directory, char ret_text[256]) {
  int told[2];
  if (pipe2(told, O_CLOEXEC) != 0) return false;
  const int child = cs_test_fork_with_descriptors();
  if (child == 0) {
    unsetenv("CRASHSHIELD_SOCKET");
    setenv("XDG_RUNTIME_DIR", runtime_directory, 1);
    const cs_shim_configuration configuration = {.status_function = tell_text, .status_context = &told[1]};
    if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) _exit(2);
    for (;;)
      pause();
  }
  close(told[1]);
  const bool has_ended = cs_test_wait(child) == 0;
  const ssize_t size = read(told[0], ret_text, 255);
  close(told[0]);
  ret_text[size > 0 ? size : 0] = 0;
  return has_ended && size > 0;
}
