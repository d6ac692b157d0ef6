// Defines CS_SUPPORTED on the platforms on which the shield works: Linux on x86-64 and AArch64 with glibc. On other
// platforms, the shield's libraries compile and have no effect, so that a server can be built and run. This file
// contains only preprocessor directives, because assembly files include it, too.
#ifndef CS_PLATFORM_H
#define CS_PLATFORM_H

// scripts/check/unsupported defines CRASHSHIELD_UNSUPPORTED to build the code for other platforms on this one. If the
// header <gnu/libc-version.h> exists, the libc is glibc, and not musl, the libc of Swift's static Linux SDK. The macro
// __GLIBC__ is not used, because assembly files cannot include the header that defines it.
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(CRASHSHIELD_UNSUPPORTED)
#if __has_include(<gnu/libc-version.h>)
#define CS_SUPPORTED 1
#endif
#endif

#ifndef CS_SUPPORTED
#define CS_SUPPORTED 0
#endif

// The error message of the shield's functions on an unsupported platform.
#define CS_UNSUPPORTED_TEXT "the shield works on Linux on x86-64 and AArch64 with glibc only"

#endif
