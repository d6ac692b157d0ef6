// Peers for tests of crashd. Those that are other users need root.
#ifndef CD_TEST_SUPPORT_H
#define CD_TEST_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Connects a socket of the caller's as another user: a child takes the uid and connects. The kernel keeps what it was
// then (SO_PEERCRED, SO_PEERGROUPS). The child lives until cd_test_peer_end: for crashd it is the process at the other
// end. `is_restricted`: one that the kernel would not dump for that user. 0 or an errno value.
int cd_test_connect_as(int socket, const char *path, uint32_t uid, uint32_t gid, const gid_t *groups,
                       size_t group_count, bool is_restricted, int *ret_link, int32_t *ret_child);

// Ends the child, and waits for it.
void cd_test_peer_end(int link, int32_t child);

// Starts a child that connects sockets of the caller's, one at a time. For crashd it is the process at the other end of
// all of them. The caller kills it and waits for it; it exits when the caller closes the link. 0 or an errno value.
int cd_test_successor_start(const char *path, const int *sockets, size_t count, int *ret_link, int32_t *ret_child);

// Has the child connect the next socket.
int cd_test_successor_connect(int link);

// A file system with one file, `image`, whose attributes the kernel asks for each time.
typedef struct cd_test_mount {
  int control;
  int32_t child;
} cd_test_mount;

// Mounts it; an errno value where that cannot be done here.
int cd_test_mount_hanging(const char *directory, cd_test_mount *ret_mount);

// From now on it answers nothing.
void cd_test_hang(const cd_test_mount *mount);

// Ends it: what waits for it fails.
void cd_test_unmount(const char *directory, const cd_test_mount *mount);

// What the kernel says of a dump of this process (PR_GET_DUMPABLE).
int cd_test_dumpable(void);

#endif
