// The platforms on which the shield works: Linux on x86-64 with glibc. On other platforms its libraries compile and
// have no effect, so that a server builds and runs. This file has only directives, because assembler sources also
// include it.
#ifndef CS_PLATFORM_H
#define CS_PLATFORM_H

// scripts/check/unsupported defines CRASHSHIELD_UNSUPPORTED to build the code for other platforms on this one. The
// header <gnu/libc-version.h> distinguishes glibc from musl, the libc of Swift's static Linux SDK. __GLIBC__ would need
// a header that has more than directives.
#if defined(__linux__) && defined(__x86_64__) && !defined(CRASHSHIELD_UNSUPPORTED)
#if __has_include(<gnu/libc-version.h>)
#define CS_SUPPORTED 1
#endif
#endif

#ifndef CS_SUPPORTED
#define CS_SUPPORTED 0
#endif

// The error text on an unsupported platform.
#define CS_UNSUPPORTED_TEXT "the shield works on Linux on x86-64 with glibc only"

#endif
