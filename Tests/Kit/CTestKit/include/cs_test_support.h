// What the tests of the shim need in C: processes that fork and crash, a stand-in for crashd, hostile bytes.
#ifndef CS_TEST_SUPPORT_H
#define CS_TEST_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Ways to use the shim in a child process. Each starts it with DIRECTORY/attach and DIRECTORY/spool.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_way : uint32_t {
  CS_TEST_SEGV,
  CS_TEST_BUS,
  CS_TEST_ABRT,
  CS_TEST_ILL,
  CS_TEST_TRAP,
  CS_TEST_FPE,
  CS_TEST_SYS,
  CS_TEST_ONCE_ATTACHED,   // SIGSEGV, once crashd has accepted the process
  CS_TEST_ATTACHED_CLOSED, // the same, and the program has closed all descriptors above 2 meanwhile
  CS_TEST_SENT,            // kill(getpid(), SIGSEGV)
  CS_TEST_STACK_OVERFLOW,
  CS_TEST_BAD_CALL,
  CS_TEST_CALL_OF_DATA,
  CS_TEST_SMASHED_STACK,      // frame pointer, saved registers and return addresses are rubbish
  CS_TEST_IN_HANDLER,         // the handler crashes
  CS_TEST_EIGHT_THREADS,      // all crash at once
  CS_TEST_ALL_THREADS,        // 64, as many as there are slots
  CS_TEST_NO_DESCRIPTORS,     // RLIMIT_NOFILE is used up
  CS_TEST_STOLEN_DESCRIPTOR,  // the same, and another thread holds the descriptor that we give back, for 30 ms
  CS_TEST_ABANDONED_SLOT,     // a slot is left half-written, then a crash
  CS_TEST_WILD_COUNTS,        // the program has written over the counts of the ring, then SIGABRT
  CS_TEST_CLOSED_DESCRIPTORS, // the program closed all descriptors above 2, and opened files of its own
  CS_TEST_LOADER_LOCK,        // another thread sits in a dl_iterate_phdr callback
  CS_TEST_PREVIOUS_RETURNS,   // an earlier handler of SIGTRAP returns; exits 0 if it ran once and errno was kept
  CS_TEST_IGNORED,            // an ignored signal is sent; exits 0
  CS_TEST_FORKED_CHILD,       // a child crashes without starting anew; exits 0 if it ended by its signal
  CS_TEST_CHILD_STARTS,       // a child starts anew, then crashes; exits 0 if it ended by its signal
  CS_TEST_VFORKED_CHILD,      // a vfork child crashes; exits 0 if it ended by its signal and wrote nothing
  CS_TEST_FILE_SIZE_LIMIT,    // RLIMIT_FSIZE is lowered below the size of a spool file, then a crash
  CS_TEST_STARTS_LIMITED,     // RLIMIT_FSIZE is that low at the start; exits 0 if the start failed with EFBIG
  CS_TEST_REUSED_CONNECTION,  // the program has a socket of its own at the connection's number when crashd hangs up;
                              // exits 0 if its data are still there
  CS_TEST_RETRIED_WITHOUT_DESCRIPTORS, // crashd is not there, the idle thread tried again, all descriptors are used up
  CS_TEST_IGNORED_WHILE_READING,       // an ignored signal is sent during a read(); exits 0 if that goes on
  CS_TEST_HANDLED_WHILE_READING,       // the same with an earlier handler that asked for it
  CS_TEST_CHAINED_ABORT,               // abort(); a later handler calls ours with the signal's number only
  CS_TEST_CHAINED_FAULT,               // the same with a fault
  CS_TEST_REPLACED_LIBRARY,  // a library is closed, replaced and opened again after the start, then it crashes; exits 0
                             // if the record has the new one's build id
  CS_TEST_INTERRUPTED_PAUSE, // signals come while the idle thread waits for its next try; exits 0 if it waits on
  CS_TEST_HANDLERS_REPLACED, // others take signals after the start; exits 0 if the shield says which, and by what
  CS_TEST_HANDLER_GIVEN_BACK, // an earlier handler took a sent signal: that is the program's again, and not replaced
  CS_TEST_HANDLER_RESET,      // a later handler with SA_RESETHAND calls ours and jumps out; exits 0 if the thread that
                              // crashed has the program's descriptors still
  CS_TEST_OTHER_SIGNALS,      // exits 0 if the start left all other signals and the mask as they were
  // Forked children and early starts: forks.c.
  CS_TEST_CHILD_LIKE_PARENT,        // a child starts like its parent, then crashes; exits 0 if all of it was right
  CS_TEST_CHILD_REATTACHES,         // the same by CRASHSHIELD_FORK=1
  CS_TEST_CHILD_BESIDE_LOADER_LOCK, // the same while another thread of the parent has the loader's lock
  CS_TEST_GRANDCHILD,               // a grandchild does, whose parent did not
  CS_TEST_CHILD_OF_NOBODY,          // no start before the fork; exits 0 if the child learns so
  CS_TEST_EARLY,                    // SIGSEGV after the first part of a start
  CS_TEST_EARLY_THEN_START,         // SIGSEGV after both; exits with a number of its own when a part went wrong
  // Threads: threads.c. Those that do not crash exit with 0 if all was right, else with a number of their own.
  CS_TEST_THREAD_OVERFLOW,
  CS_TEST_SMALL_THREAD_OVERFLOW,     // on a stack of 32 KiB
  CS_TEST_DESTRUCTOR_OVERFLOW,       // in the destructor of the program's own thread-specific data
  CS_TEST_OWN_STACK_OVERFLOW,        // on a thread that has set up an alternate stack of its own
  CS_TEST_NO_STACKS_OVERFLOW,        // with CRASHSHIELD_ALTSTACKS=0
  CS_TEST_STACKS_GIVEN,              // before the start none, then one, in a forked child none again
  CS_TEST_STACKS_TAKEN_BACK,         // a thread returns, exits, is cancelled, has a stack of its own
  CS_TEST_STACK_REFUSED,             // no memory for one
  CS_TEST_STACK_CROWDS_OUT,          // memory for one, or for the thread's own stack
  CS_TEST_THREAD_BESIDE_LOADER_LOCK, // a thread is made while another one sits in a dl_iterate_phdr callback
  // A crash beside other threads: sweep.c.
  CS_TEST_SWEEP_IDLE,      // 1,000 that wait
  CS_TEST_SWEEP_SPINNING,  // 100 that run
  CS_TEST_SWEEP_BLOCKED,   // one that blocks all signals
  CS_TEST_SWEEP_OFF,       // with CRASHSHIELD_SWEEP_MS=0
  CS_TEST_HELD_STACK,      // a signal comes to a thread whose call a crash has interrupted, which an earlier handler
                           // takes; exits 0 if the signal's handler ran on the thread's own stack
  CS_TEST_HELD_REMINDER,   // the halt begins when the sweep has given SIGPROF back; exits 0 if no reminder is sent
  CS_TEST_SWEEP_PROFILER,  // the program uses SIGPROF; exits 0 if it is the program's when an earlier handler runs
  CS_TEST_SWEEP_AGAIN,     // 8 that wait beside a signal that an earlier handler takes, then 2 others beside SIGSEGV
  CS_TEST_SWEEP_NOT_AGAIN, // the same, but the handler itself crashes before the second sweep
  CS_TEST_SWEEP_HANDLER_CRASHES, // 2 that wait beside a crash whose earlier handler aborts
  CS_TEST_SWEEP_OFF_TOGETHER,    // 8 threads crash at once, with CRASHSHIELD_SWEEP_MS=0
  CS_TEST_SWEEP_NO_PROC,         // 1 that waits, and no /proc
  CS_TEST_SWEEP_FOREIGN_PROC,    // 1 that waits, and the /proc of another pid namespace; exits 0 if it ended by SIGSEGV
} cs_test_way;

