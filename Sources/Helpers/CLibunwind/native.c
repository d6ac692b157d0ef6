// Unwinds a snapshot of this machine's architecture with libunwind.
#include "machine.h"
#include "memory.h"
#include <libunwind.h>
#include <string.h>

// PC is the DWARF number of the program counter. On AArch64, a function that calls no other function can have no frame,
// so its stack pointer equals that of its caller. LEAF is the number of unwind steps, from the first one on, that may
// leave the stack pointer unchanged.
#if defined(__aarch64__)
enum { PC = 32, LEAF = 1 };
#else
enum { PC = 16, LEAF = 0 };
#endif

// libunwind exports this function for debuggers, but no installed header declares it.
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t pc, unw_dyn_info_t *table,
                                              unw_proc_info_t *ret_info, int needs_info, void *argument);

// Limits libunwind's reads. libunwind does not limit its steps, and a forged table can be cyclic. Every step reads
// memory, so a limit of reads ends the loop. For comparison, unwinding a frame of a large server takes a few hundred
// reads.
enum { READ_LIMIT = 4 << 20 };

// The state of unwinding one thread: the snapshot, and the registers with which libunwind starts.
struct walk {
  const struct cs_snapshot *snapshot;
  uint64_t registers[CS_SNAPSHOT_REGISTER_LIMIT];
  uint32_t reads;
};

static int read_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int is_write, void *argument) {
  (void)space;
  struct walk *way = argument;
  if (is_write || way->reads == READ_LIMIT) return -UNW_EINVAL;
  way->reads++;
  return cs_snapshot_read_word(way->snapshot, address, value) ? 0 : -UNW_EINVAL;
}

static int read_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int is_write, void *argument) {
  (void)space;
  const struct walk *way = argument;
  if (is_write || number < 0 || number >= CS_SNAPSHOT_REGISTER_LIMIT) return -UNW_EBADREG;
  *value = way->registers[number];
  return 0;
}

static int find_procedure(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t *ret_info, int needs_info,
                          void *argument) {
  const struct walk *way = argument;
  const struct cs_snapshot_image *image = cs_snapshot_image_at(way->snapshot, pc);
  // The header has version 1, a count of four bytes (udata4), and a sorted table of pairs relative to the header
  // (datarel, sdata4). Every linker writes this format, and libunwind can search only this format.
  enum { COUNT_AT = 8, TABLE_AT = 12, ENTRY_BYTES = 8 };
  if (!image || image->header.count < TABLE_AT) return -UNW_ENOINFO;
  const uint8_t *header = image->header.bytes;
  if (header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b) return -UNW_ENOINFO;
  uint32_t count = 0;
  memcpy(&count, header + COUNT_AT, sizeof count);
  if (count == 0 || count > (image->header.count - TABLE_AT) / ENTRY_BYTES) return -UNW_ENOINFO;
  unw_dyn_info_t table = {.start_ip = image->start, .end_ip = image->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE};
  table.u.rti.segbase = image->header.address;
  table.u.rti.table_data = image->header.address + TABLE_AT;
  table.u.rti.table_len = (unw_word_t)count * ENTRY_BYTES / sizeof(unw_word_t);
  return UNW_OBJ(dwarf_search_unwind_table)(space, pc, &table, ret_info, needs_info, argument);
}

static void put_procedure(unw_addr_space_t space, unw_proc_info_t *info, void *argument) {
  (void)space;
  (void)info;
  (void)argument;
}

static int find_dynamic(unw_addr_space_t space, unw_word_t *ret_address, void *argument) {
  (void)space;
  (void)ret_address;
  (void)argument;
  return -UNW_ENOINFO;
}

static int access_float(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int is_write, void *argument) {
  (void)space;
  (void)number;
  (void)value;
  (void)is_write;
  (void)argument;
  return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument) {
  (void)space;
  (void)cursor;
  (void)argument;
  return -UNW_EINVAL;
}

