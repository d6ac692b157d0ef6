// Private declarations of the thread pool (pool.h). A seat is the pool's entry for one thread that runs jobs.
#ifndef CS_SEAT_H
#define CS_SEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

#define CS_SEAT_LIMIT 256

// Only the thread that has the seat accesses a field, unless the field's comment says otherwise.
struct cs_seat {
  _Alignas(64) uint32_t is_woken; // atomic, a futex
  uint32_t is_parked;             // atomic: a trap has stopped the thread that has the seat
  cs_seat *next_idle;             // the pool's lock protects this field
  void *next_job;                 // the job to run next, which no other seat can take; NULL: none
  uint32_t next_job_runs;         // how many jobs in a row came from `next_job`
  uint32_t turns;                 // how many times the seat took a job from the pool's queue without waiting
  uint64_t jobs;                  // atomic: how many jobs have begun
};

extern cs_seat cs_seats[CS_SEAT_LIMIT];

// Sets the number of seats. Precondition: no thread has a seat yet.
void cs_pool_open(uint32_t width);

// Runs jobs on the calling thread. Never returns.
_Noreturn void cs_seat_run(cs_seat *seat);

// Starts one thread for each seat, and the spare thread. Returns false if a thread cannot be created.
bool cs_seats_start(uint32_t width);

// pool_runtime.c: returns NULL, or the reason why the pool does not support the Swift runtime of this process.
const char *cs_pool_runtime_check(void);
// Runs a job of the Swift runtime on the calling thread.
void cs_pool_runtime_run(void *job);
// Directs the jobs of the global executor to cs_shim_pool_enqueue(). Returns false if other code already receives these
// jobs.
bool cs_pool_runtime_hook(void);
// Directs the jobs to Swift's own threads again.
void cs_pool_runtime_unhook(void);

#endif
