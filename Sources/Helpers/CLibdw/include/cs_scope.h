// What a place in the code can see: its variables that hold pointers, where they are, and what they point at.
//
// The description is text, a line an entry, its words separated by spaces, a name last, which may hold more of them.
// Registers have their DWARF numbers, types count from 0, "-" is no type with members.
//
// "V KIND REGISTER OFFSET TYPE NAME", a variable: KIND r, its value is REGISTER + OFFSET; m, it is the word there.
//
// "T TYPE NAME", a type, a Swift class with its linkage name; the members that follow are its.
//
// "F OFFSET SIZE KIND TYPE NAME", a member: KIND p, a pointer to TYPE; v, a TYPE within this one; -, neither. One
// without a name is a base class or an anonymous union; those of Swift classes have a SIZE of 0.
//
// "S SIZE", how large an instance of a Swift class is. "U SIZE", the same of a class that is derived from it, for what
// variables point at themselves.
//
// "B HEX", the bytes of code in front of the place, CS_SCOPE_CODE_BYTES of them at most.
//
// "C SIZE NAME", a Swift class that the code of the function names, with its linkage name, and how large its instances
// are; the "D SIZE" behind it are of classes that are derived from it. These are asked for by themselves.
#pragma once

#include "cs_libdw.h"

/// What fits into a description; what does not is left out, whole lines at a time.
#define CS_SCOPE_TEXT_BYTES (64u << 10)

/// How much of the code in front of a place a description has: a few instructions.
#define CS_SCOPE_CODE_BYTES 24

/// Describes the place at the link address `pc`: nothing but its code when there is no debug information about it.
/// Returns how many bytes were written; `ret_text` has room for CS_SCOPE_TEXT_BYTES.
size_t cs_scope_describe(struct cs_image *image, uint64_t pc, char *ret_text);

/// Tells the classes that the function there names; needs symbols, and no debug information.
size_t cs_scope_describe_classes(struct cs_image *image, uint64_t pc, char *ret_text);
