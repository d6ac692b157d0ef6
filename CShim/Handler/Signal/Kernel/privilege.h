// Determines whether this process can contain data that its user must not read. The process can contain such data in
// three cases: it was started with set-user-ID or file capabilities, has changed its user, or has disabled core dumps.
// The kernel would not write a core dump of such a process for its user. The shield follows this rule and does not give
// the process's memory to that user.
#ifndef CS_PRIVILEGE_H
#define CS_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Returns whether the kernel would now write a core dump of this process for its user (PR_GET_DUMPABLE).
bool cs_privilege_is_users(void) SIGNAL_SAFE;

// Queries the kernel as cs_privilege_is_users() does, and stores the result in the ring and in
// cs_process.is_restricted. If the process is restricted (the kernel would refuse the core dump), records contain no
// memory, and the report belongs to root. This function is called at the start, at each hello (the first message on a
// connection to crashd) and at each crash, because the process can change its user or disable core dumps at any time.
void cs_privilege_note(void) SIGNAL_SAFE;

// Returns whether the user is allowed to receive this process's ring, image files and spool file. The result is true
// for root and for the user of the system-wide crashd. It is also true for the effective user of this process at the
// shield's start, if the kernel would write a core dump for that user.
bool cs_user_is_trusted(uint32_t uid) SIGNAL_SAFE;

// Like cs_user_is_trusted(), but for the user at the other end of a socket. The kernel provides the identity of that
// user (SO_PEERCRED).
bool cs_peer_is_trusted(int socket) SIGNAL_SAFE;

#endif
