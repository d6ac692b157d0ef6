// Unwinds, with libdw, a snapshot whose architecture differs from that of this machine.
#include "image_elf.h"
#include "machine.h"
#include "memory.h"
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Limits the number of words that libdw reads from the stack, as READ_LIMIT in native.c does for libunwind's reads.
enum { READ_LIMIT = 4 << 20 };
// Limits the total size of the copies of unwind tables for one thread. A request stores the tables of a file once, but
// many images can refer to these tables. RLIMIT_CPU indirectly limits the tables that libdw itself builds.
static const size_t COPY_LIMIT = (size_t)256 << 20;
// The thread ID that this code passes to libdwfl for the only thread of the snapshot. libdwfl requires a number other
// than 0.
enum { THREAD = 1 };

/// The state of unwinding one thread.
struct climb {
  const struct cs_snapshot *snapshot;
  const struct cs_snapshot_machine *machine;
  const struct cs_snapshot_start *start;
  Dwfl *dwfl;
  struct cs_snapshot_frame *frames;
  size_t capacity;
  size_t *count;
  uint64_t last_sp;
  uint64_t last_pc;
  uint32_t reads;
  bool has_gap;    // a word was not in the copy of the stack
  uint32_t number; // the number of frames that libdwfl has reported
  enum cs_snapshot_stop stop;
};

/// A callback of libdwfl: returns the unwind tables of an image, as an ELF file in memory.
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file_name,
                    Elf **ret_elf) {
  (void)module;
  (void)name;
  (void)base;
  (void)file_name;
  struct cs_image_elf *file = *userdata;
  *ret_elf = file ? cs_image_elf_open(file) : NULL;
  return -1;
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                          const char *file_name, const char *link, GElf_Word crc, char **ret_name) {
  (void)module;
  (void)userdata;
  (void)name;
  (void)base;
  (void)file_name;
  (void)link;
  (void)crc;
  (void)ret_name;
  return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread_argument) {
  (void)dwfl;
  if (*thread_argument) return 0;
  *thread_argument = argument;
  return THREAD;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *argument) {
  (void)dwfl;
  struct climb *climb = argument;
  uint64_t word = 0;
  if (climb->reads == READ_LIMIT || !cs_snapshot_read_stack(climb->snapshot, address, &word)) {
    climb->has_gap = true;
    return false;
  }
  climb->reads++;
  *ret_word = cs_snapshot_code(climb->snapshot, word);
  return true;
}

static bool set_registers(Dwfl_Thread *thread, void *argument) {
  const struct climb *climb = argument;
  Dwarf_Word registers[CS_SNAPSHOT_REGISTER_LIMIT];
  // Removes the pointer authentication codes of return addresses (AArch64). A register can contain a return address
  // that the function has signed but not yet stored on the stack.
  for (unsigned i = 0; i < climb->machine->pc; i++)
    registers[i] = cs_snapshot_code(climb->snapshot, climb->start->registers[i]);
  // Subtract `behind` (the distance from the start of the instruction to pc), because libdwfl interprets the first pc
  // as the address of the instruction.
  dwfl_thread_state_register_pc(thread, climb->start->registers[climb->machine->pc] - climb->start->behind);
  return dwfl_thread_state_registers(thread, 0, climb->machine->pc, registers);
}

/// Returns whether the unwind tables describe the function that contains `pc`.
static bool has_tables(Dwfl *dwfl, uint64_t pc) {
  Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
  Dwarf_Addr bias = 0;
  Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
  Dwarf_Frame *frame = NULL;
  if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame) != 0) return false;
  free(frame);
  return true;
}

static int stop(struct climb *climb, enum cs_snapshot_stop reason) {
  climb->stop = reason;
  return DWARF_CB_ABORT;
}

