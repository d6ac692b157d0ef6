// The functions that the child processes run.
#ifndef CS_TEST_WAYS_H
#define CS_TEST_WAYS_H

#include "cs_test_support.h"

// Starts the C code of the shield with the socket and the spool in `directory`. Exits with 90 if the start fails.
void cs_test_start(const char *directory);

// Creates the attach socket of a crashd in `directory` and listens on it. Returns the socket, or -1 on failure.
int cs_test_listen(const char *directory);

// Opens files until the limit of RLIMIT_NOFILE is reached.
void cs_test_use_up_descriptors(void);

// Opens files until the limit is reached. Starts a thread that opens a file when a descriptor is closed, and keeps it
// open for 30 ms.
void cs_test_steal_descriptors(void);

// Lowers RLIMIT_FSIZE below the size of a ring.
void cs_test_limit_file_size(void);

// Runs a test program (cs_test_way) of hosts.c: unusual programs. Returns -1 if hosts.c does not implement `way`.
int cs_test_host_way_run(cs_test_way way, const char *directory);

// Runs a test program (cs_test_way) of signals.c: programs with their own signal handlers. Returns -1 if signals.c does
// not implement `way`.
int cs_test_signals_run(cs_test_way way, const char *directory);

// Runs a test program (cs_test_way) of forks.c: programs with forked children or early starts. Returns -1 if forks.c
// does not implement `way`.
int cs_test_forks_run(cs_test_way way, const char *directory);

// Runs CS_TEST_REPLACED_LIBRARY.
int cs_test_replace_library(const char *directory);

// Runs any cs_test_way. Does not return if the process crashes.
int cs_test_way_run(cs_test_way way, const char *directory);

// Runs a test program (cs_test_way) of threads.c: its threads overflow their stacks, or get alternate stacks.
int cs_test_threads_run(cs_test_way way, const char *directory);

// Runs a test program (cs_test_way) of sweep.c: other threads exist when it crashes.
int cs_test_sweep_run(cs_test_way way, const char *directory);

// Runs a test program (cs_test_way) of held.c: its crash interrupts the system calls of other threads.
int cs_test_held_run(cs_test_way way, const char *directory);

// Runs a test program (cs_test_own_way) that needs a crashd.
int cs_test_reattach_run(cs_test_own_way way, const char *directory);

// Starts `count` threads that all fault at the same time.
void cs_test_crash_on_threads(uint32_t count);

// Moves this process into new namespaces. After this call, the mounts and unmounts of this process do not affect other
// processes.
void cs_test_leave_namespaces(int which);

// Hides /proc. Precondition: cs_test_leave_namespaces().
void cs_test_hide_proc(void);

// Calls itself until the stack is full.
uint32_t cs_test_recurse(uint32_t depth);

// Forks a child without core dumps and with the default actions for all signals. Returns 0 in the child.
int cs_test_fork(void);

// Like cs_test_fork(), but the child keeps this process's descriptors.
int cs_test_fork_with_descriptors(void);

// Acts as crashd: receives the hello of a process, and its ring. Returns 0, or the line number of the condition that
// does not hold.
int cs_test_check_hello(int connection, int *ret_ring);

// Returns the wait status of the child, or -1 if it was killed after 20 s.
int cs_test_wait(int child);

#endif
