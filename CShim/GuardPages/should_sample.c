// Decides which allocations of a sampled size get a slot, that is, a page between guard pages.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "interpose.h"

#include "Signal/pages.h"

// The sampling state of this thread. The variables need the initial-exec model, because __tls_get_addr can allocate
// memory.
static __thread uint32_t countdown __attribute__((tls_model("initial-exec")));
static __thread uint32_t epoch __attribute__((tls_model("initial-exec"))); // 0: this thread has not started a countdown

static uint64_t seed; // atomic

// Returns the number of calls until the next sample: a uniform random number from 1 to 2n - 1, where n is `one_in`.
// With a fixed distance, sampling could synchronize with a periodic allocation pattern, and would then always sample
// the same call site.
static uint32_t draw(uint32_t one_in) {
  uint64_t mixed = __atomic_add_fetch(&seed, UINT64_C(0x9E3779B97F4A7C15), __ATOMIC_RELAXED);
  mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
  mixed ^= mixed >> 31;
  return (uint32_t)(1 + mixed % (2 * (uint64_t)one_in - 1));
}

bool cs_page_should_sample(void) {
  // acquire: a thread that reads a new epoch also reads the rate that belongs to it, or a later one. Otherwise, it
  // might draw its next countdown with the old rate.
  const uint32_t present = __atomic_load_n(&cs_page_sampling_epoch, __ATOMIC_ACQUIRE);
  const uint32_t one_in = __atomic_load_n(&cs_page_one_in, __ATOMIC_RELAXED);
  if (one_in <= 1) return true;
  if (epoch != present) {
    epoch = present;
    countdown = draw(one_in);
  }
  if (--countdown > 0) return false;
  countdown = draw(one_in);
  return true;
}

#endif
