// Determines whether this process may contain data that its user must not read. This is so if the process was started
// with set-user-ID or file capabilities, has changed its user, or has disabled core dumps. The kernel would not write a
// core dump of such a process for its user, so the shield does not give the process's memory to that user either.
#ifndef CS_PRIVILEGE_H
#define CS_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Returns whether the kernel would now write a core dump of this process for its user (PR_GET_DUMPABLE).
bool cs_privilege_is_users(void) SIGNAL_SAFE;

// Queries the kernel and stores the result in the ring. For a restricted process, records contain no memory, and the
// report belongs to root. The function is called at the start, at each hello and at each crash, because a process can
// change its state at any time.
void cs_privilege_note(void) SIGNAL_SAFE;

// Returns whether the user may receive this process's ring, image files and spool file. This is so for root, the user
// of the system's crashd, and the user who started this process. The user who started this process is trusted only if
// the kernel would write a core dump for that user.
bool cs_user_is_trusted(uint32_t uid) SIGNAL_SAFE;

// Like cs_user_is_trusted(), for the user at the other end of a socket. The kernel determines that user.
bool cs_peer_is_trusted(int socket) SIGNAL_SAFE;

#endif
