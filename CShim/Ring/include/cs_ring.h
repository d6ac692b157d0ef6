// The layout of the ring: a sealed memfd that the program's process writes and crashd reads. It contains tables; the
// crash records are in slots. To commit a record is to mark it as complete. A generation is a number that grows from
// one use of an entry to the next. Only this file and the headers cs_ring_limits.h, cs_ring_incident.h and
// cs_ring_containment.h define the layout. docs/ring-format.md explains the states. A change of an assertion in
// cs_ring.c requires a new CS_RING_VERSION.
#ifndef CS_RING_H
#define CS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_ring_containment.h"
#include "cs_ring_incident.h"
#include "cs_ring_limits.h"
#include "cs_signal_safe.h"

typedef enum __attribute__((enum_extensibility(open))) cs_ring_architecture : uint32_t {
  CS_RING_ARCHITECTURE_X86_64 = 1,
  CS_RING_ARCHITECTURE_AARCH64 = 2,
} cs_ring_architecture;

// The method by which the unwinder found a frame, from the most to the least reliable one.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_trust : uint8_t {
  CS_RING_TRUST_NONE = 0,
  CS_RING_TRUST_CONTEXT = 1,       // the pc of the signal context
  CS_RING_TRUST_CFI = 2,           // DWARF call frame information
  CS_RING_TRUST_FRAME_POINTER = 3, // the saved frame pointer
  CS_RING_TRUST_SCAN = 4,          // a word on the stack that looks like a return address
  CS_RING_TRUST_ASYNC = 5,         // the address where a parent in the list of AsyncContexts resumes
} cs_ring_trust;

// The bits of cs_ring_frame.flags.
#define CS_RING_FRAME_EXACT                                                                                            \
  1u // pc is the address of an instruction and not a return address: symbolicate it without subtracting one. Set for
     // the pc of a fault, for the frame that a signal interrupted, and for async callers.
#define CS_RING_FRAME_ASYNC 2u // the frame is from the list of AsyncContexts, and not from the stack

// The bits of cs_ring_image.flags.
#define CS_RING_IMAGE_EXECUTABLE     1u // the main executable
#define CS_RING_IMAGE_VDSO           2u // the image has no file
#define CS_RING_IMAGE_LATE           4u // added by the handler, because it was loaded after cs_shim_start
#define CS_RING_IMAGE_PATH_TRUNCATED 8u

// The bits of cs_ring_record.flags. The crash handler itself crashed or took too long, so the stack and the frames can
// be incomplete. The signal and the registers are recorded.
#define CS_RING_RECORD_MINIMAL 1u
// Set together with MINIMAL if the handler took too long (watchdog.h).
#define CS_RING_RECORD_LATE 2u
// The thread ran a Swift task. task_id and task_priority are valid, and task_name is valid if the task has a name.
#define CS_RING_RECORD_TASK 4u
// The faulting address is in a mapped file. exception_text contains "OFFSET PATH", where OFFSET is the decimal offset
// of the faulting byte in the file.
#define CS_RING_RECORD_FILE 8u
// exception_text contains the class of the object that the message mentions, as `Module.Outer.Class`.
#define CS_RING_RECORD_CLASS 16u
// A trap in isolated work that was not contained, because too many threads were already stopped by contained traps.
#define CS_RING_RECORD_BUDGET 32u
// The record is in a spool file, and the owner of this file must not read the process's data. The record contains no
// memory addresses, registers, memory or strings. The addresses of code are relative to artificial base addresses of
// the images.
#define CS_RING_RECORD_BARE 64u

// Whether the crash handler can find out which request a task belongs to, by reading the task's memory.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_request_lookup : uint32_t {
  CS_RING_REQUEST_LOOKUP_UNCHECKED = 0, // no request has begun in a task
  CS_RING_REQUEST_LOOKUP_WORKS = 1,
  CS_RING_REQUEST_LOOKUP_REFUSED = 2, // this Swift runtime stores task-local values with another layout
} cs_ring_request_lookup;

// Determines which memory of the program a record contains (header.memory_mode).
typedef enum __attribute__((enum_extensibility(open))) cs_ring_memory_mode : uint32_t {
  CS_RING_MEMORY_NONE = 0,     // neither the stack nor memory near addresses in registers
  CS_RING_MEMORY_SCRUBBED = 1, // CS_RING_SCRUBBED_BYTE replaces the bytes of text
  CS_RING_MEMORY_FULL = 2,
  CS_RING_MEMORY_WITHHELD = 3, // like NONE, but because an operator requested it through crashd
} cs_ring_memory_mode;

