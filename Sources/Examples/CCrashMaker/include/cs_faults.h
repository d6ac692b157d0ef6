// Crashes in C code, one function each. The faulting line of a function has a `// fault: NAME` comment, by which tests
// find it.
#ifndef CS_FAULTS_H
#define CS_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

// Returns `value` in a way that the optimizer cannot compute, so that the optimizer cannot remove the fault.
int64_t cs_opaque(int64_t value);

// Memory: faults_memory.c
void cs_fault_null_read(void);
void cs_fault_null_write(void);
void cs_fault_null_plus_offset(void);
void cs_fault_null_call(void);
void cs_fault_wild_read(void);
void cs_fault_non_canonical(void);
void cs_fault_read_only_write(void);
void cs_fault_no_exec_jump(void);
void cs_fault_jump_to_odd_address(void);
void cs_fault_bus_truncated_mmap(void);
void cs_fault_stack_overflow(void);

// Instructions and system calls: faults_instruction.c
void cs_fault_undefined_instruction(void);
void cs_fault_privileged_instruction(void);
void cs_fault_builtin_trap(void);
void cs_fault_int3(void);
void cs_fault_float_divide(void);
void cs_fault_seccomp_sys(void);

// Aborts and sent signals: faults_abort.c
void cs_fault_abort(void);
void cs_fault_libc_assert(void);
void cs_fault_double_free(void);
void cs_fault_free_invalid(void);
void cs_fault_raise(void);
void cs_fault_kill_from_outside(void);
void cs_fault_kill_abort_from_outside(void);
void cs_fault_kill_ill_from_outside(void);

// Heap corruption: faults_heap.c
void cs_fault_heap_overwrite_metadata(void);
void cs_fault_malloc_corrupt_top(void);
void cs_fault_inside_malloc(void);
void cs_fault_stack_smash(void);

// Stacks: faults_stack.c
void cs_fault_stack_overflow_small_thread(void);
void cs_fault_sigaltstack_owned_by_app(void);
void cs_fault_smashed_return_address(void);
void cs_fault_smashed_frame_pointer(void);
void cs_fault_corrupt_stack_pointer(void);
void cs_fault_no_frame_pointer_leaf(void);
void cs_fault_qsort_callback(void);
void cs_fault_memcpy_bad_pointer(void);

// Locks: faults_lock.c, faults_lock_malloc.c, faults_lock_libc.c
void cs_fault_loader_lock_held_by_other(void);
void cs_fault_inside_dl_iterate_callback(void);
void cs_prepare_malloc_lock_held(void);
void cs_fault_malloc_lock_held(void);
void cs_fault_atfork_lock_held(void);
void cs_fault_stdio_lock_held(void);
void cs_fault_thread_list_lock(void);
void cs_fault_inside_stdio(void);
void cs_fault_inside_setxid(void);
void cs_fault_fork_lock_held_by_other(void);

// The loader, the start and the end of a process: faults_loader.c
void cs_fault_during_dlopen_constructor(void);
void cs_fault_after_dlclose(void);
void cs_fault_crash_during_exit(void);

// Threads: faults_thread.c
void cs_fault_simultaneous_2(void);
void cs_fault_simultaneous_8(void);
void cs_fault_simultaneous_64(void);
void cs_fault_many_threads(void);
void cs_fault_spinning_threads(void);
void cs_fault_blocked_signals_thread(void);
void cs_fault_uninterruptible_thread(void);
void cs_fault_crash_while_creating_threads(void);
void cs_fault_watchdog_abort(void);

// A thread crashes while the calling thread waits: faults_waits.c. `way` is the index of the wait, from 0.
int cs_fault_main_waits_count(void);
const char *cs_fault_main_waits_name(int way);
void cs_fault_main_waits(int way);

// Processes: faults_process.c
void cs_fault_fork_child(void);
void cs_fault_vfork_child(void);
void cs_fault_double_fork(void);
void cs_fault_double_fork_reattached(void);
void cs_fault_posix_spawn_child(void);
void cs_fault_exec_after_attach(void);
// Runs `body` in a forked child, and exits after the child has ended.
void cs_fork_and_wait(void (*body)(void));
void cs_prepare_pid_namespace(void);
void cs_prepare_kill_over_namespace(void);

// Handlers of the program: faults_handler.c
void cs_prepare_handler_chained_before(void);
void cs_fault_handler_chained_before(void);
void cs_prepare_sa_onstack_missing(void);
void cs_fault_sa_onstack_missing(void);
void cs_fault_handler_chained_after(void);
void cs_prepare_crash_in_previous_handler(void);
void cs_fault_crash_in_previous_handler(void);
void cs_prepare_sigabrt_ignored(void);
void cs_fault_sigabrt_ignored(void);
void cs_fault_swift_backtrace_enabled(void);
void cs_fault_all_signals_blocked(void);
void cs_fault_c_callback_context(void);
void cs_fault_sigkill(void);
void cs_fault_sigkill_with_child(void);
void cs_fault_exec_and_stay(void);
void cs_fault_exec_with_child(void);
void cs_fault_exec_again_with_child(void);
void cs_fault_oom_kill(void);

// Handlers that re-raise the signal: faults_reraise.c
void cs_fault_reraise_segv(void);
void cs_fault_reraise_pending(void);
void cs_fault_reraise_overflow(void);
void cs_fault_reraise_trap(void);

// Returns whether Swift's runtime has printed at least one warning: faults_abort.c
bool cs_runtime_has_spoken(void);

// Processes in an unusual environment (no resources, namespaces, chroot, pid 1): faults_world.c
void cs_fault_no_descriptors(void);
void cs_fault_no_memory(void);
void cs_fault_mount_namespace(void);
void cs_fault_full_disk(void);
void cs_fault_read_only_root(void);
void cs_fault_no_proc(void);
void cs_fault_chroot(void);
void cs_fault_other_uid(void);
void cs_fault_pid_namespace(void);
void cs_fault_abort_as_pid_1(void);
void cs_fault_trap_as_pid_1(void);
void cs_fault_kill_over_namespace(void);
void cs_fault_seccomp_strict_profile(void);

// Programs that detect whether the shield's threads disturb them: faults_beside.c
void cs_prepare_awaited_signal(int signal_number);
void cs_fault_sigwait(int signal_number);
void cs_fault_signalfd(int signal_number);
void cs_fault_setxid(void);
void cs_fault_userns(void);

#endif
