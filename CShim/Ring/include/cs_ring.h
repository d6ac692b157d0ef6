// The layout of the ring: one sealed memfd that a host process writes and crashd reads.
// This is its only definition; docs/ring-format.md explains the states. A changed assert in cs_ring.c means
// CS_RING_VERSION + 1.
#ifndef CS_RING_H
#define CS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// "CSRING" and a zero: the first eight bytes of each ring.
#define CS_RING_MAGIC   UINT64_C(0x0000474e49525343)
#define CS_RING_VERSION 5u

// Every limit of the ring, named in one place.
#define CS_RING_IMAGE_LIMIT                512
#define CS_RING_ANNOTATION_LIMIT           64
#define CS_RING_BREADCRUMB_LIMIT           128
#define CS_RING_SLOT_LIMIT                 64
#define CS_RING_FRAME_LIMIT                256
#define CS_RING_THREAD_LIMIT               1024
#define CS_RING_HANDLER_LIMIT              8
#define CS_RING_THREAD_FRAME_LIMIT         150 // fills a page
#define CS_RING_INCIDENT_LIMIT             256
#define CS_RING_INCIDENT_FRAME_LIMIT       16
#define CS_RING_CLASS_LIMIT                512
#define CS_RING_SUBJECT_LIMIT_BYTES        128
#define CS_RING_PATH_LIMIT_BYTES           320
#define CS_RING_BUILD_ID_LIMIT_BYTES       32
#define CS_RING_NAME_LIMIT_BYTES           64
#define CS_RING_KEY_LIMIT_BYTES            64
#define CS_RING_VALUE_LIMIT_BYTES          440
#define CS_RING_BREADCRUMB_LIMIT_BYTES     232
#define CS_RING_CATEGORY_LIMIT_BYTES       64 // of those of a breadcrumb
#define CS_RING_MESSAGE_LIMIT_BYTES        2048
#define CS_RING_ABORT_LIMIT_BYTES          1024
#define CS_RING_EXCEPTION_LIMIT_BYTES      256
#define CS_RING_EXCEPTION_TEXT_LIMIT_BYTES 512
#define CS_RING_TASK_NAME_LIMIT_BYTES      64
#define CS_RING_MEMORY_LIMIT               17 // one for each register
#define CS_RING_MEMORY_LIMIT_BYTES         128
#define CS_RING_THREAD_NAME_LIMIT_BYTES    16
#define CS_RING_INSTRUCTION_LIMIT_BYTES    16
#define CS_RING_STACK_LIMIT_BYTES          65536
#define CS_RING_REGISTER_LIMIT             34
#define CS_RING_NO_IMAGE                   0xffffu
#define CS_RING_RECORD_PADDING_BYTES       3336 // puts the stack of a slot at 16 KiB

// What happened to a claim of a slot: the low two bits of cs_ring_slot.state, the generation stands above them.
#define CS_RING_STATE_FREE      0u
#define CS_RING_STATE_WRITING   1u
#define CS_RING_STATE_COMMITTED 2u
#define CS_RING_STATE_ASKED     3u // of cs_ring_thread only: the thread has not begun
#define CS_RING_STATE_PENDING   3u // of cs_ring_slot only: whole, but a handler of the program may repair the fault yet
#define CS_RING_STATE_MASK      3u

typedef enum __attribute__((enum_extensibility(open))) cs_ring_architecture : uint32_t {
  CS_RING_ARCHITECTURE_X86_64 = 1,
  CS_RING_ARCHITECTURE_AARCH64 = 2,
} cs_ring_architecture;

// How a frame was found, from the surest to the least sure.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_trust : uint8_t {
  CS_RING_TRUST_NONE = 0,
  CS_RING_TRUST_CONTEXT = 1,       // the pc of the signal context
  CS_RING_TRUST_CFI = 2,           // DWARF call frame information
  CS_RING_TRUST_FRAME_POINTER = 3, // the saved frame pointer
  CS_RING_TRUST_SCAN = 4,          // a word on the stack that looks like a return address
  CS_RING_TRUST_ASYNC = 5,         // a resume entry of the AsyncContext chain
} cs_ring_trust;

// Bits of cs_ring_frame.flags.
#define CS_RING_FRAME_EXACT                                                                                            \
  1u                           // pc is an instruction of its own (fault pc, frame below a signal frame,
                               // async resume entry): symbolicate it without subtracting one
#define CS_RING_FRAME_ASYNC 2u // from the AsyncContext chain, not from the stack

