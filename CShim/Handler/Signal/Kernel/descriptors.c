#include "cs_platform.h"

#if CS_SUPPORTED

#include "descriptors.h"

#include <linux/close_range.h>
#include <sched.h>

#include "system_call.h"

// The shield moves its own descriptors to numbers from 960, just below 1024, the usual soft limit. If the soft limit is
// lower, it uses the last ROOM numbers below the limit.
#define FIRST_NUMBER 960
#define ROOM         16
#define KEPT_LIMIT   4

static long close_between(long first, long last, unsigned flags) SIGNAL_SAFE {
  return cs_system_call(SYS_close_range, first, last, flags, 0, 0, 0);
}

bool cs_descriptors_separate(void) SIGNAL_SAFE {
  // The range contains only one number, which no descriptor can have. The call therefore closes nothing, and only
  // copies the descriptor table.
  if (close_between(UINT32_MAX, UINT32_MAX, CLOSE_RANGE_UNSHARE) == 0) return true;
  return cs_system_call(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0) == 0;
}

// Sorts the numbers that are not negative into `ret_sorted`, and returns how many there are.
static size_t sort(const int *kept, size_t count, int ret_sorted[KEPT_LIMIT]) SIGNAL_SAFE {
  size_t size = 0;
  for (size_t index = 0; index < count && size < KEPT_LIMIT; index++) {
    if (kept[index] < 0) continue;
    size_t place = size++;
    for (; place > 0 && ret_sorted[place - 1] > kept[index]; place--)
      ret_sorted[place] = ret_sorted[place - 1];
    ret_sorted[place] = kept[index];
  }
  return size;
}

bool cs_descriptors_separate_keeping(const int *kept, size_t count) SIGNAL_SAFE {
  int sorted[KEPT_LIMIT];
  const size_t size = sort(kept, count, sorted);
  if (close_between(UINT32_MAX, UINT32_MAX, CLOSE_RANGE_UNSHARE) != 0) return false;
  long next = 0;
  for (size_t index = 0; index < size; index++) {
    if (sorted[index] > next) close_between(next, sorted[index] - 1, 0);
    next = (long)sorted[index] + 1;
  }
  close_between(next, UINT32_MAX, 0);
  return true;
}

int cs_descriptor_raise(int number) SIGNAL_SAFE {
  struct rlimit limit = {0};
  if (number < 0 || cs_system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0) != 0) return number;
  const uint64_t last = limit.rlim_cur < FIRST_NUMBER + ROOM ? limit.rlim_cur : FIRST_NUMBER + ROOM;
  if (last <= ROOM || last - ROOM <= (uint64_t)number) return number;
  const long raised = cs_system_call(SYS_fcntl, number, F_DUPFD_CLOEXEC, (long)(last - ROOM), 0, 0, 0);
  if (raised < 0) return number;
  cs_close(number);
  return (int)raised;
}

#endif
