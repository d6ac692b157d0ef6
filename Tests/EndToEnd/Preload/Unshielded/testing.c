// What crash-maker asks of the handler; without one nothing is injected.
#include "cs_testing.h"

bool cs_testing_claim_and_abandon(void) {
  return false;
}

void cs_testing_inject(cs_injection injection, uint32_t places) {
  (void)injection;
  (void)places;
}
