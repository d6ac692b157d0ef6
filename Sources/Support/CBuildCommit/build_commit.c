// This function has its own file, so that after a new commit only this file must be compiled before the programs are
// linked again.
#include "cs_build_commit.h"

#ifndef CRASHSHIELD_COMMIT
#define CRASHSHIELD_COMMIT ""
#endif

const char *cs_build_commit(void) {
  return CRASHSHIELD_COMMIT;
}
