/// The conventional order of the processor's registers.
enum RegisterOrder {
  private static let known = [
    "rip", "rsp", "rbp", "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "rflags",
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
