// The scope at a code address: its variables that hold pointers, their locations, and the types of their targets.
//
// The description is text, one entry per line, its words separated by spaces. The last word is a name, which may
// contain spaces. Registers have their DWARF numbers, types count from 0, "-" means no type with members.
//
// "V KIND REGISTER OFFSET TYPE NAME", a variable: KIND r, its value is REGISTER + OFFSET; m, it is the word at that
// address.
//
// "T TYPE NAME", a type, a Swift class with its linkage name; its members follow.
//
// "F OFFSET SIZE KIND TYPE NAME", a member: KIND p, a pointer to TYPE; v, a TYPE within this one; -, neither. One
// without a name is a base class or an anonymous union; those of Swift classes have a SIZE of 0.
//
// "S SIZE", the size of an instance of a Swift class. "U SIZE", the same for a derived class, for the direct targets of
// variables.
//
// "B HEX", the bytes of code before the address, CS_SCOPE_CODE_BYTES of them at most.
//
// "C SIZE NAME", a Swift class that the code of the function names, with its linkage name and the size of an instance.
// The following "D SIZE" are of derived classes. These entries are requested separately.
#pragma once

#include "cs_libdw.h"

/// The limit of a description; whole lines beyond it are omitted.
#define CS_SCOPE_TEXT_BYTES (64u << 10)

/// The amount of code before the address in a description: a few instructions.
#define CS_SCOPE_CODE_BYTES 24

/// Describes the scope at the link address `pc`: only its code when it has no debug information. Returns the number of
/// bytes written; `ret_text` has room for CS_SCOPE_TEXT_BYTES.
size_t cs_scope_describe(struct cs_image *image, uint64_t pc, char *ret_text);

/// Describes the classes that the function there names; needs symbols, and no debug information.
size_t cs_scope_describe_classes(struct cs_image *image, uint64_t pc, char *ret_text);
