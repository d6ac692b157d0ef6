#include "cs_platform.h"

#if CS_SUPPORTED

#include "containment_start.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../Signal/Containment/contained_request.h"
#include "../../Signal/Containment/drain.h"
#include "../../Signal/Containment/judge.h"
#include "../../Signal/Containment/loops.h"
#include "../../Signal/Dispatch/watchdog.h"
#include "../setup.h"
#include "answers.h"
#include "pool.h"

// If the thread pool is used (pool.h), a drain ends when more than this number of workers, threads that run tasks, have
// parked (cs_containment.capacity). The number of processors is not the limit, because new threads take the places of
// the parked threads.
#define POOL_CAPACITY 8

// The time for which exit() waits for the end of a drain, and then for the end of the process. Each of the two waits
// takes a fraction of a second, unless the program has its own handler for the trap's signal.
#define EXIT_NS      UINT64_C(10000000000)
#define EXIT_SECONDS 10
#define EXIT_TRIES   1000
// At the end of a drain, the ender waits for threads that write a crash record, at most for the watchdog's deadline
// plus this margin.
#define RECORD_MARGIN_MS 1000

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static bool is_started;
static const char *obstacle; // atomic; NULL: none
static bool has_atexit;

static const struct {
  cs_ring_obstacle obstacle;
  const char *text;
} texts[] = {
    {CS_RING_OBSTACLE_LOOKUP, "the handler cannot find the request of a task with this Swift runtime"},
    {CS_RING_OBSTACLE_RUNNER, "the functions of the Swift runtime that run a task are not found"},
    {CS_RING_OBSTACLE_EXECUTOR, "the handler cannot find the actor of a task with this Swift runtime"},
    {CS_RING_OBSTACLE_THREADS, "the threads of containment cannot be created"},
    {CS_RING_OBSTACLE_CORES, "a drain without the pool needs a second processor"},
};

static void note(cs_ring_obstacle number, const char *text) {
  const char *none = NULL;
  if (!__atomic_compare_exchange_n(&obstacle, &none, text, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&cs_process.ring->header.containment_obstacle, number, __ATOMIC_RELAXED);
}

void cs_containment_refuse(cs_ring_obstacle number) {
  for (size_t index = 0; index < sizeof texts / sizeof texts[0]; index++) {
    if (texts[index].obstacle == number) note(number, texts[index].text);
  }
}

void cs_containment_allow(void) {
  if (__atomic_load_n(&obstacle, __ATOMIC_ACQUIRE) != NULL) return;
  // release: pairs with the acquire load of the handler.
  __atomic_store_n(&cs_containment_now.can_contain, 1, __ATOMIC_RELEASE);
}

static uint32_t processor_count(void) {
  cpu_set_t set;
  // sched_getaffinity() fails if the machine has more processors than cpu_set_t has bits.
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : (uint32_t)count;
}

// Returns whether an image contains code compiled from Swift: it contains or needs Swift's standard library. `core` is
// an address in the standard library.
static bool is_swift(const struct dl_phdr_info *information, uint64_t core) {
  const char *strings = NULL;
  const ElfW(Dyn) *dynamic = NULL;
  for (int index = 0; index < information->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &information->dlpi_phdr[index];
    const uint64_t at = information->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_LOAD && core >= at && core < at + header->p_memsz) return true;
    if (header->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)(uintptr_t)at;
  }
  // glibc has already added the image's base to the address of the string table, except in the vdso, which is skipped.
  for (const ElfW(Dyn) *entry = dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_STRTAB && entry->d_un.d_ptr >= information->dlpi_addr)
      strings = (const char *)(uintptr_t)entry->d_un.d_ptr;
  }
  for (const ElfW(Dyn) *entry = dynamic; strings != NULL && entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_NEEDED && strcmp(strings + entry->d_un.d_val, "libswiftCore.so") == 0) return true;
  }
  return false;
}

extern void swift_once(void *predicate, void (*make)(void *), void *context) __attribute__((weak));

static int note_swift_image(struct dl_phdr_info *information, size_t size, void *context) {
  (void)size;
  (void)context;
  const uint32_t count = cs_judge_here.swift_image_count;
  if (count >= CS_JUDGE_SWIFT_IMAGE_LIMIT) return 1;
  if (!is_swift(information, (uint64_t)(uintptr_t)swift_once)) return 0;
  const char *slash = strrchr(information->dlpi_name, '/');
  const char *name = slash == NULL ? information->dlpi_name : slash + 1;
  cs_judge_here.swift_images[count] =
      (cs_swift_image){.range = cs_contained_range_of(information), .is_runtime = strncmp(name, "libswift", 8) == 0};
  // release: pairs with the acquire load of the handler.
  __atomic_store_n(&cs_judge_here.swift_image_count, count + 1, __ATOMIC_RELEASE);
  return 0;
}

