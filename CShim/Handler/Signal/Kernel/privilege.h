// Whether this process may have access to data that its user must not read. It was started with set-user-id or file
// capabilities, has changed its user, or has disabled dumps. The kernel would not dump such a process for its user, and
// the shield gives that user no memory either.
#ifndef CS_PRIVILEGE_H
#define CS_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Returns whether the kernel would dump this process for its user now (PR_GET_DUMPABLE).
bool cs_privilege_is_users(void) SIGNAL_SAFE;

// Asks the kernel and writes the result to the ring. For a restricted process no memory is kept, and the report belongs
// to root. Called at the start, at each hello and at each crash, because a process can change the state at any time.
void cs_privilege_note(void) SIGNAL_SAFE;

// Returns whether the user may receive this process's ring, files and spool file. That holds for root, the user of the
// system's crashd, and the user who started this process. The last one is trusted only if the kernel would dump this
// process for that user.
bool cs_user_is_trusted(uint32_t uid) SIGNAL_SAFE;

// Returns the same for the user at the other end of a socket, as the kernel reports it.
bool cs_peer_is_trusted(int socket) SIGNAL_SAFE;

#endif
