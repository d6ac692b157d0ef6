// Peers that are other users, for tests of crashd. They need root.
#ifndef CD_TEST_SUPPORT_H
#define CD_TEST_SUPPORT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Connects a socket of the caller's as somebody else: a child becomes him and connects. The kernel keeps what it was
// then (SO_PEERCRED, SO_PEERGROUPS). The child lives until cd_test_peer_end: for crashd it is the process at the other
// end. 0 or an errno value.
int cd_test_connect_as(int socket, const char *path, uint32_t uid, uint32_t gid, const gid_t *groups,
                       size_t group_count, int *ret_link, int32_t *ret_child);

// Ends the child, and waits for it.
void cd_test_peer_end(int link, int32_t child);

#endif
