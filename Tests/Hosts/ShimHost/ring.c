// Starts four threads that write records into a ring with the functions of the signal handler, until a signal kills
// them. The content of a record depends only on its ticket (its number), so a reader detects a record of two writers.
// The program first prints the number of the ring's descriptor. With `together`, the threads write exactly one record
// per slot. A fifth thread reads these records through the same mapping, so that the thread sanitizer observes writers
// and reader. In this mode, no slot is written twice: a reader that copies bytes during a write, and then discards the
// copy, has a data race by design.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../CShim/Handler/Setup/setup.h"
#include "../../../CShim/Handler/Signal/Capture/record.h"
#include "../../../CShim/Handler/Signal/Dispatch/crasher.h"
#include "../../../CShim/Handler/Signal/Dispatch/trusted.h"
#include "../../../CShim/Handler/Signal/Unwind/unwind.h"
#include "cs_ring_access.h"
#include "cs_shim.h"
#include "cs_testing.h"
#include "host.h"

#define WRITER_COUNT    4
#define ADDRESS_FACTOR  UINT64_C(0x9e3779b97f4a7c15)
#define STACK_MODULUS   9973
#define MESSAGE_MODULUS 1999
#define CRUMB_MODULUS   199

static void fill(cs_crasher *crasher, const ucontext_t *context) {
  cs_ring_slot *slot = crasher->slot;
  const uint64_t ticket = crasher->ticket;
  const int letter = 'a' + (int)(ticket % 26);
  cs_record_signal(&slot->record, crasher->tid, &crasher->information, context, cs_clock_ns(CLOCK_MONOTONIC));
  cs_record_task(&slot->record);
  const cs_frame_list frames = cs_record_frames(&slot->record);
  cs_unwind(&crasher->scratch, &slot->record.registers, &frames);
  slot->record.address = ticket * ADDRESS_FACTOR;
  slot->record.message_bytes = (uint32_t)(ticket % MESSAGE_MODULUS) + 1;
  memset(slot->record.message, letter, slot->record.message_bytes);
  slot->record.stack_bytes = (uint32_t)(ticket % STACK_MODULUS) + 1;
  memset(slot->stack, letter, slot->record.stack_bytes);
}

static void leave_notes(uint64_t ticket) {
  char text[CRUMB_MODULUS];
  memset(text, 'a' + (int)(ticket % 26), sizeof text);
  const size_t size = ticket % CRUMB_MODULUS + 1;
  cs_shim_breadcrumb(text, size);
  cs_shim_annotate("letters", 7, text, size);
}

static void write_one(void) {
  const siginfo_t information = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR};
  ucontext_t context;
  memset(&context, 0, sizeof context); // getcontext does not set all fields
  cs_crasher *crasher = cs_crasher_claim(cs_gettid(), SIGSEGV, &information, NULL);
  if (crasher == NULL || getcontext(&context) != 0) return;
  fill(crasher, &context);
  leave_notes(crasher->ticket);
  cs_crasher_commit(crasher);
  cs_crasher_release(crasher);
}

static pid_t parent;

// Writes records until the parent process (the test) has ended, even if the test is killed.
static void *write_for_ever(void *unused) {
  while (getppid() == parent)
    write_one();
  _exit(0);
  return unused;
}

static void *write_share(void *unused) {
  for (int count = 0; count < CS_RING_SLOT_LIMIT / WRITER_COUNT; count++)
    write_one();
  return unused;
}

static bool is_right(const cs_ring_slot *slot, uint64_t ticket) {
  const cs_ring_record *record = &slot->record;
  uint32_t crc = cs_ring_crc32c(0, record, sizeof *record);
  crc = cs_ring_crc32c(crc, slot->stack, record->stack_bytes);
  return crc == slot->crc && record->sequence == ticket && record->address == ticket * ADDRESS_FACTOR &&
         record->stack_bytes == ticket % STACK_MODULUS + 1 && record->frame_count > 0;
}

// Reads all slots by the protocol that cs_ring.h defines. Only this protocol synchronizes the writers with this reader.
static void *read_all(void *ret_is_right) {
  const cs_ring *ring = cs_testing_ring();
  bool is_good = true;
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_ring_slot *slot = &ring->slots[index];
    while ((cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED)
      sched_yield();
    is_good = is_right(slot, index) && is_good;
  }
  *(bool *)ret_is_right = is_good;
  return NULL;
}

static int write_together(void) {
  bool has_read_right = false;
  pthread_t reader;
  pthread_t writers[WRITER_COUNT];
  if (pthread_create(&reader, NULL, read_all, &has_read_right) != 0) return 3;
  for (int index = 0; index < WRITER_COUNT; index++) {
    if (pthread_create(&writers[index], NULL, write_share, NULL) != 0) return 3;
  }
  // Joins the reader first: joining a writer would also synchronize its records with this thread.
  pthread_join(reader, NULL);
  for (int index = 0; index < WRITER_COUNT; index++)
    pthread_join(writers[index], NULL);
  return has_read_right ? 0 : 4;
}

int write_ring(bool is_together) {
  const cs_shim_configuration configuration = {
      .socket_path = "/dev/null/attach", .spool_directory = "/dev/null/spool", .name = "shim-host"};
  parent = getppid();
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 1;
  if (is_together) return write_together();
  if (printf("%d\n", cs_testing_ring_descriptor()) < 0 || fflush(stdout) != 0) return 2;
  pthread_t thread;
  for (int index = 1; index < WRITER_COUNT; index++) {
    if (pthread_create(&thread, NULL, write_for_ever, NULL) != 0) return 3;
  }
  write_for_ever(NULL);
  return 0;
}
