// C functions for tests of the shield's C code: programs that run in forked children and crash, a replacement for
// crashd, and hostile input.
#ifndef CS_TEST_SUPPORT_H
#define CS_TEST_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The test programs. Each runs in a child process. A program ends by the signal of its crash, unless its comment says
// otherwise. Each program starts the shield with the socket DIRECTORY/attach and the spool DIRECTORY/spool. A program
// installs an earlier handler before it starts the shield, and a later handler after the start.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_way : uint32_t {
  CS_TEST_SEGV,
  CS_TEST_BUS,
  CS_TEST_ABRT,
  CS_TEST_ILL,
  CS_TEST_TRAP,
  CS_TEST_FPE,
  CS_TEST_SYS,
  CS_TEST_ONCE_ATTACHED,   // SIGSEGV after crashd has accepted the process
  CS_TEST_ATTACHED_CLOSED, // as ONCE_ATTACHED, but the program has closed all descriptors above 2
  CS_TEST_SENT,            // the process sends itself SIGSEGV by kill()
  CS_TEST_STACK_OVERFLOW,
  CS_TEST_BAD_CALL,
  CS_TEST_CALL_OF_DATA,
  CS_TEST_SMASHED_STACK,      // frame pointer, saved registers and return addresses are overwritten
  CS_TEST_IN_HANDLER,         // the handler itself crashes
  CS_TEST_EIGHT_THREADS,      // eight threads crash at once
  CS_TEST_ALL_THREADS,        // 64 threads crash at once, one for each slot of the ring
  CS_TEST_NO_DESCRIPTORS,     // a crash after the program has used up RLIMIT_NOFILE
  CS_TEST_STOLEN_DESCRIPTOR,  // as NO_DESCRIPTORS, and another thread takes the descriptor that the shield frees, and
                              // holds it for 30 ms
  CS_TEST_ABANDONED_SLOT,     // a crash while a slot is half-written
  CS_TEST_WILD_COUNTS,        // SIGABRT after the program has overwritten the counts of the ring
  CS_TEST_CLOSED_DESCRIPTORS, // a crash after the program closed all descriptors above 2 and opened its own files
  CS_TEST_LOADER_LOCK,        // a crash while another thread is inside a dl_iterate_phdr callback
  CS_TEST_PREVIOUS_RETURNS,   // an earlier handler of SIGTRAP returns; exits 0 if it ran once and kept errno
  CS_TEST_IGNORED,            // an ignored signal is sent; exits 0
  CS_TEST_FORKED_CHILD,       // a child crashes without starting the shield; exits 0 if it ended by its signal
  CS_TEST_CHILD_STARTS,       // a child starts the shield, then crashes; exits 0 if it ended by its signal
  CS_TEST_VFORKED_CHILD,      // a vfork child crashes; exits 0 if it ended by its signal and wrote nothing
  CS_TEST_FILE_SIZE_LIMIT,    // a crash while RLIMIT_FSIZE is below the size of a spool file
  CS_TEST_STARTS_LIMITED,     // RLIMIT_FSIZE is lowered before the start; exits 0 if the start failed with EFBIG
  CS_TEST_REUSED_CONNECTION,  // the program replaces the shield's connection by its own socket, and crashd hangs up;
                              // exits 0 if the shield has not touched the data of the socket
  CS_TEST_RETRIED_WITHOUT_DESCRIPTORS, // a crash without crashd, after the program used up all descriptors after a
                                       // retry of the idle thread
  CS_TEST_IGNORED_WHILE_READING,       // an ignored signal is sent during a read(); exits 0 if the read continues
  CS_TEST_HANDLED_WHILE_READING, // as IGNORED_WHILE_READING, but an earlier handler with SA_RESTART handles the signal
  CS_TEST_CHAINED_ABORT,         // abort(); a later handler calls the shield's with only the signal's number
  CS_TEST_CHAINED_FAULT,         // a fault; a later handler calls the shield's with only the signal's number
  CS_TEST_REPLACED_LIBRARY, // a library is replaced and opened again after the start, then the program crashes; exits 0
                            // if the record has the new build id
  CS_TEST_INTERRUPTED_PAUSE,  // signals arrive during the idle thread's pause; exits 0 if it continues to wait
  CS_TEST_HANDLERS_REPLACED,  // later handlers replace the shield's; exits 0 if the shield reports them
  CS_TEST_HANDLER_GIVEN_BACK, // an earlier handler handled a sent signal; exits 0 if its action is restored and the
                              // shield's handler is not reported as replaced
  CS_TEST_HANDLER_RESET,      // a later handler with SA_RESETHAND calls the shield's and then jumps out; exits 0 if the
                              // crashing thread still has the program's descriptors
  CS_TEST_OTHER_SIGNALS,      // exits 0 if the start left all other signals and the mask as they were
  // Forked children, and starts in two parts: forks.c.
  CS_TEST_CHILD_LIKE_PARENT,        // a child starts the shield like its parent, then crashes; exits 0 on success
  CS_TEST_CHILD_REATTACHES,         // as CHILD_LIKE_PARENT, but CRASHSHIELD_FORK=1 starts the shield in the child
  CS_TEST_CHILD_BESIDE_LOADER_LOCK, // as CHILD_LIKE_PARENT, while another thread of the parent holds the loader's lock
  CS_TEST_GRANDCHILD,               // a grandchild starts the shield like its grandparent; its parent does not
  CS_TEST_CHILD_OF_NOBODY,          // no start before the fork; exits 0 if the child's start returns the error
  CS_TEST_EARLY,                    // SIGSEGV after the first part of a start
  CS_TEST_EARLY_THEN_START, // SIGSEGV after both parts of a start; exits with a distinct number if a part failed
  // Threads: threads.c. A program that does not crash exits with 0 on success, or else with a number that identifies
  // the failed check.
  CS_TEST_THREAD_OVERFLOW,
  CS_TEST_SMALL_THREAD_OVERFLOW, // a stack overflow on a stack of 32 KiB
  CS_TEST_DESTRUCTOR_OVERFLOW,   // a stack overflow in the destructor of the program's own thread-specific data
  CS_TEST_OWN_STACK_OVERFLOW,    // a stack overflow on a thread that has set up its own alternate stack
  CS_TEST_NO_STACKS_OVERFLOW,    // a stack overflow with CRASHSHIELD_ALTSTACKS=0
  CS_TEST_STACKS_GIVEN, // threads have no alternate stack before the start and in a forked child, and one after the
                        // start
  CS_TEST_STACKS_TAKEN_BACK, // threads that return, exit, are cancelled, or set their own alternate stack; the shield's
                             // alternate stack must be unmapped
  CS_TEST_STACK_REFUSED,     // there is no memory for the alternate stack of a thread
  CS_TEST_STACK_CROWDS_OUT,  // there is memory for a thread's own stack or its alternate stack, but not for both
  CS_TEST_THREAD_BESIDE_LOADER_LOCK, // a thread is created while another one is inside a dl_iterate_phdr callback
  // Crashes while other threads exist: sweep.c.
  CS_TEST_SWEEP_IDLE,     // a crash beside 1,000 waiting threads
  CS_TEST_SWEEP_SPINNING, // a crash beside 100 running threads
  CS_TEST_SWEEP_BLOCKED,  // a crash beside a thread that blocks all signals
  CS_TEST_SWEEP_OFF,      // a crash with CRASHSHIELD_SWEEP_MS=0
  CS_TEST_HELD_STACK, // a signal reaches a thread whose system call a crash has interrupted; an earlier handler handles
                      // the crash; exits 0 if the signal's handler ran on the thread's own stack
  CS_TEST_HELD_REMINDER,  // the halt (which keeps threads stopped) begins after the sweep has restored SIGPROF; exits 0
                          // if it sends no signal
  CS_TEST_SWEEP_PROFILER, // the program uses SIGPROF; exits 0 if its action is restored when an earlier handler runs
  CS_TEST_SWEEP_AGAIN, // a signal, whose earlier handler returns, beside 8 waiting threads, then SIGSEGV beside 2 other
                       // threads
  CS_TEST_SWEEP_NOT_AGAIN,       // as SWEEP_AGAIN, but the shield's handler crashes before the second sweep
  CS_TEST_SWEEP_HANDLER_CRASHES, // a crash beside 2 waiting threads; the earlier handler that gets the signal aborts
  CS_TEST_SWEEP_OFF_TOGETHER,    // 8 threads crash at once, with CRASHSHIELD_SWEEP_MS=0
  CS_TEST_SWEEP_NO_PROC,         // a crash beside a waiting thread, without /proc
  CS_TEST_SWEEP_FOREIGN_PROC,    // a crash beside a waiting thread, with the /proc of another pid namespace; exits 0 if
                                 // the process ended by SIGSEGV
} cs_test_way;