// If the mode is SCRUBBED, this byte replaces each byte in a run of text characters. This byte does not occur in UTF-8,
// and eight such bytes are not a valid address.
#define CS_RING_SCRUBBED_BYTE 0xf5u

// The answer of a thread to the thread sweep, in which each thread that did not crash writes its stack to the ring.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_answer : uint32_t {
  CS_RING_ANSWER_WHOLE = 1,   // the thread wrote its stack
  CS_RING_ANSWER_NONE = 2,    // the thread did not answer in time
  CS_RING_ANSWER_BLOCKED = 3, // the thread could not answer, because it blocks SIGPROF or waits for it
} cs_ring_answer;

// The progress of the thread sweep (the sampling of all threads' stacks at a crash).
typedef enum __attribute__((enum_extensibility(open))) cs_ring_sweep : uint32_t {
  CS_RING_SWEEP_NONE = 0,
  CS_RING_SWEEP_UNDER_WAY = 1,
  CS_RING_SWEEP_DONE = 2,
  CS_RING_SWEEP_BLIND = 3, // the sweep has ended, but could not list the threads
} cs_ring_sweep;

// The action that is installed for a crash signal.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_handler_state : uint32_t {
  CS_RING_HANDLER_OURS = 0,     // our handler is installed, or the shield has not checked the action yet
  CS_RING_HANDLER_REPLACED = 1, // another handler is installed
  CS_RING_HANDLER_DEFAULT = 2,  // the default action is installed
  CS_RING_HANDLER_IGNORED = 3,
} cs_ring_handler_state;

#pragma clang diagnostic push
#pragma clang diagnostic error "-Wpadded"

// A crash signal, and whether other code had replaced our handler at the last check. Each field is an atomic word.
typedef struct cs_ring_handler {
  uint64_t address; // the address of the handler that replaced ours; 0: none
  int32_t signal;   // 0: this entry is not used
  uint32_t state;   // cs_ring_handler_state
} cs_ring_handler;

// The result of the last self-test of the guards. A sequence lock protects it: the sequence is odd during a write, and
// 0 if there was no self-test. Bit N of a mask represents the guards of kind N.
typedef struct cs_ring_self_test {
  uint64_t sequence;
  uint64_t time_ns; // CLOCK_REALTIME at the end of the test
  uint64_t asked;
  uint64_t failing;
  uint32_t checks;   // the number of checks of the self-test
  uint32_t failures; // the number of failed checks of the self-test
} cs_ring_self_test;

