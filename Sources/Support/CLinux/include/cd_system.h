// The Linux calls that crashd needs and Swift cannot make: variadic ones, control messages, headers outside of the
// Glibc module. No policy here.
#ifndef CD_SYSTEM_H
#define CD_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Functions return 0, or an errno value and leave their outputs untouched, unless said otherwise.

// The process and user at the other end, by the kernel's credentials (SO_PEERCRED).
typedef struct cd_peer {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
} cd_peer;
int cd_socket_peer(int socket, cd_peer *ret_peer);

// Whether the peer was in a group when it connected: by its effective or a supplementary group (SO_PEERGROUPS).
int cd_socket_peer_is_in_group(int socket, uint32_t group, bool *ret_is_member);

// The number of a group, from the system's databases (nss): may wait for a server. ENOENT: no group has this name.
int cd_group_find(const char *name, uint32_t *ret_group);
// Whether a group has a name, by the same databases.
int cd_group_has_name(uint32_t group, const char *name, bool *ret_has_name);

// A pidfd of the peer: SO_PEERPIDFD (Linux 6.5), else pidfd_open of `pid`.
int cd_socket_peer_process(int socket, int32_t pid, int *ret_pidfd);
int cd_process_open(int32_t pid, int *ret_pidfd);

// The wait status of a process that has ended (PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15). EAGAIN while it runs;
// EBUSY until its parent has reaped it, which `cd_poller_await_hangup` watches; ENOTSUP when this kernel does not
// report it.
int cd_process_end(int pidfd, int *ret_status);

// Whether the process exists, also as a zombie: until it is reaped, its pid is not reused.
bool cd_process_exists(int pidfd);

// The inode of a pidfd, which no other process has (Linux 6.9); 0: this kernel gives all of them the same.
uint64_t cd_process_inode(int pidfd);

// One message and its descriptors, all close-on-exec. The caller closes whatever descriptors arrive. `ret_truncated`:
// bytes or descriptors were dropped.
typedef struct cd_message {
  size_t byte_count;
  size_t descriptor_count;
  bool truncated;
} cd_message;
// `is_peek`: the message stays, and is received again with other descriptors.
int cd_socket_receive(int socket, bool is_peek, void *bytes, size_t capacity, int *descriptors,
                      size_t descriptor_capacity, cd_message *ret_message);

// The next connection, non-blocking and close-on-exec.
int cd_socket_accept(int listener, int *ret_socket);

// One message with descriptors.
int cd_socket_send(int socket, const void *bytes, size_t size, const int *descriptors, size_t descriptor_count);

// epoll, level-triggered, for reading and hang-up.
typedef struct cd_poller_event {
  uint64_t token;
} cd_poller_event;
int cd_poller_create(int *ret_poller);
int cd_poller_add(int poller, int descriptor, uint64_t token);
int cd_poller_remove(int poller, int descriptor);
// Reports only the hang-up of a watched descriptor from now on; for a pidfd, that its process was reaped.
int cd_poller_await_hangup(int poller, int descriptor, uint64_t token);
int cd_poller_wait(int poller, cd_poller_event *ret_events, size_t capacity, int timeout_ms, size_t *ret_count);

// eventfd, non-blocking.
int cd_wake_create(int *ret_descriptor);

// Runs `path` with `arguments` (NULL-terminated), the three descriptors as its 0, 1 and 2, every other one closed, an
// empty environment, and default signal handling. It waits for no file system but that of `path`.
int cd_spawn(const char *path, char *const *arguments, int input, int output, int error, int32_t *ret_pid);

// close(), but numbers that were taken before main() do not become free. For inherited descriptors.
int cd_close(int descriptor);

// A pipe, non-blocking and close-on-exec.
int cd_pipe_create(int *ret_reader, int *ret_writer);

// The calling thread's name, at most 15 bytes.
void cd_thread_set_name(const char *name);

// The exit status of a child that has ended: its exit code, or 128 + its signal, and its CPU time. EAGAIN while it
// runs.
int cd_child_status(int32_t pid, int *ret_status, uint64_t *ret_cpu_ns);

// Opens a regular file for reading by an untrusted path: it opens no device or pipe on the way. ENOTSUP when it is not
// a regular file.
int cd_file_open_regular(int directory, const char *path, bool follow, int *ret_descriptor);

// The same by a path, with the rights of `user`: where crashd is root, the calling thread opens it as that user without
// groups. ELOOP through a link of /proc, which may lead into a container. May wait for the file system.
int cd_file_open_regular_as(uint32_t user, const char *path, int *ret_descriptor);

// What the kernel knows about an open file without asking its file system, which may never answer (AT_STATX_DONT_SYNC).
typedef struct cd_file_facts {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  // The last change of its contents or inode, by the kernel's clock, which no owner can set.
  int64_t changed_s;
  int64_t changed_ns;
  uint32_t mode;
  uint32_t owner;
} cd_file_facts;
int cd_file_look(int descriptor, cd_file_facts *ret_facts);
// The same for the program of a process, by its link in /proc.
int cd_process_look_at_program(int32_t pid, cd_file_facts *ret_facts);

// Whether only root on this machine can have set a file's owner: its mount honors set-user-id, which mounts of users
// and of removable disks do not. May wait for the file system.
int cd_file_is_vouched_for(int descriptor, bool *ret_is_vouched_for);

// Whether a file is in a file system that this boot created: tmpfs.
bool cd_file_is_of_this_boot(int descriptor);

// A memfd of `size` bytes that can be sealed, and its seals (SHRINK, GROW, SEAL).
int cd_memory_create(size_t size, int *ret_descriptor);
int cd_memory_seal(int descriptor, bool stays_writable);

#endif
