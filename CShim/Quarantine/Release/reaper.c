// The reaper is a thread that runs deferred deinits: under the policy absorb, the deinit of an object runs only when
// the object leaves the quarantine. A thread of the program cannot run it, because it can hold a lock that the deinit
// takes, and its stack can be nearly full. The reaper holds no lock of the program and has its own stack.
//
// The reaper reads its queue of objects periodically. A release does not wake it: the scheduler might then suspend the
// releasing thread to run the reaper, and other threads would have to wait for the locks that the suspended thread
// holds.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../Table/classes.h"
#include "evict.h"
#include "reaper.h"

#define PLACES       1024          // the maximum number of entries, a power of two
#define SHARE        UINT64_C(128) // bytes of waiting objects for each entry of the queue
#define PLACES_LEAST 128
// The pause between two reads of the queue. The pause becomes shorter while the queue fills quickly, and longer while
// few objects arrive.
#define PAUSE_LEAST_NS INT64_C(250000)
#define PAUSE_MOST_NS  INT64_C(100000000)
#define REST_NS        INT64_C(10000000000) // after this time without an object, the reaper sleeps until it is woken
#define ASK_NS         INT64_C(10000000)    // the interval at which a thread that waits for the reaper checks again

// An entry of Dmitry Vyukov's bounded queue. `turn` shows whether a producer or the reaper owns the entry. The entry is
// small, because the budget also pays for the queue's memory.
typedef struct waiting {
  _Atomic uint64_t turn;
  // A copy of the first half of the object's slot, and of the slot's checksum.
  cs_object *_Atomic object;
  uint64_t ticks;
  uint64_t label;
  uint32_t thread;
  uint32_t stack;
  uint64_t checksum;
} waiting;

static waiting queue[PLACES];
static uint64_t mask; // number of used entries - 1; depends on the memory budget, which includes these entries
static _Atomic uint64_t given, taken, done;
_Atomic uint64_t cs_reaper_bytes;
_Atomic uint64_t cs_reaper_most = (1 << 20) / CS_WAITING_SHARE;
static _Atomic uint32_t call;       // the futex on which the reaper sleeps
static _Atomic uint32_t has_done;   // the futex on which threads sleep that wait for the reaper
static _Atomic uint32_t is_resting; // whether the reaper sleeps until a thread wakes it
static _Atomic uint32_t is_pressed; // whether the queue was full when an object arrived since the last pause began
_Atomic uint32_t cs_reaper_is_running;
_Atomic uint32_t cs_reaper_is_parked;
static _Atomic uint32_t waiters; // the number of threads that wait for the reaper
static __thread bool is_reaper;

// Sleeps until another thread changes the word, at most `ns` nanoseconds. If `ns` is 0, there is no time limit.
static void sleep_on(_Atomic uint32_t *word, uint32_t value, int64_t ns) {
  const struct timespec time = {.tv_nsec = ns};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns == 0 ? NULL : &time, NULL, 0);
}

