// Measures the time to create and join a thread, with and without the shield. scripts/measure/threads builds and runs
// this program.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cs_shim.h"

#define COUNT 4000

static uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *nothing(void *argument) {
  return argument;
}

static int compare(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left;
  const uint64_t b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

// Returns the median time to create and join one thread. Creates COUNT threads, one after the other.
static double median_us(void) {
  static uint64_t durations[COUNT];
  for (int index = 0; index < COUNT; index++) {
    pthread_t thread;
    const uint64_t start = now_ns();
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0) exit(1);
    durations[index] = now_ns() - start;
  }
  qsort(durations, COUNT, sizeof durations[0], compare);
  return (double)durations[COUNT / 2] / 1000;
}

int main(void) {
  const double linked = median_us();
  if (cs_shim_start(NULL, NULL) != CS_SHIM_OK) return 1;
  printf("%.2f %.2f\n", linked, median_us());
  return 0;
}
