// Processes that connect to crashd in tests. Only root can connect as another user.
#ifndef CD_TEST_SUPPORT_H
#define CD_TEST_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The flags of clone(2) for new namespaces, which Swift does not import.
enum {
  CD_TEST_NEW_MOUNTS = 0x00020000,
  CD_TEST_NEW_HOSTNAME = 0x04000000,
  CD_TEST_NEW_IPC = 0x08000000,
  CD_TEST_NEW_USERS = 0x10000000,
  CD_TEST_NEW_PIDS = 0x20000000,
  CD_TEST_NEW_NETWORK = 0x40000000,
};

// Connects a socket of the caller as another user: a child process takes the user's uid and connects the socket. The
// kernel records the child's credentials at the time of connect() (SO_PEERCRED, SO_PEERGROUPS). The child runs until
// cd_test_peer_end(). crashd identifies this child as the process at the other end of the socket. If `is_restricted` is
// set, the child is not dumpable, so its user is not allowed to read its memory. The child runs in the new namespaces
// `namespaces`, such as CD_TEST_NEW_PIDS. Returns 0 or an errno value.
int cd_test_connect_as(int socket, const char *path, uint32_t uid, uint32_t gid, const gid_t *groups,
                       size_t group_count, bool is_restricted, int namespaces, int *ret_link, int32_t *ret_child);

// Ends the child, and waits until it has exited.
void cd_test_peer_end(int link, int32_t child);

// Starts a child that connects sockets of the caller, one at a time. crashd identifies this child as the process at the
// other end of all these sockets. The child runs until the caller closes the link or kills the child. Then the caller
// must wait for the child. Returns 0 or an errno value.
int cd_test_successor_start(const char *path, const int *sockets, size_t count, int *ret_link, int32_t *ret_child);

// Makes the child connect the next socket.
int cd_test_successor_connect(int link);

// A FUSE file system that contains one file, `image`. At each access, the kernel requests the file's attributes from
// this file system.
typedef struct cd_test_mount {
  int control;
  int32_t child;
} cd_test_mount;

// Mounts the file system. Returns an errno value if this machine does not allow the mount.
int cd_test_mount_hanging(const char *directory, cd_test_mount *ret_mount);

// Makes the file system stop answering.
void cd_test_hang(const cd_test_mount *mount);

// Unmounts the file system. Ends the file system. Pending requests fail.
void cd_test_unmount(const char *directory, const cd_test_mount *mount);

// Returns the kernel's dump setting of this process (PR_GET_DUMPABLE).
int cd_test_dumpable(void);

#endif