// Bits of cs_ring_image.flags.
#define CS_RING_IMAGE_EXECUTABLE     1u // the main executable
#define CS_RING_IMAGE_VDSO           2u // no file
#define CS_RING_IMAGE_LATE           4u // added by the handler: loaded after cs_shim_start
#define CS_RING_IMAGE_PATH_TRUNCATED 8u

// Bits of cs_ring_record.flags.
// A crash inside the handler: signal and registers for certain, stack and frames as far as it came.
#define CS_RING_RECORD_MINIMAL 1u
// Minimal because the handler did not get on in time (watch.h), not because it crashed.
#define CS_RING_RECORD_LATE 2u
// The thread ran a Swift task: task_id and task_priority hold, and task_name where it has one.
#define CS_RING_RECORD_TASK 4u
// The faulting address lies in a mapped file: exception_text is "OFFSET PATH", the decimal offset of that byte.
#define CS_RING_RECORD_FILE 8u
// exception_text is the class of the object that the message is about, as `Module.Outer.Class`.
#define CS_RING_RECORD_CLASS 16u
// A trap in contained work that was not contained: as many threads are parked as the budget allows.
#define CS_RING_RECORD_BUDGET 32u
// In a spool file whose owner must not know the process: no address, registers, memory and texts, and addresses of code
// are those of images at other places.
#define CS_RING_RECORD_BARE 64u

// What is kept of the program's memory (header.memory_mode).
typedef enum __attribute__((enum_extensibility(open))) cs_ring_memory_mode : uint32_t {
  CS_RING_MEMORY_NONE = 0,     // neither stack nor words around registers
  CS_RING_MEMORY_SCRUBBED = 1, // without texts: their bytes are CS_RING_SCRUBBED_BYTE
  CS_RING_MEMORY_FULL = 2,
  CS_RING_MEMORY_WITHHELD = 3, // as NONE, which an operator has asked for by way of crashd
} cs_ring_memory_mode;

// In the place of each byte of a text. It occurs in no UTF-8, and eight of it are no address.
#define CS_RING_SCRUBBED_BYTE 0xf5u

// What came of asking a thread where it is.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_answer : uint32_t {
  CS_RING_ANSWER_WHOLE = 1,   // it wrote its stack
  CS_RING_ANSWER_NONE = 2,    // it did not answer in time
  CS_RING_ANSWER_BLOCKED = 3, // it could not: it blocks the signal, or waits for it
} cs_ring_answer;

// The progress of the thread sweep.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_sweep : uint32_t {
  CS_RING_SWEEP_NONE = 0,
  CS_RING_SWEEP_UNDER_WAY = 1,
  CS_RING_SWEEP_DONE = 2,
  CS_RING_SWEEP_BLIND = 3, // it is over, but could not list the threads
} cs_ring_sweep;

// The part of the shield that recorded an incident.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_incident_source : uint32_t {
  CS_RING_INCIDENT_QUARANTINE = 1, // a use-after-free of a quarantined object
  CS_RING_INCIDENT_GUARD = 2,      // a fault at a guard
  CS_RING_INCIDENT_PAGES = 3,      // an invalid access to a guard slot
  CS_RING_INCIDENT_CONTAINED = 4,  // contained work ended by a trap
} cs_ring_incident_source;

// The access kind of a use-after-free: cs_ring_incident.kind if the source is the quarantine.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_dangling : uint32_t {
  CS_RING_DANGLING_CALL = 1,         // a call of a virtual method
  CS_RING_DANGLING_ASYNC_CALL = 2,   // a call of a virtual async method
  CS_RING_DANGLING_OVER_RELEASE = 3, // a release without a reference
  CS_RING_DANGLING_DRIFT = 4,        // retained `amount` times more than released since
  CS_RING_DANGLING_WRITE = 5,        // a field was written
  CS_RING_DANGLING_HANDLE = 6,       // a handle of a C callback was resolved after its object was deallocated
  // At a crash a register has the address of an object that had left the quarantine. Mode CRASH; `amount` is the
  // record's sequence. No use by itself: the address may have been given to others since.
  CS_RING_DANGLING_FREED = 7,
  // At a crash a register has the address of an object in quarantine. The mode is the policy that it is kept under;
  // `amount` is the record's sequence. It stands for a use that no stub saw: a direct call, or an access to a field.
  CS_RING_DANGLING_HELD = 8,
} cs_ring_dangling;

