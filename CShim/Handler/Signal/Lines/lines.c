#include "cs_platform.h"

#if CS_SUPPORTED

#include "lines.h"

#include "../Deliver/deliver.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"
#include "cs_ring_access.h"
#include "last_words.h"
#include "output.h"
#include "record_line.h"

// If several threads crash together, one of them writes the lines. The others wait for this thread, at most 500 ms
// (5,000 × 0.1 ms). Without the wait, they could end the process before the lines are written.
#define WAIT_TRIES    5000
#define WAIT_SLEEP_NS 100000

// The turn to write the lines. header.survived changes with each crash that the process survives, so crashes that
// happen together have the same value. The high half of `turn` is 1 + this value for the crashes whose lines were
// written last. The low half is the ID of the thread that is writing them, or 0 after they are written.
static uint64_t turn; // atomic

// The line that is being written. Only the thread with the turn uses it.
static char line[CS_RECORD_LINE_LIMIT_BYTES];

void cs_lines_prefault(void) {
  memset(line, 0, sizeof line);
  cs_record_line_prefault();
}

void cs_lines_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&turn, 0, __ATOMIC_RELAXED);
}

// Returns the slot (the ring's space for one record) of the first committed record among the crashes that happened
// together, or CS_RING_SLOT_LIMIT if there is none. Reads only slots that were used: reading another slot would
// allocate its page.
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

// Takes the turn and returns true. Returns false if another thread has written the lines of these crashes, or after 500
// ms. Stores in `ret_is_again` whether this thread already had the turn, which means that it faulted while it wrote the
// lines. If another thread is still writing the lines of an earlier crash, which the process survived, this thread
// waits for it, because both use the same buffers. acquire: pairs with the release store in finish_turn().
static bool take_turn(uint64_t survived, bool *ret_is_again) SIGNAL_SAFE {
  const uint32_t self = (uint32_t)cs_gettid();
  for (int attempt = 0; attempt < WAIT_TRIES; attempt++) {
    uint64_t seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
    *ret_is_again = (uint32_t)seen == self;
    if (*ret_is_again) return true;
    if ((uint32_t)seen != 0) {
      cs_sleep_ns(WAIT_SLEEP_NS);
      continue;
    }
    if (seen >> 32 == turn_of(survived) >> 32) return false;
    if (__atomic_compare_exchange_n(&turn, &seen, turn_of(survived) | self, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true;
  }
  return false;
}

static void finish_turn(uint64_t survived) SIGNAL_SAFE {
  __atomic_store_n(&turn, turn_of(survived), __ATOMIC_RELEASE);
}

// Returns whether descriptor 2 is still stderr, and not an unrelated file or connection to which the program has given
// this number. A regular file that is open for appending is accepted too: it is probably a log file that replaced
// stderr, for example after a rotation.
static bool is_stderr(const struct stat *status) SIGNAL_SAFE {
  if (cs_descriptor_is_ours(&cs_process.first_stderr)) return true;
  const long flags = cs_system_call(SYS_fcntl, STDERR_FILENO, F_GETFL, 0, 0, 0, 0);
  return S_ISREG(status->st_mode) && flags >= 0 && (flags & O_APPEND) != 0;
}

// Writes the line to stderr. stderr is open in the thread's own descriptor table too, because close_stream() in
// connection.c does not close it if a line must go there.
static bool put_to_stderr(size_t size) SIGNAL_SAFE {
  struct stat status = {0};
  return cs_fstat(STDERR_FILENO, &status) == 0 && is_stderr(&status) &&
         cs_output_line(STDERR_FILENO, &status, line, size);
}

static void put_to_file(size_t size) SIGNAL_SAFE {
  struct stat status = {0};
  const int number = cs_process.last_words.number;
  if (!cs_descriptor_is_ours(&cs_process.last_words) || cs_fstat(number, &status) != 0) return;
  cs_output_line(number, &status, line, size);
}

static void put_words(uint32_t slot, bool is_bare) SIGNAL_SAFE {
  const size_t size = cs_last_words(&cs_process.ring->slots[slot].record, is_bare, line);
  if (cs_process.words_to_stderr) {
    (void)put_to_stderr(size);
  } else {
    put_to_file(size);
  }
}

void cs_lines_write(void) SIGNAL_SAFE {
  const bool has_words = cs_process.last_words.number >= 0 || cs_process.words_to_stderr;
  const bool has_record = cs_process.record_to_stderr && cs_deliver_has_failed();
  if (!has_words && !has_record) return;
  const uint64_t survived = __atomic_load_n(&cs_process.ring->header.survived, __ATOMIC_ACQUIRE);
  const uint32_t slot = find_first(survived);
  if (slot == CS_RING_SLOT_LIMIT) return;
  bool is_again = false;
  if (!take_turn(survived, &is_again)) return;
  const bool is_bare = __atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) != 0;
  // If `is_again` is true, this thread possibly faulted while it composed the last words, so it does not compose them
  // again.
  if (has_words && !is_again) put_words(slot, is_bare);
  // If neither crashd nor the spool directory has the crash, and stderr does not take it either, creates the spool
  // directory and writes the ring there.
  if (has_record && !put_to_stderr(cs_record_line(slot, is_bare, line))) cs_deliver_to_new_directory();
  finish_turn(survived);
}

#endif
