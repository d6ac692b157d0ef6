// Replaces the handler's test functions that crash-maker calls. The program does not contain the shield's handler, so
// these functions inject nothing.
#include "cs_testing.h"

bool cs_testing_claim_and_abandon(void) {
  return false;
}

void cs_testing_inject(cs_injection injection, uint32_t places) {
  (void)injection;
  (void)places;
}