// The invalid access to a guard slot: cs_ring_incident.kind if the source is the guard pages. `amount` is the offset
// from the start of the object.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_pages : uint32_t {
  CS_RING_PAGES_READ = 1,         // after it was freed
  CS_RING_PAGES_WRITE = 2,        // after it was freed
  CS_RING_PAGES_DOUBLE_FREE = 3,  // it was freed again
  CS_RING_PAGES_INVALID_FREE = 4, // an address within it, or where nothing was allocated, was freed
  CS_RING_PAGES_OVERFLOW = 5,     // an access past its end
  CS_RING_PAGES_UNDERFLOW = 6,    // an access before its begin
  CS_RING_PAGES_TRAMPLED = 7,     // found when it was freed: bytes beside it were written
} cs_ring_pages;

// How contained work ended: cs_ring_incident.kind where the source is that. The subject is what the Swift runtime said.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_contained : uint32_t {
  CS_RING_CONTAINED_TRAP = 1, // each has a key of its own: it is no other's second time
} cs_ring_contained;

// What is done about an incident. Not every part of the shield has every mode: the quarantine has ABSORB, ZERO and
// DIAGNOSE, guard pages have ABSORB and CRASH, guards OFF, OBSERVE and ABSORB. The numbers are the ring's; OFF leaves
// no incident there. A control message has other numbers: cs_control_guard.
typedef enum __attribute__((enum_extensibility(open))) cs_mode : uint32_t {
  CS_MODE_ABSORB = 0,   // the program goes on: with the object intact, or with the documented value
  CS_MODE_ZERO = 1,     // the deinit has run and the fields are empty; virtual calls return zero
  CS_MODE_DIAGNOSE = 2, // the deinit has run and the fields are a poison that carries the record's id
  CS_MODE_OBSERVE = 3,  // a record, then as without the shield
  CS_MODE_CRASH = 4,    // the process was to end by it: `method` is the faulting address of that crash
  CS_MODE_OFF = 5,      // as without the shield, and no record
} cs_mode;

// Bits of cs_ring_incident.flags.
#define CS_RING_INCIDENT_RECORD   1u // address, id, age and the free stack are known
#define CS_RING_INCIDENT_EXPLORER 2u // the object was one of those evicted at random
#define CS_RING_INCIDENT_EXACT    4u // use[0] is an instruction of its own, no return address
// A trap, never with RECORD: `detail.trap` holds, and `address` is the flags register.
#define CS_RING_INCIDENT_TRAP 8u

// What stands in the place of our handler of a signal.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_handler_state : uint32_t {
  CS_RING_HANDLER_OURS = 0,     // it stands, or has not been checked
  CS_RING_HANDLER_REPLACED = 1, // another handler
  CS_RING_HANDLER_DEFAULT = 2,  // the default action
  CS_RING_HANDLER_IGNORED = 3,
} cs_ring_handler_state;

#pragma clang diagnostic push
#pragma clang diagnostic error "-Wpadded"

// A crash signal, and who took it after the start, as far as we have looked. Each field is one atomic word.
typedef struct cs_ring_handler {
  uint64_t address; // of the handler that stands there, else 0
  int32_t signal;   // 0: the entry is not used
  uint32_t state;   // cs_ring_handler_state
} cs_ring_handler;

// What the last self-test of the guards found, under a sequence lock: odd while it is written, 0 when there was none.
// Bit N of a mask stands for the guards of kind N.
typedef struct cs_ring_self_test {
  uint64_t sequence;
  uint64_t time_ns; // CLOCK_REALTIME at its end
  uint64_t asked;
  uint64_t failing;
  uint32_t checks;   // that were asked
  uint32_t failures; // how many of them failed
} cs_ring_self_test;

