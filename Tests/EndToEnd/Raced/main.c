// Crashes beside a thread that closes all descriptors and opens files of its own, many times.
//   raced RUNS DIRECTORY   one line; exits with 1 when a file was touched
#include <stdio.h>
#include <stdlib.h>

#include "cs_test_support.h"

int main(int count, char **arguments) {
  if (count != 3) return 2;
  const int runs = atoi(arguments[1]);
  uint32_t hurt_runs = 0;
  uint32_t other_ends = 0;
  for (int run = 0; run < runs; run++) {
    uint32_t hurt = 0;
    if (!cs_test_run_raced(run % 2 == 0 ? 3 : 5, run % 4 < 2, arguments[2], &hurt)) other_ends++;
    if (hurt > 0) hurt_runs++;
  }
  printf("raced: %d runs, %u with a file of the program's touched, %u that did not end by SIGSEGV\n", runs, hurt_runs,
         other_ends);
  return hurt_runs == 0 && other_ends == 0 ? 0 : 1;
}
