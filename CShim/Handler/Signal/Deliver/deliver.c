#include "cs_platform.h"

#if CS_SUPPORTED

#include "deliver.h"

#include "../Dispatch/crasher.h"
#include "../Dispatch/trusted.h"
#include "../FaultInjection/fault_injection.h"
#include "../Threads/own_threads.h"

// If another thread is delivering its crash, a crashing thread waits at most 500 ms: it makes 500 attempts to become
// the delivering thread, 1 ms apart.
#define LOCK_TRIES    500
#define LOCK_SLEEP_NS 1000000
// The maximum number of deliveries that one thread makes for other crashing threads. After each delivery, another one
// can be necessary, because another thread can have crashed during the delivery.
#define SERVE_ROUNDS CS_RING_SLOT_LIMIT

static uint32_t has_failed; // atomic: whether the last delivery reached neither crashd nor the spool

static void note_failed(bool is_failed) SIGNAL_SAFE {
  __atomic_store_n(&has_failed, is_failed ? 1 : 0, __ATOMIC_RELAXED);
}

bool cs_deliver_has_failed(void) SIGNAL_SAFE {
  return __atomic_load_n(&has_failed, __ATOMIC_RELAXED) != 0;
}

// Sends crashd a message that makes it read the ring. A full socket buffer also counts as success, because the buffer
// already contains many such messages that crashd has not read.
static bool wake(int number) SIGNAL_SAFE {
  const uint8_t byte = CS_ATTACH_CRASHED;
  const long result = cs_send(number, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
  return result == (long)sizeof byte || result == -EAGAIN;
}

static bool wake_connected(void) SIGNAL_SAFE {
  // acquire: pairs with the release store in cs_connection_publish().
  const int number = __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE);
  return cs_connection_is_ours(number) && wake(number);
}

static bool connect_and_wake(void) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_process.is_refused, __ATOMIC_RELAXED) != 0) return false;
  const int number = cs_connection_open(true);
  if (number < 0) return false;
  if (cs_hello_send(number) < 0 || !wake(number)) {
    cs_close(number);
    return false;
  }
  cs_connection_publish(number);
  return true;
}

static bool try_lock(int tid, int *ret_holder) SIGNAL_SAFE {
  *ret_holder = 0;
  // acquire: pairs with the release store of the previous holder.
  return __atomic_compare_exchange_n(&cs_process.delivering_tid, ret_holder, tid, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

static void unlock(void) SIGNAL_SAFE {
  __atomic_store_n(&cs_process.delivering_tid, 0, __ATOMIC_RELEASE);
}

// Writes the spool file, and stores how many deliveries had begun before: the file contains their records. Stores this
// number even if writing fails, because otherwise every waiting thread would try again. Precondition: the caller holds
// the lock.
static bool spool(bool (*write)(void) SIGNAL_SAFE) SIGNAL_SAFE {
  const uint32_t count = __atomic_load_n(&cs_process.delivery_count, __ATOMIC_SEQ_CST);
  cs_inject_here(CS_INJECT_SPOOL);
  const bool is_whole = write();
  __atomic_store_n(&cs_process.spooled_count, count, __ATOMIC_SEQ_CST);
  return is_whole;
}

// Delivers the ring, and delivers it again if another thread has requested a delivery meanwhile. One delivery is
// sufficient for several threads, because the ring and the spool file contain the records of all threads.
static void serve(void) SIGNAL_SAFE {
  for (int round = 0; round < SERVE_ROUNDS; round++) {
    // Sequentially consistent: each thread committed its record before it incremented `delivery_wanted`. This delivery
    // therefore includes the records of all threads that `wanted` counts.
    const uint32_t wanted = __atomic_load_n(&cs_process.delivery_wanted, __ATOMIC_SEQ_CST);
    // Stores the failure before the attempt: if this thread faults during the delivery, it counts as failed.
    note_failed(true);
    const bool is_kept = wake_connected() || cs_own_link_wakes_crashd() || connect_and_wake() || spool(cs_spool_write);
    note_failed(!is_kept);
    __atomic_store_n(&cs_process.delivery_done, wanted, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&cs_process.delivery_wanted, __ATOMIC_SEQ_CST) == wanted) return;
  }
}

// Concurrency: each thread that finds a connection wakes crashd independently. Threads that find no connection
// increment `delivery_wanted`. One of these threads delivers for all of them, and the others wait for it, at most 500
// ms. If every kind of delivery fails, the ring stays in memory. If crashd has received the ring's descriptor at any
// time, it then reads the ring when the process ends and the connection closes.
static void deliver(int lock_tries) SIGNAL_SAFE {
  // Sequentially consistent: this thread committed its record before it increments `delivery_count`. A spool file whose
  // stored number is not below this thread's count therefore contains this thread's record.
  __atomic_add_fetch(&cs_process.delivery_count, 1, __ATOMIC_SEQ_CST);
  if (wake_connected()) {
    note_failed(false);
    return;
  }
  const int tid = cs_gettid();
  const uint32_t mine = __atomic_add_fetch(&cs_process.delivery_wanted, 1, __ATOMIC_SEQ_CST);
  for (int attempt = 0; attempt < lock_tries; attempt++) {
    // Compares the counters by their difference, because they can wrap around.
    const uint32_t done = __atomic_load_n(&cs_process.delivery_done, __ATOMIC_SEQ_CST);
    if ((int32_t)(done - mine) >= 0) return;
    int holder = 0;
    if (try_lock(tid, &holder)) {
      serve();
      unlock();
      return;
    }
    // If this thread itself holds the lock, it crashed while it delivered, and must not wait for itself.
    if (holder == tid) return;
    cs_sleep_ns(LOCK_SLEEP_NS);
  }
}

void cs_deliver(void) SIGNAL_SAFE {
  deliver(LOCK_TRIES);
}

void cs_deliver_for_others(void) SIGNAL_SAFE {
  deliver(1);
}

bool cs_deliver_is_attached(void) SIGNAL_SAFE {
  // acquire: pairs with the release store in cs_connection_publish().
  return cs_connection_is_ours(__atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE));
}