// Returns whether children are allowed to start threads. The thread sanitizer ends a child that a threaded process has
// forked, if the child starts a thread.
bool cs_test_can_run(void);

// Returns whether the shield gives new threads alternate stacks. It cannot do so under a sanitizer that intercepts
// pthread_create.
bool cs_test_gives_stacks(void);

// Runs the program `way` in a child process. Returns the child's wait status, or -1 if the child was killed after 20 s.
int cs_test_run(cs_test_way way, const char *directory);

// The timeouts of the watchdog. A value of 0 keeps the watchdog's default; see cs_testing_watch().
typedef struct cs_test_patience {
  uint32_t reminder_ms;
  uint32_t deadline_ms;
  uint32_t kernel_ms; // CRASHSHIELD_DEADLINE_MS; one second after this deadline the kernel ends a process whose
                      // watchdog hangs too
} cs_test_patience;

// Runs a child process that faults on `thread_count` threads at once. Injects a fault (cs_testing.h) into the handler
// on each of them. The watchdog's timeouts start when all threads have reached the fault. Returns the same values as
// cs_test_run().
int cs_test_run_injected(uint32_t injection, uint32_t places, uint32_t thread_count, cs_test_patience patience,
                         const char *directory);

// Processes whose signal handler stalls, and processes that survive a crash. Each exits with 0 on success, unless its
// comment says otherwise.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_stuck_way : uint32_t {
  CS_TEST_STUCK_CHAINED,         // an earlier handler receives the fault with the registers of the crash
  CS_TEST_STUCK_CHAINED_ABORT,   // an earlier handler of SIGABRT receives the signal
  CS_TEST_STUCK_WITHOUT_DETAILS, // as CHAINED, while the kernel can queue no signal
  CS_TEST_STUCK_BLOCKED,         // as CHAINED, and a later handler calls the shield's with its own signal blocked
  CS_TEST_STUCK_HELD,  // as CHAINED, but the thread receives no signal until the watchdog has committed its record
  CS_TEST_STUCK_CHILD, // a forked child starts the shield; the child ends by its signal
  CS_TEST_STUCK_FIRST_PROCESS, // the process is the first one of a pid namespace; it ends by SIGSEGV
  CS_TEST_OUTLIVED_BY_HANDLER, // an earlier handler returns long after the deadline, and the program continues
  CS_TEST_FORKED_INSIDE,    // a child, forked without fork handlers while a thread is in the handler, starts the shield
  CS_TEST_PROFILER_BLOCKED, // the program waits for SIGPROF, which all its threads block
  CS_TEST_INTERRUPTED_NAP,  // signals arrive during the watchdog's short sleeps
} cs_test_stuck_way;

