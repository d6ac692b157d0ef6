// This function has its own file, because a new commit then only recompiles this file and links the programs.
#include "cs_build_commit.h"

#ifndef CRASHSHIELD_COMMIT
#define CRASHSHIELD_COMMIT ""
#endif

const char *cs_build_commit(void) {
  return CRASHSHIELD_COMMIT;
}
