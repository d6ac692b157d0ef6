#include "deliver.h"

#include "crasher.h"
#include "trusted.h"

// How long a thread waits for another one that is delivering: 100 × 1 ms.
#define LOCK_TRIES    100
#define LOCK_SLEEP_NS 1000000

// A full socket buffer also counts: crashd has as many wake-ups waiting there as it holds.
static bool wake(int number) SIGNAL_SAFE {
  const uint8_t byte = CS_ATTACH_CRASHED;
  const long result = cs_send(number, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
  return result == (long)sizeof byte || result == -EAGAIN;
}

static bool wake_connected(void) SIGNAL_SAFE {
  struct stat status;
  // acquire: pairs with the release store of cs_connection_publish().
  const int number = __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE);
  const uint64_t inode = __atomic_load_n(&cs_connection_now.inode, __ATOMIC_RELAXED);
  if (number < 0 || cs_fstat(number, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  return (uint64_t)status.st_ino == inode && wake(number);
}

static bool connect_and_wake(void) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_process.is_refused, __ATOMIC_RELAXED) != 0) return false;
  const int number = cs_connection_open();
  if (number < 0) return false;
  if (cs_hello_send(number, NULL, NULL, 0) < 0 || !wake(number)) {
    cs_close(number);
    return false;
  }
  cs_connection_publish(number);
  return true;
}

static bool lock(int tid) SIGNAL_SAFE {
  for (int attempt = 0; attempt < LOCK_TRIES; attempt++) {
    int nobody = 0;
    // acquire: pairs with the release of the thread before.
    if (__atomic_compare_exchange_n(&cs_process.delivering_tid, &nobody, tid, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return true;
    }
    // This very thread crashed while it delivered: it must not try again.
    if (nobody == tid) return false;
    cs_sleep_ns(LOCK_SLEEP_NS);
  }
  return false;
}

// Concurrency: threads that find a connection announce themselves independently; the others do so one by one, and the
// second of them finds the first one's connection.
// On failure: the ring stays in memory; crashd has it if the process was ever attached, and reads it at the hang-up.
void cs_deliver(void) SIGNAL_SAFE {
  if (wake_connected() || !lock(cs_gettid())) return;
  if (!wake_connected() && !connect_and_wake()) cs_spool_write();
  __atomic_store_n(&cs_process.delivering_tid, 0, __ATOMIC_RELEASE);
}
