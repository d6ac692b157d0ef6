// The job queue of the thread pool (pool.h): four lists of jobs with one lock, and a stack of idle seats. A seat is the
// pool's entry for one thread.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "seat.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../Signal/Capture/registers_here.h"
#include "cs_shim.h"

// The layout of swift::Job, which cs_pool_runtime_check() checks. The runtime reserves the first word for the queue
// that contains the job.
typedef struct __attribute__((may_alias)) job_head {
  void *object[2];
  void *next;
  void *reserved;
  uint32_t flags;
} job_head;

// The lists of jobs by priority, from the highest to the lowest. A job of a lower list waits while a higher list has
// jobs. Every 61st job comes from the lowest list that has one, so that no job waits forever.
#define LIST_COUNT   4
#define LOWEST_EVERY 61

// The maximum number of jobs that a seat takes in a row from its `next_job` (seat.h), so that the jobs in the lists
// also run.
#define NEXT_JOB_LIMIT 16

cs_seat cs_seats[CS_SEAT_LIMIT];

static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static uint32_t width;
static uint32_t waiting;   // atomic, written with the lock: how many jobs the lists contain
static uint32_t searching; // protected by `lock`: how many seats search for a job, or have been woken to search
static cs_seat *idle;      // protected by `lock`: the idle seat that slept last, which is woken first
static struct {
  void *head;
  void *tail;
} lists[LIST_COUNT]; // protected by `lock`

// These variables use the initial-exec model, because __tls_get_addr can allocate memory.
static __thread cs_seat *here __attribute__((tls_model("initial-exec")));
static __thread bool runs_next __attribute__((tls_model("initial-exec")));
static int64_t here_offset; // atomic: offset of `here` from the thread pointer; 0: there is no pool

void cs_pool_open(uint32_t count) {
  width = count;
  const int64_t offset = (int64_t)((uint64_t)(uintptr_t)&here - cs_thread_pointer());
  __atomic_store_n(&here_offset, offset, __ATOMIC_RELAXED);
}

cs_seat *cs_seat_here(void) SIGNAL_SAFE {
  const int64_t offset = __atomic_load_n(&here_offset, __ATOMIC_RELAXED);
  return offset == 0 ? NULL : *(cs_seat **)(uintptr_t)(cs_thread_pointer() + (uint64_t)offset);
}

void cs_seat_park(cs_seat *seat) SIGNAL_SAFE {
  __atomic_store_n(&seat->is_parked, 1, __ATOMIC_RELAXED);
}

uint64_t cs_pool_jobs(void) SIGNAL_SAFE {
  uint64_t count = 0;
  for (uint32_t index = 0; index < CS_SEAT_LIMIT; index++)
    count += __atomic_load_n(&cs_seats[index].jobs, __ATOMIC_RELAXED);
  return count;
}