// The first page of the ring. The process fills it when the shield starts. Both sides access the `…_count` and `…_head`
// fields through the functions in cs_ring_access.h.
typedef struct cs_ring_header {
  uint64_t magic;
  uint32_t version;
  uint32_t architecture;
  uint64_t total_bytes;
  uint8_t ring_id[16]; // random; the IDs of reports are derived from it
  int32_t pid;         // the process's pid in its own pid namespace
  uint32_t uid;
  uint64_t start_time_ns; // the start of the process, CLOCK_REALTIME
  uint32_t image_count;   // set with a release store, for cs_ring_image_count_acquire()
  uint32_t image_total;   // number of images, including those that do not fit into the table
  uint64_t slot_head;     // tickets taken since the start: each selects a slot; a crash takes another ticket if the
                          // slot is in use
  uint64_t slot_lost;     // crashes without a record, because they found no free slot
  uint64_t record_minimal;
  uint64_t annotation_lost;
  uint64_t breadcrumb_head; // breadcrumbs written since the start
  uint8_t name[CS_RING_NAME_LIMIT_BYTES];
  uint8_t executable[CS_RING_PATH_LIMIT_BYTES];
  uint64_t slot_overwritten; // committed records that were overwritten by later records
  uint32_t thread_count;     // set with a release store, for cs_ring_thread_count_acquire()
  uint32_t thread_total;     // number of threads that had not crashed, including those that got no slot
  uint32_t sweep;            // cs_ring_sweep
  uint32_t survived;         // the process survived the crashes whose records have a sequence number below this
  uint64_t sweep_ns;         // the duration of the sweep in nanoseconds
  cs_ring_handler handlers[CS_RING_HANDLER_LIMIT];
  uint64_t heap_key;      // the word that glibc writes into a freed block (its tcache's key); 0: unknown
  uint64_t heap_start;    // the start of the heap that grows by brk; 0: unknown
  uint32_t memory_mode;   // cs_ring_memory_mode
  uint32_t is_restricted; // 1: the kernel would refuse the user a core dump, so the report belongs to root
  uint64_t incident_lost; // occurrences of incidents that are lost because no entry was free
  uint32_t class_count;   // set with a release store, for cs_ring_class_count_acquire()
  uint32_t class_total;   // number of classes, including those that do not fit into the table
  cs_ring_self_test self_test;
  uint32_t announces_incidents; // 1: the process wakes crashd for incidents; 0: crashd must poll
  uint32_t swift_version;       // the Swift version: major << 16 | minor << 8 | patch; 0: unknown or no Swift
  uint32_t takes_last_crash;    // 1: crashd may send CS_CONTROL_LAST_CRASH
  uint32_t request_lookup;      // cs_ring_request_lookup
  uint64_t request_begun;       // the number of the latest request
  uint64_t request_finished;
  uint64_t request_failed;       // requests that ended by an error, by a trap, or at the end of a drain
  uint64_t request_overflow;     // requests that got no entry, because no entry was free; reports cannot name them
  uint32_t request_high;         // requests[request_high ...] were never used
  uint32_t containment_mode;     // cs_ring_containment
  uint32_t containment_obstacle; // cs_ring_obstacle
  uint32_t containment_budget;
  uint32_t containment_count; // contained traps of requests, without those of isolated work
  uint32_t drain_end;         // cs_ring_drain_end
  uint32_t drain_finished;    // requests that ended during the drain on threads that did not park
  uint32_t drain_lost;        // requests in flight at the end of the drain, or on threads that parked because they
                              // waited for a parked thread
  uint64_t drain_begin_ns;    // CLOCK_REALTIME; 0: there was no drain
  uint64_t drain_end_ns;
  uint64_t drain_sequence; // the sequence number of the crash record that began the drain, plus 1; 0: none
  uint8_t reserved[3264];
} cs_ring_header;

// A loaded ELF image (the executable or a shared library). For a pc in the image, the address in the ELF file is pc -
// bias.
typedef struct cs_ring_image {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  uint32_t flags;
  uint32_t build_id_bytes;
  uint8_t build_id[CS_RING_BUILD_ID_LIMIT_BYTES];
  uint8_t path[CS_RING_PATH_LIMIT_BYTES];
} cs_ring_image;

// A key and its value. A sequence lock protects the entry: the sequence is odd during a write, and 0 if the entry was
// never used. A removed entry has no key.
typedef struct cs_ring_annotation {
  uint32_t sequence;
  uint16_t key_bytes;
  uint16_t value_bytes;
  uint8_t key[CS_RING_KEY_LIMIT_BYTES];
  uint8_t value[CS_RING_VALUE_LIMIT_BYTES];
} cs_ring_annotation;

// The level of a breadcrumb, with the same levels as swift-log.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_level : uint8_t {
  CS_RING_LEVEL_NONE = 0, // the program set no level
  CS_RING_LEVEL_TRACE = 1,
  CS_RING_LEVEL_DEBUG = 2,
  CS_RING_LEVEL_INFO = 3,
  CS_RING_LEVEL_NOTICE = 4,
  CS_RING_LEVEL_WARNING = 5,
  CS_RING_LEVEL_ERROR = 6,
  CS_RING_LEVEL_CRITICAL = 7,
} cs_ring_level;

// A breadcrumb: a short message about an action of the program. `sequence` is the number of the breadcrumb plus 1, and
// 0 during a write. `text` contains the message, the category and the metadata, without separators. In the metadata,
// each key and each value ends with a NUL. A part whose length is 0 is absent.
typedef struct cs_ring_breadcrumb {
  uint64_t sequence;
  uint64_t time_ns;    // CLOCK_REALTIME
  uint32_t text_bytes; // size of the message
  uint8_t level;       // cs_ring_level
  uint8_t category_bytes;
  uint16_t metadata_bytes;
  uint8_t text[CS_RING_BREADCRUMB_LIMIT_BYTES];
  uint64_t request; // the number of the request that was current; 0: none
} cs_ring_breadcrumb;