int cs_test_run_stuck(cs_test_stuck_way way, const char *directory);

// Programs with two threads, which install a handler of SIGSEGV before they start the shield. Each exits with 0 on
// success, unless its comment says otherwise.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_chance_way : uint32_t {
  CS_TEST_CHANCE_REPAIRED,   // the handler repairs 500 faults on each of two threads
  CS_TEST_CHANCE_THEN_CRASH, // as REPAIRED; then a fault at 0x38 ends the process by SIGSEGV
  CS_TEST_CHANCE_LEFT, // siglongjmp() leaves the handler 500 times; the program then waits until the ring has no record
  CS_TEST_CHANCE_LEFT_THEN_CRASH, // as LEFT; then SIGILL ends the process
  CS_TEST_CHANCE_LEFT_DEEPER,     // siglongjmp() leaves the handler, and the thread then waits in a deeper frame; the
                                  // deadline is 100 ms
  CS_TEST_CHANCE_JUMPED_TO,       // a handler that was installed later ends in a tail call of the shield's handler
  CS_TEST_CHANCE_SIGNALLED,       // the handler repairs 500 faults while another thread sends SIGUSR2
  CS_TEST_CHANCE_DEFAULT,         // the handler restores the default action and returns; the process ends by SIGSEGV
  CS_TEST_CHANCE_SENT_AGAIN, // as DEFAULT, but the handler also sends the signal again; the process ends by SIGSEGV
  CS_TEST_CHANCE_ENDS,       // the handler ends the process with status 3
  CS_TEST_CHANCE_LATE,       // as ENDS, but after the deadline of 100 ms, when the record has become a crash
  CS_TEST_CHANCE_ABORTS,     // the handler calls abort(); the process ends by SIGABRT
  CS_TEST_CHANCE_LOOPS, // the handler returns without a repair each time; the program ends when a crash is in the ring
  CS_TEST_CHANCE_ONCE,  // the handler has SA_RESETHAND and repairs nothing; the process ends by SIGSEGV
  CS_TEST_CHANCE_OWN_STACK, // the handler checks its mask, its stack and its context, and repairs the fault
  CS_TEST_CHANCE_ON_STACK,  // as OWN_STACK, but the handler has SA_ONSTACK
  CS_TEST_CHANCE_OVERFLOW,  // the stack overflows; the process ends by SIGSEGV
} cs_test_chance_way;

