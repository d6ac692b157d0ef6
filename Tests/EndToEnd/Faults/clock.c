// A library that is preloaded into crashd (LD_PRELOAD). It shifts the real-time clock that crashd reads, but no other
// clock.
//
// CLOCK_SHIFT names a file with the shift in seconds, an int64_t that can change at any time.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none;
static const int64_t *shift = &none;

__attribute__((constructor)) static void map_shift(void) {
  const char *path = getenv("CLOCK_SHIFT");
  const int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *memory = file >= 0 ? mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (memory == MAP_FAILED) _exit(97);
  shift = memory;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *ret_time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, ret_time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    ret_time->tv_sec += __atomic_load_n(shift, __ATOMIC_RELAXED);
  }
  return result;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict unused) {
  struct timespec now = {0};
  (void)unused;
  clock_gettime(CLOCK_REALTIME, &now);
  *ret_time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *ret_time) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  if (ret_time != NULL) *ret_time = now.tv_sec;
  return now.tv_sec;
}