// The registers, indexed by DWARF number. x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8–15 r8–r15,
// 16 rip. AArch64: 0–30 x0–x30, 31 sp, 32 pc. The header says which of the two applies; it can differ from the reader's
// own machine.
typedef struct cs_ring_registers {
  uint64_t general[CS_RING_REGISTER_LIMIT];
  uint64_t general_count; // x86-64: 17; AArch64: 33
  uint64_t flags;         // x86-64: rflags; AArch64: pstate
  uint64_t error_code;    // x86-64: the error code of a page fault; AArch64: the syndrome ESR, 0: the kernel gave none
  uint64_t trap_number;   // x86-64: the number of the exception vector; AArch64: the exception class, ESR bits 26 to 31
  uint64_t fault_address; // x86-64: the register cr2; AArch64: the register FAR
} cs_ring_registers;

typedef struct cs_ring_frame {
  uint64_t pc;
  uint64_t function_start; // the start of the function, from the FDE; 0: unknown
  uint8_t trust;           // cs_ring_trust
  uint8_t flags;
  uint16_t image; // index into the image table; 0xffff: no image
  uint32_t reserved;
} cs_ring_frame;

// A copy of the memory near an address that a register contained.
typedef struct cs_ring_memory {
  uint64_t start;
  uint32_t bytes;
  uint32_t reserved;
  uint8_t contents[CS_RING_MEMORY_LIMIT_BYTES];
} cs_ring_memory;

// The record of a crash, without the stack. The slot's CRC includes all fields.
typedef struct cs_ring_record {
  uint64_t sequence; // the number of the crash, in the order in which threads claimed slots, from 0
  uint64_t time_ns;  // CLOCK_REALTIME at handler entry
  uint64_t entry_ns; // CLOCK_MONOTONIC at handler entry
  uint64_t address;  // si_addr
  int32_t pid;       // the process's pid in its own pid namespace
  int32_t tid;
  int32_t signal;
  int32_t code;       // si_code
  int32_t sender_pid; // si_pid if si_code <= 0, else 0
  uint32_t sender_uid;
  int32_t system_call; // si_syscall of SIGSYS, else -1
  uint32_t flags;
  uint32_t frame_count;
  uint32_t frame_total; // number of frames of the stack, without async frames; may exceed the number of stored frames
  uint32_t frame_head;  // frames[0 ..< frame_head] are the innermost frames; the outermost ones and the async callers
                        // follow
  uint32_t unwind_stop; // the reason why the unwind ended (cs_unwind_stop in cs_shim.h)
  uint32_t instruction_bytes;
  uint32_t message_bytes;   // from swift_getFatalErrorMessageBuffer
  uint32_t abort_bytes;     // from glibc's __abort_msg
  uint32_t exception_bytes; // the mangled type of the C++ exception that was being handled
  uint64_t stack_start;
  uint32_t stack_bytes;
  uint16_t verdict;        // cs_ring_verdict
  uint16_t verdict_reason; // cs_ring_verdict_reason
  cs_ring_registers registers;
  uint8_t thread_name[CS_RING_THREAD_NAME_LIMIT_BYTES];
  uint8_t instruction[CS_RING_INSTRUCTION_LIMIT_BYTES];
  uint8_t message[CS_RING_MESSAGE_LIMIT_BYTES];
  uint8_t abort_message[CS_RING_ABORT_LIMIT_BYTES];
  uint8_t exception[CS_RING_EXCEPTION_LIMIT_BYTES];
  uint32_t exception_text_bytes; // the message of a std::runtime_error, a std::logic_error or a class derived from one
  uint32_t task_name_bytes;
  uint32_t task_id;
  uint32_t task_priority; // Swift's TaskPriority.rawValue
  uint64_t heap_end;      // the end of the heap that begins at header.heap_start
  uint32_t memory_count;
  uint32_t memory_reserved;
  uint8_t exception_text[CS_RING_EXCEPTION_TEXT_LIMIT_BYTES];
  uint8_t task_name[CS_RING_TASK_NAME_LIMIT_BYTES];
  cs_ring_memory memory[CS_RING_MEMORY_LIMIT]; // sorted by address; the ranges do not overlap the recorded stack
  cs_ring_frame frames[CS_RING_FRAME_LIMIT];
} cs_ring_record;

