/// The conventional order of the processor's registers, for both architectures.
enum RegisterOrder {
  private static let known = [
    "rip", "rsp", "rbp", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "rflags",
    // The registers of AArch64. The names of the two architectures differ, so one list orders the registers of both.
    "pc", "sp", "x29", "x30", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
    "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "pstate",
    "esr", "far",
  ]

  /// Sorts the names of registers.
  ///
  /// Known registers come first in their conventional order, and other names follow alphabetically.
  static func sorted(_ names: some Collection<String>) -> [String] {
    let rest = names.filter { !known.contains($0) }.sorted()
    return known.filter { names.contains($0) } + rest
  }
}

extension IncidentReport {
  /// The names of `registers` in their conventional order.
  public var registerNames: [String] { RegisterOrder.sorted((registers ?? [:]).keys) }
}
