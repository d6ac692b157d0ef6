// The handler's test functions that crash-maker calls. Without the shield's handler in the program, these functions
// inject nothing.
#include "cs_testing.h"

bool cs_testing_claim_and_abandon(void) {
  return false;
}

void cs_testing_inject(cs_injection injection, uint32_t places) {
  (void)injection;
  (void)places;
}
