// Whom this process trusts with what it has: its ring, its files, its spool file.
#ifndef CS_PEER_H
#define CS_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Root, the user whose crashd is the system's, or the user who started this process. The last one only where the kernel
// would dump this process for that user.
bool cs_user_is_trusted(uint32_t uid) SIGNAL_SAFE;

// The same of the other end of a socket, as the kernel knows it: who listened there.
bool cs_peer_is_trusted(int socket) SIGNAL_SAFE;

#endif