static int add_frame(Dwfl_Frame *state, void *argument) {
  struct climb *climb = argument;
  Dwarf_Addr pc = 0;
  Dwarf_Word sp = 0;
  bool is_exact = false;
  if (!dwfl_frame_pc(state, &pc, &is_exact) || dwfl_frame_reg(state, climb->machine->sp, &sp) != 0)
    return stop(climb, CS_SNAPSHOT_STOP_NO_CALLER);
  const uint32_t number = climb->number++;
  uint64_t found = climb->start->found;
  if (number > 0) {
    if (pc == 0) return stop(climb, CS_SNAPSHOT_STOP_END);
    if (sp < climb->last_sp || (sp == climb->last_sp && number > climb->machine->leaf))
      return stop(climb, CS_SNAPSHOT_STOP_LOOP);
    found = has_tables(climb->dwfl, climb->last_pc) ? CS_SNAPSHOT_FOUND_CFI : CS_SNAPSHOT_FOUND_FRAME_POINTER;
    if (found != CS_SNAPSHOT_FOUND_CFI && !cs_snapshot_image_at(climb->snapshot, pc - 1))
      return stop(climb, CS_SNAPSHOT_STOP_NO_CALLER);
  }
  if (*climb->count == climb->capacity) return stop(climb, CS_SNAPSHOT_STOP_LIMIT);
  climb->frames[(*climb->count)++] =
      (struct cs_snapshot_frame){.pc = number == 0 ? pc + climb->start->behind : pc, .found = found};
  climb->last_sp = sp;
  climb->last_pc = is_exact ? pc : pc - 1;
  return DWARF_CB_OK;
}

static bool report_images(Dwfl *dwfl, const struct cs_snapshot *snapshot, const struct cs_snapshot_machine *machine,
                          struct cs_image_elf *files, size_t *room) {
  dwfl_report_begin(dwfl);
  for (size_t i = 0; i < snapshot->image_count; i++) {
    const struct cs_snapshot_image *image = &snapshot->images[i];
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", i);
    files[i] = (struct cs_image_elf){.image = image, .machine = machine->elf_machine, .room = room};
    Dwfl_Module *module = dwfl_report_module(dwfl, name, image->start, image->end);
    void **userdata = NULL;
    if (module && dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL) && userdata)
      *userdata = &files[i];
  }
  return dwfl_report_end(dwfl, NULL, NULL) == 0;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = find_debuginfo};
static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread, .memory_read = read_memory, .set_initial_registers = set_registers};

enum cs_snapshot_stop cs_snapshot_unwind_foreign(const struct cs_snapshot *snapshot,
                                                 const struct cs_snapshot_start *start,
                                                 struct cs_snapshot_frame *frames, size_t capacity, size_t *count) {
  const struct cs_snapshot_machine *machine = cs_snapshot_machine_of(snapshot->architecture);
  struct climb climb = {.snapshot = snapshot,
                        .machine = machine,
                        .start = start,
                        .frames = frames,
                        .capacity = capacity,
                        .count = count,
                        .stop = CS_SNAPSHOT_STOP_NO_CALLER};
  (void)elf_version(EV_CURRENT);
  struct cs_image_elf *files = calloc(snapshot->image_count + 1, sizeof *files);
  size_t room = COPY_LIMIT;
  struct cs_image_elf empty = {.machine = machine->elf_machine, .room = &room};
  Elf *elf = cs_image_elf_open(&empty);
  climb.dwfl = files && elf ? dwfl_begin(&callbacks) : NULL;
  if (climb.dwfl && report_images(climb.dwfl, snapshot, machine, files, &room) &&
      dwfl_attach_state(climb.dwfl, elf, THREAD, &thread_callbacks, &climb)) {
    const int result = dwfl_getthread_frames(climb.dwfl, THREAD, add_frame, &climb);
    // libdwfl returns the same result in two cases: at the outermost frame, and if a return address is missing in the
    // copy of the stack.
    if (result == 0) climb.stop = climb.has_gap ? CS_SNAPSHOT_STOP_NO_CALLER : CS_SNAPSHOT_STOP_END;
  }
  if (climb.dwfl) dwfl_end(climb.dwfl);
  if (elf) elf_end(elf);
  free(empty.bytes);
  for (size_t i = 0; files && i < snapshot->image_count; i++)
    free(files[i].bytes);
  free(files);
  return climb.stop;
}
