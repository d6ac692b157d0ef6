// Steps from DIE to DIE, through a tree that may be hostile.
//
// libdw reads all that is below a DIE to find the next one beside it. Walked naively, n DIEs inside each other cost n².
// Here the bytes that are read again are limited to a multiple of those that are read at all.
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/// The walks through one image, one after the other.
struct cs_steps {
  uint64_t read;   // bytes, in the walks before
  uint64_t again;  // bytes that were read again, in all walks
  Dwarf_Off start; // of this walk
  Dwarf_Off last;  // the farthest DIE that this walk has reached
  int depth;
  bool is_over; // this walk takes no more steps
};

/// Begins a walk below `root`.
void cs_steps_begin(struct cs_steps *steps, Dwarf_Die *root);

/// Steps to the first DIE below `parent`. 0: to `ret_die`; 1: there is none; -1: the tree is damaged, or costs too
/// much. After 0 the caller calls cs_steps_on() until that returns another number.
int cs_steps_down(struct cs_steps *steps, Dwarf_Die *parent, Dwarf_Die *ret_die);

/// Replaces `die` by the next one beside it; 1: it was the last. Precondition: the DIEs below `die` were walked.
int cs_steps_on(struct cs_steps *steps, Dwarf_Die *die);
