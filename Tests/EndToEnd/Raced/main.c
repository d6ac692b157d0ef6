// Crashes many times (in child processes) while another thread closes all descriptors and opens files of the program.
//   raced RUNS DIRECTORY   prints one line; exits with 1 if the handler changed a file of the program, or if a run did
//   not end by SIGSEGV
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
  printf("raced: %d runs; in %u the handler changed a file of the program; %u did not end by SIGSEGV\n", runs,
         hurt_runs, other_ends);
  return hurt_runs == 0 && other_ends == 0 ? 0 : 1;
}