// The first page. Written at start; `…_count` and `…_head` fields are touched by both sides through accessors.
typedef struct cs_ring_header {
  uint64_t magic;
  uint32_t version;
  uint32_t architecture;
  uint64_t total_bytes;
  uint8_t ring_id[16]; // random; the report's id derives from it
  int32_t pid;         // as the process sees itself, perhaps in a pid namespace
  uint32_t uid;
  uint64_t start_time_ns; // of the process, CLOCK_REALTIME
  uint32_t image_count;   // release: pairs with cs_ring_image_count_acquire()
  uint32_t image_total;   // exact, also when the table is full
  uint64_t slot_head;     // tickets ever drawn; a claim draws another when its slot is being written
  uint64_t slot_lost;     // crashes that found no free slot
  uint64_t record_minimal;
  uint64_t annotation_lost;
  uint64_t breadcrumb_head; // breadcrumbs ever left
  uint8_t name[CS_RING_NAME_LIMIT_BYTES];
  uint8_t executable[CS_RING_PATH_LIMIT_BYTES];
  uint64_t slot_overwritten; // committed records that gave their slot to later ones
  uint32_t thread_count;     // release: pairs with cs_ring_thread_count_acquire()
  uint32_t thread_total;     // threads that had not crashed, those that found no place included
  uint32_t sweep;            // cs_ring_sweep
  uint32_t survived;         // records of a lower sequence are of crashes that the process survived
  uint64_t sweep_ns;         // how long it took
  cs_ring_handler handlers[CS_RING_HANDLER_LIMIT];
  uint64_t heap_key;      // what glibc writes into a freed block (its tcache's key); 0 when not found out
  uint64_t heap_start;    // the first byte of the heap that grows by brk; 0 when not found out
  uint32_t memory_mode;   // cs_ring_memory_mode
  uint32_t is_restricted; // 1: the kernel would not dump the process for its user, so the report is root's
  uint64_t incident_lost; // occurrences that found no entry
  uint32_t class_count;   // release: pairs with cs_ring_class_count_acquire()
  uint32_t class_total;   // exact, also when the table is full
  cs_ring_self_test self_test;
  uint32_t announces_incidents; // 1: crashd is woken for incidents; 0: it has to look for them
  uint32_t swift_version;       // of the runtime: major << 16 | minor << 8 | patch; 0: no Swift, or not known
  uint32_t takes_last_crash;    // 1: the library understands CS_CONTROL_LAST_CRASH
  uint8_t reserved[3356];
} cs_ring_header;

// One loaded ELF image. link address = pc - bias.
typedef struct cs_ring_image {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  uint32_t flags;
  uint32_t build_id_bytes;
  uint8_t build_id[CS_RING_BUILD_ID_LIMIT_BYTES];
  uint8_t path[CS_RING_PATH_LIMIT_BYTES];
} cs_ring_image;

// A key and its value under a sequence lock: odd while it is written, 0 when never used. A removed one has no key.
typedef struct cs_ring_annotation {
  uint32_t sequence;
  uint16_t key_bytes;
  uint16_t value_bytes;
  uint8_t key[CS_RING_KEY_LIMIT_BYTES];
  uint8_t value[CS_RING_VALUE_LIMIT_BYTES];
} cs_ring_annotation;

// The level of a breadcrumb: those of swift-log.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_level : uint8_t {
  CS_RING_LEVEL_NONE = 0, // the program gave none
  CS_RING_LEVEL_TRACE = 1,
  CS_RING_LEVEL_DEBUG = 2,
  CS_RING_LEVEL_INFO = 3,
  CS_RING_LEVEL_NOTICE = 4,
  CS_RING_LEVEL_WARNING = 5,
  CS_RING_LEVEL_ERROR = 6,
  CS_RING_LEVEL_CRITICAL = 7,
} cs_ring_level;

// `sequence`: ticket + 1 of the breadcrumb that stands here, 0 while it is written. `text` holds the message, the
// category and the metadata one after the other; in the metadata each key and each value ends with a NUL. A length of 0
// means that there is none: so are breadcrumbs of libraries that know the message only.
typedef struct cs_ring_breadcrumb {
  uint64_t sequence;
  uint64_t time_ns;    // CLOCK_REALTIME
  uint32_t text_bytes; // of the message
  uint8_t level;       // cs_ring_level
  uint8_t category_bytes;
  uint16_t metadata_bytes;
  uint8_t text[CS_RING_BREADCRUMB_LIMIT_BYTES];
} cs_ring_breadcrumb;

// Registers by DWARF number: x86-64 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8–15 r8–r15 16 rip.
typedef struct cs_ring_registers {
  uint64_t general[CS_RING_REGISTER_LIMIT];
  uint64_t general_count;
  uint64_t flags;
  uint64_t error_code;    // x86-64: page fault error code
  uint64_t trap_number;   // x86-64: exception vector
  uint64_t fault_address; // x86-64: cr2
} cs_ring_registers;

typedef struct cs_ring_frame {
  uint64_t pc;
  uint64_t function_start; // from the FDE; 0 when unknown
  uint8_t trust;           // cs_ring_trust
  uint8_t flags;
  uint16_t image; // index into the image table, 0xffff when none
  uint32_t reserved;
} cs_ring_frame;

