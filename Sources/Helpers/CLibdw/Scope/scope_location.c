// Finds the location of a variable at one code address.
#include "scope.h"
#include <dwarf.h>
#include <stdlib.h>

static bool register_of(const Dwarf_Op *op, uint32_t *ret_number) {
  if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
    *ret_number = (uint32_t)(op->atom - DW_OP_reg0);
    return true;
  }
  *ret_number = (uint32_t)op->number;
  return op->atom == DW_OP_regx;
}

static bool base_of(const Dwarf_Op *op, uint32_t *ret_number, int64_t *ret_offset) {
  if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
    *ret_number = (uint32_t)(op->atom - DW_OP_breg0);
    *ret_offset = (int64_t)op->number;
    return true;
  }
  *ret_number = (uint32_t)op->number;
  *ret_offset = (int64_t)op->number2;
  return op->atom == DW_OP_bregx;
}

/// Finds the canonical frame address, if it is a register plus an offset.
static bool frame_address(const struct cs_scope *scope, uint32_t *ret_number, int64_t *ret_offset) {
  Dwarf_Frame *frame = NULL;
  if (!scope->frames || dwarf_cfi_addrframe(scope->frames, scope->pc, &frame) != 0) return false;
  Dwarf_Op *ops;
  size_t count;
  const bool good = dwarf_frame_cfa(frame, &ops, &count) == 0 && count == 1 && base_of(&ops[0], ret_number, ret_offset);
  free(frame);
  return good;
}

/// Finds the frame base, to which DW_OP_fbreg refers.
static bool frame_base(const struct cs_scope *scope, Dwarf_Die *function, uint32_t *ret_number, int64_t *ret_offset) {
  Dwarf_Attribute memory;
  Dwarf_Attribute *attribute = dwarf_attr_integrate(function, DW_AT_frame_base, &memory);
  Dwarf_Op *ops;
  size_t count;
  if (!attribute || dwarf_getlocation_addr(attribute, scope->pc, &ops, &count, 1) != 1 || count != 1) return false;
  *ret_offset = 0;
  if (ops[0].atom == DW_OP_call_frame_cfa) return frame_address(scope, ret_number, ret_offset);
  return register_of(&ops[0], ret_number) || base_of(&ops[0], ret_number, ret_offset);
}

bool cs_scope_locate(const struct cs_scope *scope, Dwarf_Die *variable, Dwarf_Die *function,
                     struct cs_scope_location *ret_location) {
  Dwarf_Attribute memory;
  Dwarf_Attribute *attribute = dwarf_attr_integrate(variable, DW_AT_location, &memory);
  Dwarf_Op *ops;
  size_t count;
  if (!attribute || dwarf_getlocation_addr(attribute, scope->pc, &ops, &count, 1) != 1 || count == 0) return false;
  struct cs_scope_location location = {.offset = 0};
  if (register_of(&ops[0], &location.number)) {
    if (count != 1) return false;
  } else {
    if (ops[0].atom == DW_OP_fbreg) {
      if (!frame_base(scope, function, &location.number, &location.offset)) return false;
      location.offset = (int64_t)((uint64_t)location.offset + ops[0].number);
    } else if (!base_of(&ops[0], &location.number, &location.offset)) {
      return false;
    }
    location.is_memory = count == 1;
    if (count > 1 && (count != 2 || ops[1].atom != DW_OP_stack_value)) return false;
  }
  *ret_location = location;
  return true;
}
