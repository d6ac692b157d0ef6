// This function has its own file. After a new commit, only this file is compiled, and the programs are linked again.
#include "cs_build_commit.h"

#ifndef CRASHSHIELD_COMMIT
#define CRASHSHIELD_COMMIT ""
#endif

const char *cs_build_commit(void) {
  return CRASHSHIELD_COMMIT;
}