// The words around what a register points at.
typedef struct cs_ring_memory {
  uint64_t start;
  uint32_t bytes;
  uint32_t reserved;
  uint8_t contents[CS_RING_MEMORY_LIMIT_BYTES];
} cs_ring_memory;

// What a crash says, without its stack. Everything here is under the CRC.
typedef struct cs_ring_record {
  uint64_t sequence; // order of the claim; 0 crashed first
  uint64_t time_ns;  // CLOCK_REALTIME at handler entry
  uint64_t entry_ns; // CLOCK_MONOTONIC at handler entry
  uint64_t address;  // si_addr
  int32_t pid;       // as the process sees itself
  int32_t tid;
  int32_t signal;
  int32_t code;       // si_code
  int32_t sender_pid; // si_pid where si_code <= 0, else 0
  uint32_t sender_uid;
  int32_t system_call; // si_syscall of SIGSYS, else -1
  uint32_t flags;
  uint32_t frame_count;
  uint32_t frame_total; // depth that was walked, without async frames; more than are here for deep recursion
  uint32_t frame_head;  // frames[0 ..< frame_head] are the innermost, then the outermost, then the async frames
  uint32_t unwind_stop; // why the walk ended: cs_shim's cs_unwind_stop
  uint32_t instruction_bytes;
  uint32_t message_bytes;   // swift_getFatalErrorMessageBuffer
  uint32_t abort_bytes;     // glibc's __abort_msg
  uint32_t exception_bytes; // mangled type of the C++ exception being handled
  uint64_t stack_start;
  uint32_t stack_bytes;
  uint32_t reserved;
  cs_ring_registers registers;
  uint8_t thread_name[CS_RING_THREAD_NAME_LIMIT_BYTES];
  uint8_t instruction[CS_RING_INSTRUCTION_LIMIT_BYTES];
  uint8_t message[CS_RING_MESSAGE_LIMIT_BYTES];
  uint8_t abort_message[CS_RING_ABORT_LIMIT_BYTES];
  uint8_t exception[CS_RING_EXCEPTION_LIMIT_BYTES];
  uint32_t
      exception_text_bytes; // the message of a std::runtime_error or std::logic_error, and of what derives from one
  uint32_t task_name_bytes;
  uint32_t task_id;
  uint32_t task_priority; // Swift's TaskPriority.rawValue
  uint64_t heap_end;      // one past the heap that begins at header.heap_start
  uint32_t memory_count;
  uint32_t memory_reserved;
  uint8_t exception_text[CS_RING_EXCEPTION_TEXT_LIMIT_BYTES];
  uint8_t task_name[CS_RING_TASK_NAME_LIMIT_BYTES];
  cs_ring_memory memory[CS_RING_MEMORY_LIMIT]; // by address; none of the recorded stack
  cs_ring_frame frames[CS_RING_FRAME_LIMIT];
} cs_ring_record;

// One crashed thread. crc covers the record and the first record.stack_bytes of the stack.
typedef struct cs_ring_slot {
  uint64_t state;     // generation << 2 | CS_RING_STATE_…
  uint64_t commit_ns; // CLOCK_MONOTONIC at the commit; outside the CRC, for benchmarks only
  uint32_t crc;       // CRC-32C
  uint32_t reserved0;
  uint8_t reserved1[40];
  cs_ring_record record;
  uint8_t reserved2[CS_RING_RECORD_PADDING_BYTES];
  uint8_t stack[CS_RING_STACK_LIMIT_BYTES];
} cs_ring_slot;

// What a thread that did not crash says of itself. Everything here is under the CRC.
typedef struct cs_ring_thread_record {
  uint64_t blocked_signals; // its mask, where it did not answer; else 0
  int32_t tid;
  uint32_t answer; // cs_ring_answer
  uint8_t name[CS_RING_THREAD_NAME_LIMIT_BYTES];
  uint32_t frame_count; // as in cs_ring_record, these four
  uint32_t frame_total;
  uint32_t frame_head;
  uint32_t unwind_stop;
  uint32_t run_state; // R, S, D, …: the kernel's letter, where it did not answer; else 0
  uint32_t flags;     // CS_RING_RECORD_TASK
  uint32_t task_name_bytes;
  uint32_t task_id;
  uint32_t task_priority;
  uint32_t reserved;
  cs_ring_registers registers;
  uint8_t task_name[CS_RING_TASK_NAME_LIMIT_BYTES];
  cs_ring_frame frames[CS_RING_THREAD_FRAME_LIMIT];
} cs_ring_thread_record;