// Whether children may start threads: the thread sanitizer ends a child of a threaded process that does.
bool cs_test_can_run(void);

// Whether new threads get alternate stacks: not under the sanitizers that intercept pthread_create.
bool cs_test_gives_stacks(void);

// Runs a way in a child process; returns its wait status, -1 when it had to be killed after 20 s.
int cs_test_run(cs_test_way way, const char *directory);

// Values other than 0 replace the watchdog's own; see cs_testing_watch().
typedef struct cs_test_patience {
  uint32_t reminder_ms;
  uint32_t deadline_ms;
  uint32_t kernel_ms; // CRASHSHIELD_DEADLINE_MS: a second later the kernel ends a process whose watchdog waits, too
} cs_test_patience;

// Runs a child process with an injected fault (cs_testing.h) in the handler on each of `thread_count` threads that
// fault at once; the patience begins when all have. Returns as cs_test_run().
int cs_test_run_injected(uint32_t injection, uint32_t places, uint32_t thread_count, cs_test_patience patience,
                         const char *directory);

// Processes whose handler does not get on, and what becomes of those that live on. Each exits with 0 if all was right,
// unless it says something else.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_stuck_way : uint32_t {
  CS_TEST_STUCK_CHAINED,         // an earlier handler gets the fault, with its registers
  CS_TEST_STUCK_CHAINED_ABORT,   // an earlier handler of SIGABRT
  CS_TEST_STUCK_WITHOUT_DETAILS, // the first, while no signal can be queued
  CS_TEST_STUCK_BLOCKED,         // the first, when a later handler calls ours and blocks its own signal
  CS_TEST_STUCK_HELD,            // the first, by a thread that takes no signal before its record is committed for it
  CS_TEST_STUCK_CHILD,           // a forked child that starts anew; it ends by its signal
  CS_TEST_STUCK_FIRST_PROCESS,   // of a pid namespace; it ends by SIGSEGV
  CS_TEST_OUTLIVED_BY_HANDLER,   // an earlier handler returns long after the deadline, to a program that goes on
  CS_TEST_FORKED_INSIDE,         // a child made without fork handlers while a thread is in the handler starts anew
  CS_TEST_PROFILER_BLOCKED,      // the program waits for SIGPROF, which all its threads block
  CS_TEST_INTERRUPTED_NAP,       // signals come while the watchdog naps
} cs_test_stuck_way;

