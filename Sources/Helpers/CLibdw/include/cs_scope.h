// The scope at a code address: its variables that hold pointers, their locations, and the types of their targets.
//
// The description is text with one entry per line. Spaces separate the words of a line. The last word is a name, which
// may contain spaces. Registers have their DWARF numbers, types are numbered from 0, and "-" means no type with
// members.
//
// "V KIND REGISTER OFFSET TYPE NAME" is a variable. With KIND r its value is REGISTER + OFFSET. With KIND m its value
// is the word at that address.
//
// "T TYPE NAME" is a type. A Swift class has its linkage name. The members of the type follow.
//
// "F OFFSET SIZE KIND TYPE NAME" is a member. KIND p is a pointer to TYPE, v is a TYPE within this type, and - is
// neither. A member without a name is a base class or an anonymous union. Members of Swift classes have a SIZE of 0.
//
// "S SIZE" is the size of an instance of a Swift class. "U SIZE" is the size of an instance of a derived class. It is
// only given for the direct targets of variables.
//
// "B HEX" contains the code bytes before the address, at most CS_SCOPE_CODE_BYTES.
//
// "C SIZE NAME" is a Swift class that the code of the function names, with its linkage name and the size of an
// instance. "D SIZE" entries after it describe derived classes. These entries are requested separately.
#pragma once

#include "cs_libdw.h"

/// The maximum size of a description. Lines that do not fit are omitted.
#define CS_SCOPE_TEXT_BYTES (64u << 10)

/// The maximum number of code bytes before the address in a description, which cover a few instructions.
#define CS_SCOPE_CODE_BYTES 24

/// Describes the scope at the link address `pc`. Without debug information it describes only the code. Returns the
/// number of bytes written. `ret_text` must have room for CS_SCOPE_TEXT_BYTES.
size_t cs_scope_describe(struct cs_image *image, uint64_t pc, char *ret_text);

/// Describes the classes that the function at `pc` names. This requires symbols, but no debug information.
size_t cs_scope_describe_classes(struct cs_image *image, uint64_t pc, char *ret_text);
