#include "cs_platform.h"

#if CS_SUPPORTED

#include "lines.h"

#include "../Deliver/deliver.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"
#include "last_words.h"
#include "output.h"
#include "record_line.h"

// A thread whose crash another thread's lines describe waits for these lines, at most 500 ms (5,000 × 0.1 ms). Without
// the wait, it could end the process before the lines are written.
#define WAIT_TRIES    5000
#define WAIT_SLEEP_NS 100000

// The high half is 1 + header.survived of the last lines. Crashes that happened together have the same number. The low
// half is the ID of the thread that writes these lines, or 0 when they are written.
static uint64_t turn; // atomic

// The line that is being written. Only the thread with the turn uses it.
static char line[CS_RECORD_LINE_LIMIT_BYTES];

void cs_lines_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&turn, 0, __ATOMIC_RELAXED);
}

// Returns the slot of the first committed record of the crashes that happened together, or CS_RING_SLOT_LIMIT. Reads
// only slots whose tickets were taken, because a read of another slot would allocate its page.
static uint32_t find_first(uint64_t survived) SIGNAL_SAFE {
  const cs_ring *ring = cs_process.ring;
  const uint64_t head = cs_ring_counter(&ring->header.slot_head);
  uint32_t first = CS_RING_SLOT_LIMIT;
  uint64_t first_sequence = UINT64_MAX;
  for (uint64_t ticket = survived; ticket < head && ticket - survived < CS_RING_SLOT_LIMIT; ticket++) {
    const uint32_t index = (uint32_t)(ticket % CS_RING_SLOT_LIMIT);
    const cs_ring_slot *slot = &ring->slots[index];
    if ((cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED) continue;
    const uint64_t sequence = slot->record.sequence;
    if (sequence < survived || sequence >= first_sequence) continue;
    first_sequence = sequence;
    first = index;
  }
  return first;
}

static uint64_t turn_of(uint64_t survived) SIGNAL_SAFE {
  return (survived + 1) << 32;
}

// acquire: pairs with the release store in finish_turn().
static bool take_turn(uint64_t survived) SIGNAL_SAFE {
  uint64_t seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
  const uint64_t wanted = turn_of(survived) | (uint32_t)cs_gettid();
  return seen >> 32 != wanted >> 32 &&
         __atomic_compare_exchange_n(&turn, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void finish_turn(uint64_t survived) SIGNAL_SAFE {
  __atomic_store_n(&turn, turn_of(survived), __ATOMIC_RELEASE);
}

// If this thread has the turn, it has faulted while it wrote the lines. It must not wait for itself.
static void await_turn(void) SIGNAL_SAFE {
  const uint32_t self = (uint32_t)cs_gettid();
  for (int attempt = 0; attempt < WAIT_TRIES; attempt++) {
    const uint32_t writer = (uint32_t)__atomic_load_n(&turn, __ATOMIC_ACQUIRE);
    if (writer == 0 || writer == self) return;
    cs_sleep_ns(WAIT_SLEEP_NS);
  }
}

// Writes the line to the stderr that the process has now. No thread closes stderr in its own table, if lines go to it
// (connection.c). A socket must be the one that was stderr at the start,
// because a later one may be a connection of the program.
static void put_to_stderr(size_t size) SIGNAL_SAFE {
  struct stat status = {0};
  if (cs_fstat(STDERR_FILENO, &status) != 0) return;
  if (S_ISSOCK(status.st_mode) && !cs_descriptor_is_ours(&cs_process.first_stderr)) return;
  cs_output_line(STDERR_FILENO, &status, line, size);
}

static void put_to_file(size_t size) SIGNAL_SAFE {
  struct stat status = {0};
  const int number = cs_process.last_words.number;
  if (!cs_descriptor_is_ours(&cs_process.last_words) || cs_fstat(number, &status) != 0) return;
  cs_output_line(number, &status, line, size);
}

void cs_lines_write(void) SIGNAL_SAFE {
  const bool has_words = cs_process.last_words.number >= 0 || cs_process.words_to_stderr;
  const bool has_record = cs_process.record_to_stderr && cs_deliver_has_failed();
  if (!has_words && !has_record) return;
  const uint64_t survived = __atomic_load_n(&cs_process.ring->header.survived, __ATOMIC_ACQUIRE);
  const uint32_t slot = find_first(survived);
  if (slot == CS_RING_SLOT_LIMIT) return;
  if (!take_turn(survived)) {
    await_turn();
    return;
  }
  const bool is_bare = __atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) != 0;
  if (has_words) {
    const size_t size = cs_last_words(&cs_process.ring->slots[slot].record, is_bare, line);
    if (cs_process.words_to_stderr) {
      put_to_stderr(size);
    } else {
      put_to_file(size);
    }
  }
  if (has_record) put_to_stderr(cs_record_line(slot, is_bare, line));
  finish_turn(survived);
}

#endif