int cs_test_run_stuck(cs_test_stuck_way way, const char *directory);

// Programs with a handler of SIGSEGV from before the start, and a second thread. Each exits with 0 if all was right,
// unless it says something else.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_chance_way : uint32_t {
  CS_TEST_CHANCE_REPAIRED,        // it repairs 500 faults on each of two threads
  CS_TEST_CHANCE_THEN_CRASH,      // the same, then SIGSEGV at 0x38
  CS_TEST_CHANCE_LEFT,            // siglongjmp() leaves it 500 times; waits until the ring has no record
  CS_TEST_CHANCE_LEFT_THEN_CRASH, // the same, then SIGILL
  CS_TEST_CHANCE_LEFT_DEEPER, // siglongjmp() leaves it, and the thread waits deeper in its stack; the deadline is 100
                              // ms
  CS_TEST_CHANCE_JUMPED_TO,   // a handler that was installed later ends in a jump to the shield's
  CS_TEST_CHANCE_SIGNALLED,   // it repairs 500 faults while another thread sends SIGUSR2
  CS_TEST_CHANCE_DEFAULT,     // it puts the default action back, and returns; SIGSEGV
  CS_TEST_CHANCE_SENT_AGAIN,  // the same, and sends the signal again; SIGSEGV
  CS_TEST_CHANCE_ENDS,        // it ends the process with 3
  CS_TEST_CHANCE_LATE,        // the same, once its record is a crash; the deadline is 100 ms
  CS_TEST_CHANCE_ABORTS,      // SIGABRT
  CS_TEST_CHANCE_LOOPS,       // it returns each time; ends when a crash is in the ring
  CS_TEST_CHANCE_ONCE,        // it was asked for once only; SIGSEGV
  CS_TEST_CHANCE_OWN_STACK,   // it looks at its mask, its stack and its context, and repairs the fault
  CS_TEST_CHANCE_ON_STACK,    // the same with SA_ONSTACK
  CS_TEST_CHANCE_OVERFLOW,    // of the stack; SIGSEGV
} cs_test_chance_way;

int cs_test_run_chance(cs_test_chance_way way, const char *directory);

// Repeats a trap whose handler returns, for longer than LOOP_NS. Exits with 0 if the ring has no crash then.
int cs_test_run_traps(const char *directory);

// Without /proc: the handler of SIGSEGV at 0x38 ends the process with 3, after the watchdog has withdrawn the records
// of two threads that left the handler and ended.
int cs_test_run_chance_without_proc(const char *directory);

// A thread stands still between its look at a slot and its claim, while another one claims, commits and keeps the slot.
// Exits with 0 if the first one took another.
int cs_test_run_late_claim(const char *directory);

