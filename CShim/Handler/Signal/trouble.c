#include "trouble.h"

#include "trusted.h"

#define FOR_EVER_NS INT64_C(1000000000)

static void crash(void) SIGNAL_SAFE {
  volatile uint32_t *nowhere = (volatile uint32_t *)(uintptr_t)8;
  *nowhere = 0;
}

void cs_trouble_begin(void) SIGNAL_SAFE {
  const uint64_t all = ~UINT64_C(0);
  if (cs_process.trouble == CS_TROUBLE_CRASH) crash();
  // What no signal reaches: a thread that the kernel does not let go.
  if (cs_process.trouble == CS_TROUBLE_DEAF) cs_sigmask(SIG_SETMASK, &all);
  for (volatile uint32_t count = 0;; count = count + 1) {
    if (cs_process.trouble != CS_TROUBLE_LOOP) cs_sleep_ns(FOR_EVER_NS);
  }
}
