// The Linux calls that crashd needs and Swift cannot make: variadic ones, control messages, headers that the Glibc
// module leaves out. No policy here.
#ifndef CD_SYSTEM_H
#define CD_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Functions return 0, or an errno value and leave their outputs alone, unless said otherwise.

// The process and user at the other end, as the kernel knows them (SO_PEERCRED).
typedef struct cd_peer {
  int32_t pid;
  uint32_t uid;
  uint32_t gid;
} cd_peer;
int cd_socket_peer(int socket, cd_peer *ret_peer);

// Whether the peer was in a group when it connected: by its effective group, or by one of its others (SO_PEERGROUPS).
int cd_socket_peer_is_in_group(int socket, uint32_t group, bool *ret_is_member);

// The number of a group, from the system's databases (nss): may wait for a server. ENOENT: there is none of this name.
int cd_group_find(const char *name, uint32_t *ret_group);
// Whether a group has a name; the same databases.
int cd_group_has_name(uint32_t group, const char *name, bool *ret_has_name);

// A pidfd of the peer: SO_PEERPIDFD (Linux 6.5), else pidfd_open of `pid`.
int cd_socket_peer_process(int socket, int32_t pid, int *ret_pidfd);
int cd_process_open(int32_t pid, int *ret_pidfd);

// The wait status of a process that has ended (PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15). EAGAIN while it runs;
// EBUSY while its parent has not waited for it, until then `cd_poller_await_hangup` watches it; ENOTSUP when this
// kernel does not tell.
int cd_process_end(int pidfd, int *ret_status);

// Whether something is left of the process, a zombie too: as long as it is, its pid is no other's.
bool cd_process_exists(int pidfd);

// The inode of a pidfd, which no other process has (Linux 6.9); 0: this kernel gives all of them one.
uint64_t cd_process_inode(int pidfd);

// One message and the descriptors with it, all close-on-exec. Whatever descriptors arrive are the caller's to close.
// `ret_truncated` tells that bytes or descriptors were cut off.
typedef struct cd_message {
  size_t byte_count;
  size_t descriptor_count;
  bool truncated;
} cd_message;
// `is_peek`: the message stays, and comes again with descriptors of its own.
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
// From now on only the hang-up of a descriptor that is watched already: of a pidfd, that nothing is left of its
// process.
int cd_poller_await_hangup(int poller, int descriptor, uint64_t token);
int cd_poller_wait(int poller, cd_poller_event *ret_events, size_t capacity, int timeout_ms, size_t *ret_count);

// eventfd, non-blocking.
int cd_wake_create(int *ret_descriptor);

// Runs `path` with `arguments` (NULL-terminated), the three descriptors as its 0, 1 and 2, every other one closed, an
// empty environment, and default signal handling.
// Waits for no file system but that of `path`.
int cd_spawn(const char *path, char *const *arguments, int input, int output, int error, int32_t *ret_pid);

// close(), but for numbers that were taken before main(): those do not become free. For descriptors that were
// inherited.
int cd_close(int descriptor);

// A pipe, non-blocking and close-on-exec.
int cd_pipe_create(int *ret_reader, int *ret_writer);

// The calling thread's name, at most 15 bytes.
void cd_thread_set_name(const char *name);

// The exit status of a child that has ended: its exit code, or 128 + its signal, and
// the CPU time that it took. EAGAIN while it runs.
int cd_child_status(int32_t pid, int *ret_status, uint64_t *ret_cpu_ns);

// Opens a regular file for reading by a path that is not trusted: no device, no pipe is opened on the way. ENOTSUP
// when it is something else than a regular file.
int cd_file_open_regular(int directory, const char *path, bool follow, int *ret_descriptor);

// The same by a path, as far as `user` may reach it: where crashd is root, the calling thread opens it with that user's
// rights and without groups. ELOOP through a link of /proc, which may lead into a container. May wait for the file
// system.
int cd_file_open_regular_as(uint32_t user, const char *path, int *ret_descriptor);

// What the kernel knows of an open file without asking its file system, which may never answer (AT_STATX_DONT_SYNC).
typedef struct cd_file_facts {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  // When its contents or its inode changed last, by the kernel's clock: no owner can set it.
  int64_t changed_s;
  int64_t changed_ns;
  uint32_t mode;
  uint32_t owner;
} cd_file_facts;
int cd_file_look(int descriptor, cd_file_facts *ret_facts);
// The same of the program that a process runs, by its link in /proc.
int cd_process_look_at_program(int32_t pid, cd_file_facts *ret_facts);

// Whether only root on this machine can have set a file's owner: its mount honours set-user-id, which mounts of users
// and of removable disks do not. May wait for the file system.
int cd_file_is_vouched_for(int descriptor, bool *ret_is_vouched_for);

// Whether a file lies in a file system that the boot of the machine has made: tmpfs.
bool cd_file_is_of_this_boot(int descriptor);

// A memfd of `size` bytes that can be sealed, and its seals (SHRINK, GROW, SEAL).
int cd_memory_create(size_t size, int *ret_descriptor);
int cd_memory_seal(int descriptor, bool stays_writable);

#endif