// How a thread waits for a signal that all threads of the program block.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_wait_call : uint32_t {
  CS_TEST_SIGWAIT,
  CS_TEST_SIGWAITINFO,
  CS_TEST_SIGNALFD,
} cs_test_wait_call;

// Runs a child that is sent the signal and waits for it; it exits with 0 if the wait got it.
int cs_test_run_wait(int signal, cs_test_wait_call call, const char *directory);

// Programs that the shield's own threads and descriptors must not be seen by. Each exits with 0 if all was right.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_own_way : uint32_t {
  CS_TEST_OWN_MASKS,            // the crash signals are blocked in each thread of the shield
  CS_TEST_OWN_CALLBACK,         // a thread waits for a crash signal that comes while a callback runs
  CS_TEST_OWN_REAPER,           // the same while the thread of the quarantine has it open
  CS_TEST_OWN_INCIDENTS,        // the same while the thread that passes incidents on has it open
  CS_TEST_OWN_PASSED_ON,        // SIGABRT comes while a callback runs and no other thread has it open; it ends by it
  CS_TEST_OWN_CRASHED_CALLBACK, // a callback crashes; it ends by SIGSEGV
  CS_TEST_OWN_SETXID,           // root keeps its capabilities in the first thread, changes its user, then its groups
  CS_TEST_OWN_UNSHARE,          // a user namespace, then another one
  CS_TEST_OWN_SETNS,            // another process's user and mount namespaces
  CS_TEST_OWN_NUMBERS,          // descriptors from 3 on are free
  CS_TEST_OWN_SHARED_TABLE,     // a filter refuses close_range, and crashd restarts
  CS_TEST_OWN_REFUSED,          // crashd refuses the process: its number has no thread any more
  CS_TEST_OWN_RIGHTS,           // two threads change their groups again and again, as in CS_TEST_OWN_SETXID
  CS_TEST_OWN_RETRIED,          // callbacks of a start that failed behind them, then of another one
  CS_TEST_OWN_RESTARTED,        // a thread with SIGSEGV blocked enters a namespace: callbacks have it open all the same
} cs_test_own_way;

int cs_test_run_own(cs_test_own_way way, const char *directory);

// Runs a child that crashes while another thread of it closes all descriptors from `first` on and opens data files.
// false: it did not end by SIGSEGV. `ret_hurt` is the number of its files that are not what they were.
// The handler may crash as well.
bool cs_test_run_raced(int first, bool handler_crashes, const char *directory, uint32_t *ret_hurt);

// Whether pid namespaces can be made here.
bool cs_test_can_unshare(void);

// Like cs_test_run(), with this process as crashd: it accepts, takes the ring and replies. 0 if the protocol went as
// cs_attach.h says, with the crash in the ring after the wake-up byte; else the line that was not satisfied. The way is
// one of those that wait until they are attached.
int cs_test_run_attached(cs_test_way way, const char *directory, int *ret_wait_status);

// The same with a crashd that comes after the start, when the process' own thread looks for it no more.
int cs_test_run_crash_connects(const char *directory, int *ret_wait_status);

// What a process does that records incidents.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_incident_way : uint32_t {
  CS_TEST_INCIDENT_MANY,       // 100,000 at least, for a second at least
  CS_TEST_INCIDENT_IN_HANDLER, // one, in a signal handler
  CS_TEST_INCIDENT_OLD_CRASHD, // some, with a crashd that takes no wake-ups for them, and then a crash
  CS_TEST_INCIDENT_ASIDE,      // one, and one after the shield's threads stepped aside for unshare()
  CS_TEST_INCIDENT_NO_QUEUE,   // one while no signal can be queued, and more when one can
} cs_test_incident_way;

// Runs such a child, with this process as crashd. 0, or the line that was not satisfied.
int cs_test_run_incidents(cs_test_incident_way way, const char *directory, int *ret_wait_status);

