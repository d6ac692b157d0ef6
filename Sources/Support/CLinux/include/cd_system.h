// Functions for the Linux calls that crashd needs and that Swift cannot make. These calls are variadic, use control
// messages, or are declared in headers outside the Glibc module. All decisions are in the Swift code that calls the
// functions.
#ifndef CD_SYSTEM_H
#define CD_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Unless documented otherwise, functions return 0 on success. On a failure, they return an errno value and leave their
// outputs unchanged.

// The process and user of the peer, from the kernel's credentials (SO_PEERCRED).
typedef struct cd_peer {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
} cd_peer;
int cd_socket_peer(int socket, cd_peer *ret_peer);

// Stores whether the peer was in a group when it connected, by its effective or a supplementary group (SO_PEERGROUPS).
int cd_socket_peer_is_in_group(int socket, uint32_t group, bool *ret_is_member);

// Stores the number of a group from the system's databases (nss). The call can wait for a server. Returns ENOENT if no
// group has this name.
int cd_group_find(const char *name, uint32_t *ret_group);
// Stores whether a group has this name, from the same databases as cd_group_find.
int cd_group_has_name(uint32_t group, const char *name, bool *ret_has_name);

// Opens a pidfd of the peer, with SO_PEERPIDFD (Linux 6.5). On an older kernel, opens it by `pid`, with pidfd_open.
int cd_socket_peer_process(int socket, int32_t pid, int *ret_pidfd);
int cd_process_open(int32_t pid, int *ret_pidfd);

// Stores the wait status of an ended process (PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15). Returns EAGAIN while
// the process runs, and EBUSY after its end until its parent has reaped it (see `cd_poller_await_hangup`). Returns
// ENOTSUP if this kernel does not provide the status.
int cd_process_end(int pidfd, int *ret_status);

// Returns whether the process exists, also as a zombie. If the process exists, its pid has not been reused.
bool cd_process_exists(int pidfd);

// Returns the inode of a pidfd, which is unique to the process (Linux 6.9). Returns 0 if this kernel gives all pidfds
// the same inode.
uint64_t cd_process_inode(int pidfd);

// One message and its descriptors, all close-on-exec. The caller must close every received descriptor. `truncated`
// reports whether bytes or descriptors were dropped.
typedef struct cd_message {
  size_t byte_count;
  size_t descriptor_count;
  bool truncated;
} cd_message;
// With `is_peek` the message stays in the queue, and the next call receives it again, with new descriptors.
int cd_socket_receive(int socket, bool is_peek, void *bytes, size_t capacity, int *descriptors,
                      size_t descriptor_capacity, cd_message *ret_message);

// Accepts the next connection, as a non-blocking and close-on-exec socket.
int cd_socket_accept(int listener, int *ret_socket);

// Sends one message with descriptors.
int cd_socket_send(int socket, const void *bytes, size_t size, const int *descriptors, size_t descriptor_count);

// A level-triggered epoll for reading and hang-up.
typedef struct cd_poller_event {
  uint64_t token;
} cd_poller_event;
int cd_poller_create(int *ret_poller);
int cd_poller_add(int poller, int descriptor, uint64_t token);
int cd_poller_remove(int poller, int descriptor);
// Changes a watched descriptor so that only its hang-up is reported. The hang-up of a pidfd means that its process was
// reaped.
int cd_poller_await_hangup(int poller, int descriptor, uint64_t token);
int cd_poller_wait(int poller, cd_poller_event *ret_events, size_t capacity, int timeout_ms, size_t *ret_count);

// Creates a non-blocking eventfd.
int cd_wake_create(int *ret_descriptor);

// Runs `path` with `arguments` (NULL-terminated) and an empty environment. The three descriptors become the child's
// descriptors 0, 1 and 2; every other descriptor is closed in the child. In the child, every signal has its default
// action, and no signal is blocked. The call can block only on the file system of `path`.
int cd_spawn(const char *path, char *const *arguments, int input, int output, int error, int32_t *ret_pid);

// Closes an inherited descriptor. Unlike close(), it does not free numbers that were reserved before main().
int cd_close(int descriptor);

// Creates a non-blocking and close-on-exec pipe.
int cd_pipe_create(int *ret_reader, int *ret_writer);

// Sets the name of the calling thread, which has at most 15 bytes.
void cd_thread_set_name(const char *name);

// Stores the exit status and the CPU time of an ended child. The status is its exit code, or 128 + its signal. Returns
// EAGAIN while the child runs.
int cd_child_status(int32_t pid, int *ret_status, uint64_t *ret_cpu_ns);

// Opens a regular file for reading by an untrusted path, without opening a device or pipe. Returns ENOTSUP if the file
// is not a regular file.
int cd_file_open_regular(int directory, const char *path, bool follow, int *ret_descriptor);

// Opens a regular file by a path, with the privileges of `user`. If crashd runs as root, the calling thread opens the
// file as that user, without the user's groups. Returns ELOOP for a path through a link of /proc, which can lead into a
// container. The call can wait for the file system.
int cd_file_open_regular_as(uint32_t user, const char *path, int *ret_descriptor);

// Facts about an open file that the kernel has in memory (AT_STATX_DONT_SYNC). These facts are available even if the
// file system does not answer.
typedef struct cd_file_facts {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  // The time of the last change of the contents or the inode (ctime), which the file's owner cannot set.
  int64_t changed_s;
  int64_t changed_ns;
  uint32_t mode;
  uint32_t owner;
} cd_file_facts;
int cd_file_look(int descriptor, cd_file_facts *ret_facts);
// Stores the facts about the executable of a process, which the link /proc/PID/exe identifies.
int cd_process_look_at_program(int32_t pid, cd_file_facts *ret_facts);

// Stores whether only root of this machine can have set the owner of a file. This is the case if the mount honors
// set-user-ID bits. Mounts by users and mounts of removable disks do not honor these bits. The call may wait for the
// file system.
int cd_file_is_vouched_for(int descriptor, bool *ret_is_vouched_for);

// Returns whether a file is in a tmpfs, a file system whose files were created since the machine booted.
bool cd_file_is_of_this_boot(int descriptor);

// Creates a memfd of `size` bytes that can be sealed, and sets its seals (SHRINK, GROW, SEAL).
int cd_memory_create(size_t size, int *ret_descriptor);
int cd_memory_seal(int descriptor, bool stays_writable);

#endif
