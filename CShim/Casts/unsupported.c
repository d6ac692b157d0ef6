// The interface of the hook on unsupported platforms.
#include "cs_platform.h"

#if !CS_SUPPORTED

#include "cs_casts.h"

const char *cs_casts_obstacle(void) {
  return CS_UNSUPPORTED_TEXT;
}

bool cs_casts_begin_test(void) {
  return false;
}

cs_casts_seen cs_casts_end_test(bool goes_on) {
  (void)goes_on;
  return (cs_casts_seen){0};
}

#endif
