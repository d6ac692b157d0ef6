// A file of its own: a new commit recompiles this file and links the programs, nothing else.
#include "cs_build_commit.h"

#ifndef CRASHSHIELD_COMMIT
#define CRASHSHIELD_COMMIT ""
#endif

const char *cs_build_commit(void) {
  return CRASHSHIELD_COMMIT;
}