static int find_name(unw_addr_space_t space, unw_word_t address, char *buffer, size_t size, unw_word_t *ret_offset,
                     void *argument) {
  (void)space;
  (void)address;
  (void)buffer;
  (void)size;
  (void)ret_offset;
  (void)argument;
  return -UNW_ENOINFO;
}

// Unwinds from the registers of `way`. The pc in these registers is `behind` bytes after the start of the instruction.
static enum cs_snapshot_stop climb(unw_addr_space_t space, struct walk *way, uint64_t behind, uint64_t found,
                                   struct cs_snapshot_frame *frames, size_t capacity, size_t *count) {
  // Subtract `behind`, because libunwind interprets the first pc as the address of the instruction, and only later pcs
  // as return addresses.
  way->registers[PC] -= behind;
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space, way) != 0) return CS_SNAPSHOT_STOP_NO_CALLER;
  unw_word_t last_sp = 0;
  for (uint32_t number = 0;; number++) {
    unw_word_t pc = 0;
    unw_word_t sp = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0)
      return CS_SNAPSHOT_STOP_NO_CALLER;
    if (pc == 0 && number > 0) return CS_SNAPSHOT_STOP_END;
    if (number > 0 && (sp < last_sp || (sp == last_sp && number > LEAF))) return CS_SNAPSHOT_STOP_LOOP;
    // For code without tables, libunwind accepts any saved frame pointer, so check that the pc is in an image.
    if (found == CS_SNAPSHOT_FOUND_FRAME_POINTER && !cs_snapshot_image_at(way->snapshot, pc - 1))
      return CS_SNAPSHOT_STOP_NO_CALLER;
    if (*count == capacity) return CS_SNAPSHOT_STOP_LIMIT;
    unw_proc_info_t info = {0};
    // For code without tables, libunwind reports a function of one byte.
    const bool has_tables =
        unw_get_proc_info(&cursor, &info) == 0 && !(info.start_ip == pc && info.end_ip == info.start_ip + 1);
    frames[(*count)++] = (struct cs_snapshot_frame){
        .pc = number == 0 ? pc + behind : pc, .function_start = has_tables ? info.start_ip : 0, .found = found};
    found = has_tables ? CS_SNAPSHOT_FOUND_CFI : CS_SNAPSHOT_FOUND_FRAME_POINTER;
    last_sp = sp;
    const int result = unw_step(&cursor);
    if (result == 0) return has_tables ? CS_SNAPSHOT_STOP_END : CS_SNAPSHOT_STOP_NO_CALLER;
    if (result < 0) return CS_SNAPSHOT_STOP_NO_CALLER;
  }
}

// The accessors are static, because libunwind keeps the pointer to them.
static unw_accessors_t accessors = {
    .find_proc_info = find_procedure,
    .put_unwind_info = put_procedure,
    .get_dyn_info_list_addr = find_dynamic,
    .access_mem = read_memory,
    .access_reg = read_register,
    .access_fpreg = access_float,
    .resume = resume,
    .get_proc_name = find_name,
};

enum cs_snapshot_stop cs_snapshot_unwind_native(const struct cs_snapshot *snapshot,
                                                const struct cs_snapshot_start *start, struct cs_snapshot_frame *frames,
                                                size_t capacity, size_t *count) {
  struct walk way = {.snapshot = snapshot};
  memcpy(way.registers, start->registers, sizeof way.registers);
  unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
  if (!space) return CS_SNAPSHOT_STOP_NO_CALLER;
  unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
  const enum cs_snapshot_stop stop = climb(space, &way, start->behind, start->found, frames, capacity, count);
  unw_destroy_addr_space(space);
  return stop;
}

void cs_snapshot_prepare_native(void) {
  // Create a cursor for an empty snapshot, because creating the first cursor initializes libunwind.
  const struct cs_snapshot nothing = {0};
  const struct cs_snapshot_start start = {0};
  struct cs_snapshot_frame frame;
  size_t count = 0;
  (void)cs_snapshot_unwind_native(&nothing, &start, &frame, 1, &count);
}