// What the spool file of a directory holds.
typedef struct cs_test_spool {
  uint32_t file_count;
  uint32_t partial_count;
  uint32_t empty_count; // of file_count, those without a ring
  uint32_t mode;
  uint64_t slot_head;
  uint64_t slot_lost;
  uint64_t record_minimal;
  uint32_t committed_count;
  uint32_t pending_count;
  uint32_t writing_count;
  uint32_t bad_checksum_count;
  int32_t signal; // of the first committed record
  int32_t code;
  uint64_t address;
  int32_t sender_pid;
  int32_t pid;
  uint32_t flags; // without CS_RING_RECORD_TASK
  bool has_task;
  uint64_t stack_start;
  uint32_t stack_bytes;
  uint32_t memory_count;
  uint32_t scrubbed_count; // bytes of the stack
  bool is_restricted;
  bool has_address; // one near this function's, which a child has at the same place
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
  uint32_t thread_whole_count; // by their answers
  uint32_t thread_blocked_count;
  uint32_t thread_none_count;
  uint32_t thread_bad_count; // not committed, or a wrong checksum
  uint32_t thread_frame_minimum;
  uint64_t sweep_ns;
  uint64_t commit_after_ns; // from the handler's entry to the commit
} cs_test_spool;

// false when a file is there that is no ring.
bool cs_test_read_spool(const char *directory, cs_test_spool *ret_spool);

// Whether a text is anywhere in the spool file.
bool cs_test_spool_contains(const char *directory, const char *text);

// Runs a child that keeps secrets on its stack, on its heap (a register points there) and in its environment, and
// crashes with CRASHSHIELD_MEMORY=`memory`; returns as cs_test_run().
#define CS_TEST_STACK_SECRET       "tulip-stack-4711"
#define CS_TEST_HEAP_SECRET        "orchid-heap-4712"
#define CS_TEST_ENVIRONMENT_SECRET "violet-environment-4713"
int cs_test_run_with_secrets(const char *memory, const char *directory);

// When a child becomes one that the kernel would not dump for its user.
typedef enum __attribute__((enum_extensibility(closed))) cs_test_restriction : uint32_t {
  CS_TEST_RESTRICTED_BEFORE,  // before the start
  CS_TEST_RESTRICTED_AFTER,   // after it
  CS_TEST_RESTRICTED_DROPPED, // after it, by setresuid() to uid 65534
} cs_test_restriction;

// The same with CRASHSHIELD_MEMORY=full in such a child.
int cs_test_run_restricted(cs_test_restriction restriction, const char *directory);

// What a crashd was sent by a process to which it hung up once.
typedef struct cs_test_gifts {
  bool is_ring_writable;    // by mmap(), pwrite(), or opened again
  uint32_t first_count;     // descriptors of files with the first hello
  uint32_t second_count;    // and with the second one
  uint32_t foreign_count;   // of those, what is neither the executable nor the plug-in of the start
  bool has_replaced_plugin; // among those of the second hello is the plug-in, or what replaced it
} cs_test_gifts;

// Runs a child with a plug-in, takes its hello, lets it write the path of another file into the images of its ring and
// replace the plug-in, hangs up and takes the next hello. 0, else the line that was not satisfied.
int cs_test_take_gifts(bool has_old_kernel, const char *directory, cs_test_gifts *ret_gifts);

// Runs a child that crashes where another user listens at the attach socket. 0 if that one got nothing at all, else the
// line that was not satisfied. Needs root.
int cs_test_run_beside_stranger(const char *directory, int *ret_wait_status);

// The socket path that a process uses whose XDG_RUNTIME_DIR is `runtime_directory`, as its status reports it.
bool cs_test_default_socket(const char *runtime_directory, char ret_text[256]);

// What scrubbing left of 64 bytes. A page at `mapped` is readable meanwhile; the first register holds `held`.
void cs_test_scrub(uint8_t bytes[64], uint64_t mapped, uint64_t held);

// What the shim found out of this process.
bool cs_test_task_layout_is_known(void);
bool cs_test_task_has_names(void);

// Program counters above the caller by the shim's unwinder and by glibc's backtrace(), in a callback of qsort.
void cs_test_unwind_both(uint64_t *ret_shim, size_t *ret_shim_count, uint64_t *ret_glibc, size_t *ret_glibc_count,
                         size_t limit);

// Feeds the reader of call frame information a small good image, each cut of it, and each byte changed to each value;
// a page behind its end faults. Returns how many of the `ret_tried` were accepted.
uint32_t cs_test_hostile_frame_information(uint32_t *ret_tried);
// The same good image, unchanged.
bool cs_test_good_frame_information(void);

// The thread-local storage that this program, with the shim in it, asks for in each of its threads.
size_t cs_test_thread_local_bytes(void);

// The checksum without the processor's instruction.
uint32_t cs_test_crc32c_software(uint32_t crc, const void *bytes, size_t size);

#endif