static void futex(const uint32_t *word, int operation, uint32_t value) {
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static job_head *head_of(void *job) {
  return job;
}

// Returns the index of the list for the job's priority. The priorities are raw values of Swift's TaskPriority. A job
// without a priority (0) goes to the list of the default priority.
static uint32_t list_of(void *job) {
  const uint32_t priority = head_of(job)->flags >> 8 & 0xff;
  if (priority >= 0x19) return 0;                  // user-initiated and above
  if (priority >= 0x15 || priority == 0) return 1; // default
  return priority >= 0x11 ? 2 : 3;                 // utility; background
}

// Returns an idle seat to wake. Returns NULL if another seat already searches for a job: that seat will find the new
// job, and wakes a further seat if more jobs wait. Precondition: the caller has the lock.
static cs_seat *seat_to_wake(void) {
  cs_seat *seat = idle;
  if (seat == NULL || searching > 0) return NULL;
  idle = seat->next_idle;
  searching++;
  return seat;
}

static void wake(cs_seat *seat) {
  if (seat == NULL) return;
  // release: pairs with the acquire load of sleep_on().
  __atomic_store_n(&seat->is_woken, 1, __ATOMIC_RELEASE);
  futex(&seat->is_woken, FUTEX_WAKE, 1);
}

static void push(void *job) {
  const uint32_t list = list_of(job);
  head_of(job)->next = NULL;
  pthread_mutex_lock(&lock);
  if (lists[list].tail != NULL) {
    head_of(lists[list].tail)->next = job;
  } else {
    lists[list].head = job;
  }
  lists[list].tail = job;
  __atomic_store_n(&waiting, waiting + 1, __ATOMIC_RELAXED);
  cs_seat *seat = seat_to_wake();
  pthread_mutex_unlock(&lock);
  wake(seat);
}

// Removes the next job from the lists; NULL: the lists are empty. Precondition: the caller has the lock.
static void *pop(bool lowest_first) {
  if (waiting == 0) return NULL;
  for (uint32_t step = 0; step < LIST_COUNT; step++) {
    const uint32_t list = lowest_first ? LIST_COUNT - 1 - step : step;
    void *job = lists[list].head;
    if (job == NULL) continue;
    lists[list].head = head_of(job)->next;
    if (lists[list].head == NULL) lists[list].tail = NULL;
    __atomic_store_n(&waiting, waiting - 1, __ATOMIC_RELAXED);
    return job;
  }
  return NULL;
}

void cs_shim_pool_runs_next(bool is_so) {
  runs_next = is_so;
}

void cs_shim_pool_enqueue(void *job) {
  cs_seat *seat = here;
  if (runs_next) {
    runs_next = false;
    if (seat != NULL && seat->next_job == NULL) {
      seat->next_job = job;
      return;
    }
  }
  push(job);
}

// Sleeps until another thread has removed the seat from the list of idle seats.
static void sleep_on(const cs_seat *seat) {
  // acquire: pairs with wake().
  while (__atomic_load_n(&seat->is_woken, __ATOMIC_ACQUIRE) == 0)
    futex(&seat->is_woken, FUTEX_WAIT, 0);
}

// Waits for a job, and returns it.
static void *await_job(cs_seat *seat) {
  void *job = NULL;
  pthread_mutex_lock(&lock);
  searching++;
  while ((job = pop(false)) == NULL) {
    seat->is_woken = 0;
    seat->next_idle = idle;
    idle = seat;
    searching--;
    pthread_mutex_unlock(&lock);
    sleep_on(seat);
    pthread_mutex_lock(&lock); // seat_to_wake() has increased `searching` for this seat
  }
  searching--;
  cs_seat *other = waiting > 0 ? seat_to_wake() : NULL;
  pthread_mutex_unlock(&lock);
  wake(other);
  return job;
}

static void *take_next_job(cs_seat *seat) {
  void *job = seat->next_job;
  seat->next_job = NULL;
  if (job == NULL || ++seat->next_job_runs <= NEXT_JOB_LIMIT) return job;
  push(job);
  return NULL;
}

static void *next_of(cs_seat *seat) {
  void *job = take_next_job(seat);
  if (job != NULL) return job;
  seat->next_job_runs = 0;
  if (__atomic_load_n(&waiting, __ATOMIC_RELAXED) > 0) {
    pthread_mutex_lock(&lock);
    job = pop(++seat->turns % LOWEST_EVERY == 0);
    pthread_mutex_unlock(&lock);
  }
  return job != NULL ? job : await_job(seat);
}

// The crash handler searches the stack of a trapping thread for this function. The function is not inlined, so that it
// has its own frame.
__attribute__((noinline)) void cs_seat_run(cs_seat *seat) {
  here = seat;
  for (;;) {
    void *job = next_of(seat);
    __atomic_store_n(&seat->jobs, seat->jobs + 1, __ATOMIC_RELAXED);
    cs_pool_runtime_run(job);
  }
}

#endif
