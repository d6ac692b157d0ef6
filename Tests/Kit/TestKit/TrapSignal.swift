import Glibc

/// The signal of a Swift trap.
///
/// The trap instruction of x86-64 (`ud2`) is an illegal instruction. The one of AArch64 (`brk #1`) is a breakpoint.
public var trapSignal: Int32 {
  #if arch(arm64)
    SIGTRAP
  #else
    SIGILL
  #endif
}
