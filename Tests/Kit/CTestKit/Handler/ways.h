// What a child process does.
#ifndef CS_TEST_WAYS_H
#define CS_TEST_WAYS_H

#include "cs_test_support.h"

// Starts the shim with the directory's socket and spool; ends the process with 90 when that fails.
void cs_test_start(const char *directory);

// The attach socket of a crashd in `directory`; -1 when it cannot be made.
int cs_test_listen(const char *directory);

// Opens files until the limit of RLIMIT_NOFILE is reached.
void cs_test_use_up_descriptors(void);

// The same, with a thread that takes the next one that comes free, and holds it for a moment.
void cs_test_steal_descriptors(void);

// Lowers RLIMIT_FSIZE below the size of a ring.
void cs_test_limit_file_size(void);

// The ways in which the program itself is peculiar; -1 when the way is another one.
int cs_test_host_way_run(cs_test_way way, const char *directory);

// The ways that are about handlers of signals; -1 when the way is another one.
int cs_test_signals_run(cs_test_way way, const char *directory);

// The ways that are about forked children and early starts; -1 when the way is another one.
int cs_test_forks_run(cs_test_way way, const char *directory);

// CS_TEST_REPLACED_LIBRARY.
int cs_test_replace_library(const char *directory);

// Does not return when the way is a crash.
int cs_test_way_run(cs_test_way way, const char *directory);

// The ways that are about threads.
int cs_test_threads_run(cs_test_way way, const char *directory);

// The ways that are about the threads beside a crash.
int cs_test_sweep_run(cs_test_way way, const char *directory);

// The ways that are about threads which a crash has interrupted.
int cs_test_held_run(cs_test_way way, const char *directory);

// The ways of the shield's own threads that need a crashd.
int cs_test_reattach_run(cs_test_own_way way, const char *directory);

// Faults on so many threads at once.
void cs_test_crash_on_threads(uint32_t count);

// Namespaces of this process' own; changes of its mounts stay in them.
void cs_test_leave_namespaces(int which);

// Precondition: cs_test_leave_namespaces().
void cs_test_hide_proc(void);

// Calls itself until the stack is full.
uint32_t cs_test_recurse(uint32_t depth);

// Forks a child without core dumps and with the default actions for all signals; 0 in the child.
int cs_test_fork(void);

// The same, with this process's descriptors.
int cs_test_fork_with_descriptors(void);

// crashd's side: takes the hello of a process, and its ring. 0, or the line that was not satisfied.
int cs_test_check_hello(int connection, int *ret_ring);

// The wait status of the child, -1 when it had to be killed after 20 s.
int cs_test_wait(int child);

#endif