// One page, used in the order of the sweep.
typedef struct cs_ring_thread {
  uint64_t state; // header.survived at its sweep << 2 | CS_RING_STATE_…
  uint32_t crc;   // CRC-32C of the record
  uint32_t reserved0;
  cs_ring_thread_record record;
  uint8_t reserved1[32];
} cs_ring_thread;

// Where the object of a use was released last, and where it was allocated: return addresses, innermost first.
typedef struct cs_ring_object_stacks {
  uint64_t free[CS_RING_INCIDENT_FRAME_LIMIT];
  uint64_t origin[CS_RING_INCIDENT_FRAME_LIMIT];
} cs_ring_object_stacks;

// What a trap has, which has no object.
typedef struct cs_ring_trap {
  uint64_t registers[CS_RING_INCIDENT_FRAME_LIMIT]; // the general ones by DWARF number, as far as they go, without pc
  uint64_t frames[CS_RING_INCIDENT_FRAME_LIMIT];    // they go on where `use` ends
} cs_ring_trap;

typedef union cs_ring_incident_detail {
  cs_ring_object_stacks object;
  cs_ring_trap trap; // with CS_RING_INCIDENT_TRAP
} cs_ring_incident_detail;

// What happened in the same way is one entry: source, kind, subject and use stack are those of all `count`, the rest is
// of the first. Written once; `count` and `last_ns` are atomic words that go on.
typedef struct cs_ring_incident {
  uint64_t key;      // 0: never used
  uint64_t sequence; // 1 when the entry is whole
  uint64_t count;
  uint64_t first_ns; // CLOCK_REALTIME
  uint64_t last_ns;
  uint64_t address; // of the object
  uint64_t method;  // the code that a call was meant for, or the address of an access to a guard slot; 0: none
  uint64_t age_ns;  // between the last release and this use
  int64_t amount;
  uint32_t source; // cs_ring_incident_source
  uint32_t kind;   // of that source
  uint32_t mode;   // cs_mode
  uint32_t flags;
  uint32_t id;   // of the object's record; its poison carries it
  uint32_t word; // of the vtable
  int32_t use_tid;
  int32_t free_tid;
  uint32_t use_count;
  uint32_t free_count; // of detail.object.free or detail.trap.registers; 0: not known
  uint32_t subject_bytes;
  uint32_t origin_count;                        // of detail.object.origin or detail.trap.frames; 0: not known
  uint8_t subject[CS_RING_SUBJECT_LIMIT_BYTES]; // the class, or what the guard says
  // Return addresses, innermost first; of an async caller, which goes on at the begin of a function, that and 1.
  uint64_t use[CS_RING_INCIDENT_FRAME_LIMIT];
  cs_ring_incident_detail detail;
  int32_t origin_tid;
  uint32_t object_bytes; // how large it was; 0: not known
} cs_ring_incident;

// A class that is or was protected. The counters are atomic words.
typedef struct cs_ring_class {
  uint64_t admitted;
  uint64_t evicted; // each left a freed-object record
  uint64_t hits;
  uint64_t skipped_budget;
  uint64_t skipped_busy;
  uint64_t skipped_unowned;
  uint64_t skipped_isolated;
  uint32_t policy; // cs_mode
  uint32_t limit;
  uint32_t is_listed;
  uint32_t instance_bytes;
  uint32_t name_bytes;
  uint32_t reserved;
  uint8_t name[CS_RING_SUBJECT_LIMIT_BYTES];
  uint8_t reserved2[48];
} cs_ring_class;

typedef struct cs_ring {
  cs_ring_header header;
  cs_ring_image images[CS_RING_IMAGE_LIMIT];
  cs_ring_annotation annotations[CS_RING_ANNOTATION_LIMIT];
  cs_ring_breadcrumb breadcrumbs[CS_RING_BREADCRUMB_LIMIT];
  cs_ring_incident incidents[CS_RING_INCIDENT_LIMIT];
  cs_ring_class classes[CS_RING_CLASS_LIMIT];
  cs_ring_slot slots[CS_RING_SLOT_LIMIT];
  cs_ring_thread threads[CS_RING_THREAD_LIMIT];
} cs_ring;

#pragma clang diagnostic pop
#endif