int cs_test_run_chance(cs_test_chance_way way, const char *directory);

// Runs a program that traps again and again for longer than LOOP_NS. The handler of the trap returns. The program exits
// with 0 if the ring contains no crash in the end.
int cs_test_run_traps(const char *directory);

// Runs a program without /proc. Its handler of a SIGSEGV at 0x38 ends the process with status 3. Before that, the
// watchdog withdraws the records of two threads that jumped out of the handler and ended.
int cs_test_run_chance_without_proc(const char *directory);

// A thread stalls after it has checked a slot, and before it claims the slot. Meanwhile, another thread claims, commits
// and keeps the slot. Exits with 0 if the first thread takes another slot.
int cs_test_run_late_claim(const char *directory);

// The function with which a thread waits for a signal that all threads of the program block.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_wait_call : uint32_t {
  CS_TEST_SIGWAIT,
  CS_TEST_SIGWAITINFO,
  CS_TEST_SIGNALFD,
} cs_test_wait_call;

// Runs a child that waits for a signal, and sends itself this signal. The child exits with 0 if the wait returned this
// signal.
int cs_test_run_wait(int signal, cs_test_wait_call call, const char *directory);

// Programs that must not notice the shield's own threads and descriptors. Each exits with 0 on success.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_own_way : uint32_t {
  CS_TEST_OWN_MASKS,     // the crash signals are blocked in all threads of the shield
  CS_TEST_OWN_CALLBACK,  // a thread waits for a crash signal that arrives while a callback runs
  CS_TEST_OWN_REAPER,    // as CALLBACK, while the quarantine's thread has the signal unblocked
  CS_TEST_OWN_INCIDENTS, // as CALLBACK, while the thread of Shield.incidents has the signal unblocked
  CS_TEST_OWN_PASSED_ON, // SIGABRT arrives while a callback runs and no other thread has it unblocked; the process ends
                         // by the signal
  CS_TEST_OWN_CRASHED_CALLBACK, // a callback crashes; the process ends by SIGSEGV
  CS_TEST_OWN_SETXID,  // root keeps its capabilities in the first thread, then changes its user, and then its groups
  CS_TEST_OWN_UNSHARE, // the program enters a user namespace, and then another one
  CS_TEST_OWN_SETNS,   // the program enters another process's user and mount namespaces
  CS_TEST_OWN_NUMBERS, // checks that the lowest descriptors from 3 on stay free for the program
  CS_TEST_OWN_SHARED_TABLE, // a seccomp filter refuses close_range, and crashd restarts
  CS_TEST_OWN_REFUSED,   // crashd refuses the process; the thread of the connection ends, and the shield no longer uses
                         // its tid
  CS_TEST_OWN_RIGHTS,    // two threads change the groups of the process repeatedly
  CS_TEST_OWN_RETRIED,   // a start fails after its callback thread has started; a second start succeeds
  CS_TEST_OWN_RESTARTED, // a thread with SIGSEGV blocked enters a namespace; callbacks still run with SIGSEGV unblocked
} cs_test_own_way;