// Returns whether a thread has requested a delivery since the last delivery. The requesting threads wait in deliver()
// for the thread that holds the lock.
static bool is_wanted(void) SIGNAL_SAFE {
  return __atomic_load_n(&cs_process.delivery_wanted, __ATOMIC_SEQ_CST) !=
         __atomic_load_n(&cs_process.delivery_done, __ATOMIC_SEQ_CST);
}

void cs_deliver_take_back(void) SIGNAL_SAFE {
  const int tid = cs_gettid();
  for (int attempt = 0; attempt < LOCK_TRIES; attempt++) {
    int holder = 0;
    if (try_lock(tid, &holder)) {
      cs_spool_take_back();
      if (is_wanted()) serve();
      unlock();
      return;
    }
    if (holder == tid) return;
    cs_sleep_ns(LOCK_SLEEP_NS);
  }
}

// Concurrency: one thread writes the file for all deliveries that have begun before the write. The other threads wait
// for the file, at most 500 ms. Without the wait, they could end the process before the file is complete.
static void copy(int lock_tries) SIGNAL_SAFE {
  const int tid = cs_gettid();
  const uint32_t mine = __atomic_load_n(&cs_process.delivery_count, __ATOMIC_SEQ_CST);
  for (int attempt = 0; attempt < lock_tries; attempt++) {
    // Compares the counters by their difference, because they may wrap around.
    const uint32_t spooled = __atomic_load_n(&cs_process.spooled_count, __ATOMIC_SEQ_CST);
    if ((int32_t)(spooled - mine) >= 0) return;
    int holder = 0;
    if (try_lock(tid, &holder)) {
      spool(cs_spool_copy);
      unlock();
      return;
    }
    // If this thread itself holds the lock, it crashed while it wrote the file, and must not wait for itself.
    if (holder == tid) return;
    cs_sleep_ns(LOCK_SLEEP_NS);
  }
}

void cs_deliver_to_new_directory(void) SIGNAL_SAFE {
  const int tid = cs_gettid();
  for (int attempt = 0; attempt < LOCK_TRIES; attempt++) {
    int holder = 0;
    if (try_lock(tid, &holder)) {
      cs_spool_make_directory();
      note_failed(!spool(cs_spool_write));
      unlock();
      return;
    }
    if (holder == tid) return;
    cs_sleep_ns(LOCK_SLEEP_NS);
  }
}

void cs_deliver_copy(void) SIGNAL_SAFE {
  copy(LOCK_TRIES);
}

void cs_deliver_copy_for_others(void) SIGNAL_SAFE {
  copy(1);
}

#endif
