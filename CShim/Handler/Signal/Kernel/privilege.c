#include "cs_platform.h"

#if CS_SUPPORTED

#include "privilege.h"

#include "../Dispatch/state.h"
#include "system_call.h"

bool cs_privilege_is_users(void) SIGNAL_SAFE {
  const long answer = cs_system_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0, 0);
  // If a seccomp filter forbids the call, this function returns the result of the last successful call.
  if (answer < 0) return __atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) == 0;
  return answer == 1;
}

// Concurrency: threads that crash at the same time store the same value, so the order of their stores does not matter.
void cs_privilege_note(void) SIGNAL_SAFE {
  const uint32_t is_restricted = cs_privilege_is_users() ? 0 : 1;
  cs_ring_header *header = &cs_process.ring->header;
  // relaxed: no other data depends on these fields.
  __atomic_store_n(&cs_process.is_restricted, is_restricted, __ATOMIC_RELAXED);
  __atomic_store_n(&header->is_restricted, is_restricted, __ATOMIC_RELAXED);
  cs_memory_mode_show();
}

// Returns whether the user owns the directory of the system-wide crashd in /run. Only root can create this directory,
// so its owner is trusted.
static bool is_of_system(uint32_t uid) SIGNAL_SAFE {
  struct stat status = {0};
  return cs_stat(CS_ATTACH_SYSTEM_DIRECTORY, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid;
}

bool cs_user_is_trusted(uint32_t uid) SIGNAL_SAFE {
  return uid == 0 || (uid == cs_process.user && cs_privilege_is_users()) || is_of_system(uid);
}

bool cs_peer_is_trusted(int socket) SIGNAL_SAFE {
  struct ucred peer = {0};
  socklen_t size = sizeof peer;
  return cs_getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer &&
         cs_user_is_trusted(peer.uid);
}

#endif
