#include "steps.h"

#define CS_STEPS_DEPTH_LIMIT 200
// swiftc's and clang's trees are read 1.5 to 3 times again, single units up to 17 times.
#define CS_STEPS_AGAIN_LIMIT 24
#define CS_STEPS_AGAIN_BYTES 262144 // always allowed

void cs_steps_begin(struct cs_steps *steps, Dwarf_Die *root) {
  steps->read += steps->last - steps->start;
  steps->start = steps->last = dwarf_dieoffset(root);
  steps->depth = 0;
  steps->is_over = false;
}

static int stop(struct cs_steps *steps) {
  steps->is_over = true;
  return -1;
}

int cs_steps_down(struct cs_steps *steps, Dwarf_Die *parent, Dwarf_Die *ret_die) {
  if (steps->is_over || steps->depth >= CS_STEPS_DEPTH_LIMIT) return stop(steps);
  const int status = dwarf_child(parent, ret_die);
  if (status != 0) return status;
  steps->depth++;
  const Dwarf_Off offset = dwarf_dieoffset(ret_die);
  if (offset > steps->last) steps->last = offset;
  return 0;
}

static bool costs_too_much(const struct cs_steps *steps) {
  const uint64_t read = steps->read + (steps->last - steps->start);
  return steps->again > CS_STEPS_AGAIN_LIMIT * read + CS_STEPS_AGAIN_BYTES;
}

int cs_steps_on(struct cs_steps *steps, Dwarf_Die *die) {
  const Dwarf_Off offset = dwarf_dieoffset(die);
  if (steps->last > offset) steps->again += steps->last - offset;
  if (steps->is_over || costs_too_much(steps)) return stop(steps);
  const int status = dwarf_siblingof(die, die);
  if (status != 0) {
    steps->depth--;
    return status;
  }
  // DW_AT_sibling of a damaged file may lead back.
  const Dwarf_Off next = dwarf_dieoffset(die);
  if (next <= offset) return stop(steps);
  if (next > steps->last) steps->last = next;
  return 0;
}
