// Where the shield works: Linux on x86-64 with glibc. Elsewhere its libraries compile and do nothing, so that a server
// builds and runs. Only directives: assembler sources include it, too.
#ifndef CS_PLATFORM_H
#define CS_PLATFORM_H

// CRASHSHIELD_UNSUPPORTED is for scripts/check/unsupported, which builds that on this platform. The header tells glibc
// from musl, the libc of Swift's static Linux SDK: __GLIBC__ needs one that is more than directives.
#if defined(__linux__) && defined(__x86_64__) && !defined(CRASHSHIELD_UNSUPPORTED)
#if __has_include(<gnu/libc-version.h>)
#define CS_SUPPORTED 1
#endif
#endif

#ifndef CS_SUPPORTED
#define CS_SUPPORTED 0
#endif

// Why nothing works here.
#define CS_UNSUPPORTED_TEXT "the shield works on Linux on x86-64 with glibc only"

#endif
