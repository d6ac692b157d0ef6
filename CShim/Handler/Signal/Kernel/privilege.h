// Whether this process may know more than its user: it was started with set-user-id or file capabilities, has changed
// its user, or asks for no dump. The kernel would not dump such a process for its user, and neither do we.
#ifndef CS_PRIVILEGE_H
#define CS_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Whether the kernel would dump this process for its user now (PR_GET_DUMPABLE).
bool cs_privilege_is_users(void) SIGNAL_SAFE;

// Asks the kernel, and writes into the ring what follows: no memory is kept, and the report is root's. At the start, at
// each hello and at each crash: a process changes it any time.
void cs_privilege_note(void) SIGNAL_SAFE;

// Whether the user may have what this process has: its ring, its files, its spool file. Root, the user whose crashd is
// the system's, and the user who started this process; the last one only where the kernel would dump this process for
// that user.
bool cs_user_is_trusted(uint32_t uid) SIGNAL_SAFE;

// The same of the user who listens at the other end of a socket, by the kernel's word.
bool cs_peer_is_trusted(int socket) SIGNAL_SAFE;

#endif
