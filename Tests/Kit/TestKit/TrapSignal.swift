import Glibc

/// The signal of a Swift trap.
///
/// On x86-64, the trap instruction (`ud2`) is an illegal instruction. On AArch64, the trap instruction (`brk #1`) is a
/// breakpoint.
public var trapSignal: Int32 {
  #if arch(arm64)
    SIGTRAP
  #else
    SIGILL
  #endif
}