// Runs if the program calls exit(). During a drain, waits until the ender ends the process, so that it ends by the
// signal of the trap and not with the program's exit code.
static void at_exit(void) {
  if (cs_containment_mode() == CS_RING_CONTAINMENT_OFF || cs_getpid() != cs_process.pid) return;
  if (cs_drain_phase_now() == CS_DRAIN_NONE) return;
  cs_drain_end(CS_RING_DRAIN_EXIT);
  cs_drain_await(CS_DRAIN_ENDS, EXIT_NS);
  for (int second = 0; second < EXIT_SECONDS; second++)
    cs_sleep_whole_ns(999999999, EXIT_TRIES);
}

static const char *start_pool(const cs_shim_containment *wanted) {
  return wanted->has_pool || wanted->mode == CS_SHIM_CONTAINMENT_CONTAIN ? cs_pool_start(wanted->width) : NULL;
}

static void start(const cs_shim_containment *wanted) {
  cs_ring_header *header = &cs_process.ring->header;
  cs_containment *settings = &cs_containment_now;
  header->containment_budget = settings->budget = wanted->mode == CS_SHIM_CONTAINMENT_CONTAIN ? wanted->budget : 0;
  settings->grace_ns = wanted->grace_ns;
  settings->stall_ns = wanted->stall_ns;
  const uint32_t deadline_ms = cs_environment_deadline_ms();
  const uint64_t record_ms = (deadline_ms != 0 ? deadline_ms : CS_WATCHDOG_LIMIT_MS) + RECORD_MARGIN_MS;
  settings->record_ns = record_ms * 1000000;
  __atomic_store_n(&header->containment_mode, (uint32_t)wanted->mode, __ATOMIC_RELAXED);
  dl_iterate_phdr(note_swift_image, NULL);
  const char *places = cs_shim_contained_obstacle();
  if (places != NULL && wanted->mode == CS_SHIM_CONTAINMENT_CONTAIN) note(CS_RING_OBSTACLE_IMAGES, places);
  if (!cs_process.task_layout.is_known) cs_containment_refuse(CS_RING_OBSTACLE_LOOKUP);
  if (!cs_answers_start(wanted)) {
    cs_containment_refuse(CS_RING_OBSTACLE_THREADS);
    return;
  }
  const char *pool = start_pool(wanted);
  settings->has_pool = pool == NULL && (wanted->has_pool || wanted->mode == CS_SHIM_CONTAINMENT_CONTAIN);
  // Only CONTAIN needs the pool. A drain also works without it.
  if (pool != NULL && wanted->mode == CS_SHIM_CONTAINMENT_CONTAIN) note(CS_RING_OBSTACLE_HOOK, pool);
  settings->capacity = settings->has_pool ? POOL_CAPACITY : processor_count() - 1;
  if (settings->capacity == 0) cs_containment_refuse(CS_RING_OBSTACLE_CORES);
  if (!has_atexit) has_atexit = atexit(at_exit) == 0;
  // release: pairs with the acquire load of cs_containment_mode().
  __atomic_store_n(&settings->mode, (uint32_t)wanted->mode, __ATOMIC_RELEASE);
}

const char *cs_shim_containment_start(const cs_shim_containment *wanted) {
  if (!cs_shim_is_started()) return "the shield is not started";
  if (wanted->mode == CS_SHIM_CONTAINMENT_OFF) return NULL;
  pthread_mutex_lock(&starting);
  if (!is_started) {
    is_started = true;
    start(wanted);
  }
  pthread_mutex_unlock(&starting);
  return cs_shim_containment_obstacle();
}

bool cs_shim_containment_is_on(void) {
  return cs_containment_mode() != CS_RING_CONTAINMENT_OFF && cs_process.task_layout.is_known &&
         cs_shim_request_lookup() != CS_RING_REQUEST_LOOKUP_REFUSED;
}

bool cs_shim_containment_is_draining(void) {
  return cs_drain_phase_now() != CS_DRAIN_NONE;
}

const char *cs_shim_containment_obstacle(void) {
  return __atomic_load_n(&obstacle, __ATOMIC_ACQUIRE);
}

void cs_shim_containment_note_loop(int epoll_descriptor) {
  cs_loop_note(cs_gettid(), epoll_descriptor);
}

void cs_containment_forget(void) {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  starting = fresh;
  if (!is_started) return;
  is_started = false;
  obstacle = NULL;
  __atomic_store_n(&cs_containment_now.can_contain, 0, __ATOMIC_RELAXED);
  cs_drain_forget();
  cs_parks_forget();
  cs_contained_requests_forget();
  cs_loops_forget();
  cs_pool_forget();
}

#endif