int cs_test_run_own(cs_test_own_way way, const char *directory);

// Runs a child that crashes while another thread closes all descriptors from `first` on, and opens its own data files.
// Returns false if the child did not end by SIGSEGV. `ret_hurt` is the number of data files whose contents the crash
// changed. With `handler_crashes`, the signal handler also crashes.
bool cs_test_run_raced(int first, bool handler_crashes, const char *directory, uint32_t *ret_hurt);

// Returns whether this process can create pid namespaces.
bool cs_test_can_unshare(void);

// Like cs_test_run(), but this process acts as crashd: it accepts the connection, receives the ring and replies.
// Returns 0 if the process followed the protocol of cs_attach.h, and the ring contained the crash when the wake-up byte
// arrived. Otherwise returns the line number of the condition that does not hold. `way` must be a program that waits
// until it is attached.
int cs_test_run_attached(cs_test_way way, const char *directory, int *ret_wait_status);

// Like cs_test_run_attached(), but crashd listens only after the process's own thread has stopped trying to connect.
int cs_test_run_crash_connects(const char *directory, int *ret_wait_status);

// How a process records incidents.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_incident_way : uint32_t {
  CS_TEST_INCIDENT_MANY,       // records at least 100,000 incidents, for at least a second
  CS_TEST_INCIDENT_IN_HANDLER, // records one incident in a signal handler
  CS_TEST_INCIDENT_OLD_CRASHD, // records incidents while crashd does not support wake-ups for them, and then crashes
  CS_TEST_INCIDENT_ASIDE, // records one incident, and another one after unshare(), for which the shield's threads ended
                          // and started again
  CS_TEST_INCIDENT_NO_QUEUE, // records one incident while the kernel can queue no signal, and more incidents later
} cs_test_incident_way;

// Runs a child that records incidents in the given way. This process acts as crashd. Returns 0, or the line number of
// the condition that does not hold.
int cs_test_run_incidents(cs_test_incident_way way, const char *directory, int *ret_wait_status);

// The contents of the spool files in a directory.
typedef struct cs_test_spool {
  uint32_t file_count;
  uint32_t partial_count;
  uint32_t empty_count; // the number of files without a ring
  uint32_t mode;
  uint64_t slot_head;
  uint64_t slot_lost;
  uint64_t record_minimal;
  uint64_t request_begun;
  uint32_t committed_count;
  uint32_t pending_count;
  uint32_t writing_count;
  uint32_t bad_checksum_count;
  int32_t signal; // the signal of the first committed record; the next fields are also of that record
  int32_t code;
  uint64_t address;
  int32_t sender_pid;
  int32_t pid;
  uint32_t flags; // without CS_RING_RECORD_TASK
  bool has_task;
  uint64_t stack_start;
  uint32_t stack_bytes;
  uint32_t memory_count;
  uint32_t scrubbed_count; // how many bytes of the stack are overwritten
  bool is_restricted;
  bool has_address; // the captured memory contains an address near the code of spool.c, which is at the same address in
                    // the child
  uint32_t frame_count;
  uint32_t frame_total;
  uint32_t frame_head;
  uint32_t unwind_stop;
  uint32_t frame1_trust;
  uint32_t image_count;
  uint32_t sweep;
  uint32_t survived;
  uint32_t thread_count;
  uint32_t thread_total;
  uint32_t thread_whole_count; // threads by their answer to the thread sweep: whole, blocked, or none
  uint32_t thread_blocked_count;
  uint32_t thread_none_count;
  uint32_t thread_bad_count; // not committed, or with a wrong checksum
  uint32_t thread_frame_minimum;
  uint64_t sweep_ns;
  uint64_t commit_after_ns; // the time from the handler's entry to the commit
} cs_test_spool;

