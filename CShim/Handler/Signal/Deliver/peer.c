#include "peer.h"

#include "../Dispatch/state.h"
#include "../Kernel/privilege.h"
#include "../Kernel/system_call.h"

// The system's crashd is the one whose directory root has made in /run: only root can make one there.
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