// Wakes the threads that sleep on the word. Preserves errno, because a release must not change the program's errno.
__attribute__((cold, noinline)) static void wake(_Atomic uint32_t *word) {
  const int error = errno;
  atomic_fetch_add(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
  errno = error;
}

static void fill_in(waiting *place, const cs_slot *slot, cs_object *object) {
  place->ticks = slot->ticks;
  place->label = slot->label;
  place->thread = slot->thread;
  place->stack = slot->stack;
  place->checksum = slot->checksum;
  // The accesses are atomic, because cs_reaper_find can read an entry while the entry changes.
  atomic_store_explicit(&place->object, object, memory_order_relaxed);
}

static cs_slot record_of(const waiting *place) SIGNAL_SAFE {
  return (cs_slot){
      .object = atomic_load_explicit(&place->object, memory_order_relaxed),
      .ticks = place->ticks,
      .label = place->label,
      .thread = place->thread,
      .stack = place->stack,
      .checksum = place->checksum,
  };
}

void cs_reaper_prepare(void) {
  const uint64_t most = atomic_load(&cs_reaper_most);
  uint64_t places = PLACES;
  // If the limit for waiting objects is below the default, halves the number of entries until each entry has at least
  // 2 × SHARE bytes of the limit, but not below PLACES_LEAST. A smaller queue leaves more of the budget for objects.
  while (places > PLACES_LEAST && most < PLACES * SHARE && most < SHARE * places * 2)
    places /= 2;
  mask = places - 1;
  for (uint64_t index = 0; index < places; index++)
    atomic_store(&queue[index].turn, index);
}

// The result of taking one object from the queue.
typedef enum outcome { REAPED, NONE, STAYS } outcome;

static outcome reap_one(void) {
  const uint64_t number = atomic_load(&taken);
  waiting *const place = &queue[number & mask];
  if (atomic_load_explicit(&place->turn, memory_order_acquire) != number + 1) return NONE;
  cs_slot slot = record_of(place);
  cs_class *const class = cs_classes[cs_number_class(cs_label_number(slot.label))];
  // If threads wait for the reaper, the object must leave the quarantine now, and cannot stay for a second round
  // (evict.h).
  bool is_gone = cs_evict_deferred(class, &slot, atomic_load(&waiters) != 0);
  atomic_fetch_sub_explicit(&cs_reaper_bytes, cs_slot_bytes(&slot), memory_order_relaxed);
  if (!is_gone && !cs_reaper_give(&slot, slot.object)) is_gone = cs_evict_deferred(class, &slot, true);
  atomic_store_explicit(&place->object, NULL, memory_order_relaxed);
  atomic_store(&taken, number + 1);
  atomic_store_explicit(&place->turn, number + mask + 1, memory_order_release);
  atomic_fetch_add(&done, 1);
  return is_gone ? REAPED : STAYS;
}

// During the exit of the process, the reaper runs only deinits for which a thread waits.
static bool may_reap(void) {
  return atomic_load(&cs_reaper_is_parked) == 0 || atomic_load(&waiters) != 0;
}

// Returns the length of the next pause: a quarter of the last one if the queue was full or if at least a quarter of its
// entries were used during the last pause, and twice the last one if few were used.
static int64_t pause_after(int64_t pause_ns, uint64_t reaped) {
  const uint64_t places = mask + 1;
  const bool is_full = atomic_exchange(&is_pressed, 0) != 0;
  if (is_full || reaped >= places / 4)
    pause_ns /= 4;
  else if (reaped < places / 16)
    pause_ns *= 2;
  return pause_ns < PAUSE_LEAST_NS ? PAUSE_LEAST_NS : pause_ns > PAUSE_MOST_NS ? PAUSE_MOST_NS : pause_ns;
}

void *cs_reaper_run(void *context) {
  (void)context;
  is_reaper = true;
  // The crash handler recognizes the thread by this name. If the reaper receives a signal that was sent to the process,
  // the handler passes the signal on to a thread of the program.
  pthread_setname_np(pthread_self(), "crashshield-q");
  int64_t pause_ns = PAUSE_LEAST_NS, quiet_ns = 0;
  for (;;) {
    const uint32_t before = atomic_load(&call);
    uint64_t reaped = 0;
    outcome last = NONE;
    while (may_reap() && (last = reap_one()) == REAPED)
      reaped++;
    if (atomic_load(&waiters) != 0) wake(&has_done);
    // If the last object went back to the queue, another thread has retained it, and can release it during the pause.
    pause_ns = last == STAYS ? PAUSE_MOST_NS : pause_after(pause_ns, reaped);
    quiet_ns = reaped != 0 || last == STAYS ? 0 : quiet_ns + pause_ns;
    if (quiet_ns < REST_NS) {
      sleep_on(&call, before, pause_ns);
      continue;
    }
    // seq_cst: pairs with cs_reaper_give, which increases `given` and then reads is_resting. One of the two threads
    // therefore reads the other's write.
    atomic_store(&is_resting, 1);
    if (atomic_load(&given) == atomic_load(&taken) || !may_reap()) sleep_on(&call, before, 0);
    atomic_store(&is_resting, 0);
    pause_ns = PAUSE_LEAST_NS;
    quiet_ns = 0;
  }
}

// Wakes the reaper from a sleep without a time limit. This happens at most once in ten seconds, because the reaper
// sleeps so only after ten seconds without an object.
__attribute__((cold, noinline)) static void end_rest(void) {
  if (atomic_exchange(&is_resting, 0) != 0) wake(&call);
}

__attribute__((cold, noinline)) static bool refuse(uint64_t bytes) {
  atomic_fetch_sub_explicit(&cs_reaper_bytes, bytes, memory_order_relaxed);
  if (atomic_load_explicit(&is_pressed, memory_order_relaxed) == 0) atomic_store(&is_pressed, 1);
  return false;
}

bool cs_reaper_give(const cs_slot *slot, cs_object *object) {
  const uint64_t bytes = cs_slot_bytes(slot);
  // An object that alone is larger than the limit is accepted only if no other object waits.
  const uint64_t before = atomic_fetch_add_explicit(&cs_reaper_bytes, bytes, memory_order_relaxed);
  if (__builtin_expect(before > atomic_load_explicit(&cs_reaper_most, memory_order_relaxed), false))
    return refuse(bytes);
  uint64_t number = atomic_load_explicit(&given, memory_order_relaxed);
  waiting *place = NULL;
  for (;;) {
    place = &queue[number & mask];
    const uint64_t turn = atomic_load_explicit(&place->turn, memory_order_acquire);
    if (turn == number) {
      if (atomic_compare_exchange_weak(&given, &number, number + 1)) break;
    } else if (turn < number) {
      return refuse(bytes);
    } else {
      number = atomic_load_explicit(&given, memory_order_relaxed);
    }
  }
  fill_in(place, slot, object);
  // release: pairs with the acquire load in reap_one().
  atomic_store_explicit(&place->turn, number + 1, memory_order_release);
  // seq_cst: `given` is increased before is_resting is read. cs_reaper_run makes its two accesses in the opposite
  // order, so one of the two threads reads the other's write.
  if (__builtin_expect(atomic_load(&is_resting) != 0, false)) end_rest();
  return true;
}

bool cs_reaper_wait(void) {
  if (atomic_load(&cs_reaper_is_running) == 0 || is_reaper) return false;
  const uint64_t goal = atomic_load(&given);
  atomic_fetch_add(&waiters, 1);
  for (;;) {
    const uint32_t before = atomic_load(&has_done);
    if (atomic_load(&done) >= goal) break;
    wake(&call);
    sleep_on(&has_done, before, ASK_NS);
  }
  atomic_fetch_sub(&waiters, 1);
  return true;
}

void cs_reaper_call(void) {
  if (atomic_load(&cs_reaper_is_running) != 0) wake(&call);
}

bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot) SIGNAL_SAFE {
  const uint64_t first = atomic_load(&taken), last = atomic_load(&given);
  for (uint64_t number = first; number < last && number <= first + mask; number++) {
    waiting *const place = &queue[number & mask];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number + 1) continue;
    // The fence orders the copy before the second read of `turn`. If the copy contains writes of a later producer, the
    // second read returns a later turn: the producer wrote only after it had read that the reaper had emptied the
    // entry, and on x86-64 and AArch64, a store becomes visible to all other threads at the same time.
    const cs_slot copy = record_of(place);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&place->turn, memory_order_relaxed) != number + 1 || copy.object != object) continue;
    *ret_slot = copy;
    return true;
  }
  return false;
}

#endif