// Returns false if a spool file is not a ring.
bool cs_test_read_spool(const char *directory, cs_test_spool *ret_spool);

// Returns whether the spool file contains `text`.
bool cs_test_spool_contains(const char *directory, const char *text);

// Runs a child that has secret strings on its stack, on its heap (a register has the address of this string) and in its
// environment. The child starts the shield with CRASHSHIELD_MEMORY=`memory`, and crashes. Returns the same values as
// cs_test_run().
#define CS_TEST_STACK_SECRET       "tulip-stack-4711"
#define CS_TEST_HEAP_SECRET        "orchid-heap-4712"
#define CS_TEST_ENVIRONMENT_SECRET "violet-environment-4713"
int cs_test_run_with_secrets(const char *memory, const char *directory);

// When the child becomes non-dumpable, so that its user is not allowed to read its memory.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_restriction : uint32_t {
  CS_TEST_RESTRICTED_BEFORE,  // before the start
  CS_TEST_RESTRICTED_AFTER,   // after the start
  CS_TEST_RESTRICTED_DROPPED, // after the start, by setresuid() to uid 65534
} cs_test_restriction;

// Runs a child that becomes non-dumpable as `restriction` says, and crashes with CRASHSHIELD_MEMORY=full.
int cs_test_run_restricted(cs_test_restriction restriction, const char *directory);

// What a process sends in its first hello (its first message to crashd), and, after a disconnection, in its second
// hello.
typedef struct cs_test_gifts {
  bool is_ring_writable;    // writable by mmap(), by pwrite(), or after reopening
  uint32_t first_count;     // descriptors of files with the first hello
  uint32_t second_count;    // descriptors of files with the second hello
  uint32_t foreign_count;   // files that only the second hello contains, except the plug-in
  bool has_replaced_plugin; // the second hello contains a descriptor of the plug-in or of its replacement
} cs_test_gifts;

// Runs a child with a plug-in, and receives its hello. Then writes the path of another file into the image table of the
// child's ring, makes the child replace the plug-in, closes the connection, and receives the next hello. Returns 0, or
// the line number of the condition that does not hold.
int cs_test_take_gifts(bool has_old_kernel, const char *directory, cs_test_gifts *ret_gifts);

// Runs a child that crashes while another user listens at the attach socket. Returns 0 if this user received no hello,
// or else the line number of the condition that does not hold. Needs root.
int cs_test_run_beside_stranger(const char *directory, int *ret_wait_status);

// Returns the socket path that a process with the given XDG_RUNTIME_DIR reports in its status.
bool cs_test_default_socket(const char *runtime_directory, char ret_text[256]);

// Calls the handler's scrubber for 64 bytes of memory. The scrubber treats the page at `mapped` as readable, and `held`
// as the value of the first register.
void cs_test_scrub(uint8_t bytes[64], uint64_t mapped, uint64_t held);

// Returns whether the shield has detected the runtime layout of tasks in this process.
bool cs_test_task_layout_is_known(void);
bool cs_test_task_has_names(void);

// In a callback of qsort, returns the program counters of its callers: those of the shield's unwinder, and those of
// glibc's backtrace().
void cs_test_unwind_both(uint64_t *ret_shim, size_t *ret_shim_count, uint64_t *ret_glibc, size_t *ret_glibc_count,
                         size_t limit);

// Calls the reader of call frame information with a small valid table, with each prefix of it, and with each of its
// bytes changed to each value. The page after the table is unmapped. Returns how many of the `ret_tried` tables the
// reader accepted.
uint32_t cs_test_hostile_frame_information(uint32_t *ret_tried);
// Calls the reader of call frame information with the same valid table, unchanged. Returns whether the reader accepts
// it.
bool cs_test_good_frame_information(void);

// Returns the size of the thread-local storage that this program, including the shield, needs in each thread.
size_t cs_test_thread_local_bytes(void);

// Computes a CRC-32C without the CRC instruction of the processor.
uint32_t cs_test_crc32c_software(uint32_t crc, const void *bytes, size_t size);

// heap.c: returns how many bytes of the heap are allocated, in all arenas.
size_t cs_test_heap_bytes(void);

#endif
