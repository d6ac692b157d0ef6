// The scope at a code address: its variables that hold pointers, their locations, and the types of their targets.
//
// The description has one entry per line. Spaces separate the fields of a line. The last field is a name, which can
// contain spaces. Registers have their DWARF numbers, types are numbered from 0, and "-" as TYPE means that the type
// has no members.
//
// "V KIND REGISTER OFFSET TYPE NAME" is a variable. With KIND r, the value of the variable is REGISTER + OFFSET. With
// KIND m, the value of the variable is the word at the address REGISTER + OFFSET.
//
// "T TYPE NAME" is a type. For a Swift class, NAME is its linkage name. The members of the type follow.
//
// "F OFFSET SIZE KIND TYPE NAME" is a member. With KIND p, the member is a pointer to TYPE. With KIND v, the member is
// a value of TYPE. With KIND -, the member has any other type. A member without a name is a base class or an anonymous
// union. Members of Swift classes have a SIZE of 0.
//
// "S SIZE" is the size of an instance of a Swift class. "U SIZE" is the size of an instance of a derived class. Sizes
// of derived classes are given only for classes to which variables refer directly.
//
// "B HEX" contains the code bytes before the address, at most CS_SCOPE_CODE_BYTES.
//
// "C SIZE NAME" is a Swift class to which the function refers. NAME is the linkage name of the class, and SIZE the size
// of an instance. "D SIZE" entries after a C entry are the instance sizes of derived classes. C and D entries are in
// the separate description that cs_scope_describe_classes() writes.
#pragma once

#include "cs_libdw.h"

/// The maximum size of a description. Lines that do not fit are omitted.
#define CS_SCOPE_TEXT_BYTES (64u << 10)

/// The maximum number of code bytes before the address in a description, which is enough for a few instructions.
#define CS_SCOPE_CODE_BYTES 24

/// Describes the scope at the link address `pc`. If the image does not have debug information, the description contains
/// only the code bytes. Returns the number of bytes written. The buffer `ret_text` must have room for
/// CS_SCOPE_TEXT_BYTES.
size_t cs_scope_describe(struct cs_image *image, uint64_t pc, char *ret_text);

/// Describes the Swift classes to which the function at `pc` refers, as C and D entries. The description requires
/// symbols, but no debug information.
size_t cs_scope_describe_classes(struct cs_image *image, uint64_t pc, char *ret_text);
