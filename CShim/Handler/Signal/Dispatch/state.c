#include "cs_platform.h"

#if CS_SUPPORTED

#include "state.h"

#include "cs_shim.h"

cs_state cs_process;
int cs_started_pid;
cs_connection cs_connection_now = {.number = -1};

bool cs_shim_is_started(void) {
  return cs_started_ring() != NULL && cs_getpid() == cs_process.pid;
}

#endif