// A request that Shield.withRequest registered. A reader's copy of the entry is valid if `state` is RUNNING or TRAPPED,
// with the same generation, before and after the copy. Strings are UTF-8, and are truncated at a character boundary.
typedef struct cs_ring_request {
  uint64_t state;       // generation << 8 | CS_RING_REQUEST_…
  uint64_t number;      // from 1, unique in the process
  uint64_t started_ns;  // CLOCK_REALTIME
  uint8_t trace_id[16]; // W3C Trace Context; all zero: none
  uint8_t span_id[8];   // all zero: none
  uint16_t operation_bytes;
  uint16_t id_bytes;
  uint16_t tag_bytes;
  uint16_t reserved0;
  uint8_t operation[CS_RING_OPERATION_LIMIT_BYTES];
  uint8_t id[CS_RING_REQUEST_ID_LIMIT_BYTES];
  uint8_t tags[CS_RING_REQUEST_TAG_LIMIT_BYTES]; // pairs of a key and a value, which each end with a NUL
  uint8_t reserved1[40];
} cs_ring_request;

// The slot of a thread that has crashed. `crc` includes the record and the first record.stack_bytes bytes of the stack.
typedef struct cs_ring_slot {
  uint64_t state;     // generation << 2 | CS_RING_STATE_…
  uint64_t commit_ns; // CLOCK_MONOTONIC at the commit; for benchmarks only, and not included in the CRC
  uint32_t crc;       // CRC-32C
  uint32_t reserved0;
  uint8_t reserved1[40];
  cs_ring_record record;
  cs_ring_request request; // of the crashed thread, at the time of the crash; number 0: none
  uint32_t request_crc;    // CRC-32C of the request
  uint8_t reserved2[CS_RING_RECORD_PADDING_BYTES];
  uint8_t stack[CS_RING_STACK_LIMIT_BYTES];
} cs_ring_slot;

// The data that the thread sweep collects about a thread that did not crash. The entry's CRC includes all fields.
typedef struct cs_ring_thread_record {
  uint64_t blocked_signals; // the thread's signal mask if it did not answer, else 0
  int32_t tid;
  uint32_t answer; // cs_ring_answer
  uint8_t name[CS_RING_THREAD_NAME_LIMIT_BYTES];
  uint32_t frame_count; // this field and the next three fields have the same meaning as in cs_ring_record
  uint32_t frame_total;
  uint32_t frame_head;
  uint32_t unwind_stop;
  uint32_t run_state; // the kernel's letter for the thread's state (R, S, D, …) if it did not answer, else 0
  uint32_t flags;     // CS_RING_RECORD_TASK
  uint32_t task_name_bytes;
  uint32_t task_id;
  uint32_t task_priority;
  uint32_t reserved;
  cs_ring_registers registers;
  uint8_t task_name[CS_RING_TASK_NAME_LIMIT_BYTES];
  cs_ring_frame frames[CS_RING_THREAD_FRAME_LIMIT];
} cs_ring_thread_record;

// The entry of a thread that did not crash. The entries fill one page each, in the order of the sweep.
typedef struct cs_ring_thread {
  uint64_t state; // header.survived at the sweep << 2 | CS_RING_STATE_…
  uint32_t crc;   // CRC-32C of the record
  uint32_t reserved0;
  cs_ring_thread_record record;
  uint8_t reserved1[32];
} cs_ring_thread;

typedef struct cs_ring {
  cs_ring_header header;
  cs_ring_image images[CS_RING_IMAGE_LIMIT];
  cs_ring_annotation annotations[CS_RING_ANNOTATION_LIMIT];
  cs_ring_breadcrumb breadcrumbs[CS_RING_BREADCRUMB_LIMIT];
  cs_ring_incident incidents[CS_RING_INCIDENT_LIMIT];
  cs_ring_class classes[CS_RING_CLASS_LIMIT];
  cs_ring_slot slots[CS_RING_SLOT_LIMIT];
  cs_ring_thread threads[CS_RING_THREAD_LIMIT];
  cs_ring_request requests[CS_RING_REQUEST_LIMIT];
} cs_ring;

#pragma clang diagnostic pop
#endif
