/// A processor architecture whose crashes crashd reports.
///
/// The raw value is the name that `uname -m` prints, and the value of the field `process.architecture` of a report.
public enum Architecture: String, Sendable, CaseIterable {
  case x86_64
  case aarch64
}

extension CrashReport {
  /// The architecture of the process's processor.
  ///
  /// The report of an older crashd version does not contain the architecture, because such a version reported only
  /// x86-64. A newer version can report an architecture that this version does not know.
  var architecture: Architecture? {
    guard let name = process.architecture else { return .x86_64 }
    return Architecture(rawValue: name)
  }
}

// Describes the registers, which are numbered as in DWARF.
extension Architecture {
  private static let registerNames_x86_64 = [
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    "rip",
  ]
  private static let registerNames_aarch64 = (0...30).map { "x\($0)" } + ["sp", "pc"]

  /// The names of the registers; the program counter is the last one.
  public var registerNames: [String] {
    switch self {
    case .x86_64: Self.registerNames_x86_64
    case .aarch64: Self.registerNames_aarch64
    }
  }

  /// Returns the name of the register with a DWARF number.
  public func registerName(_ number: Int) -> String {
    registerNames.indices.contains(number) ? registerNames[number] : "register \(number)"
  }

  /// The name of the register with the condition flags.
  public var flagsName: String {
    switch self {
    case .x86_64: "rflags"
    case .aarch64: "pstate"
    }
  }

  /// The number of registers that a record contains, including the program counter.
  public var registerCount: Int { registerNames.count }

  /// The number of the program counter; it equals the number of registers before the program counter.
  public var programCounter: Int { registerCount - 1 }

  /// The number of the stack pointer.
  public var stackPointer: Int {
    switch self {
    case .x86_64: 7
    case .aarch64: 31
    }
  }

  /// The number of the register in which Swift passes `self` to a method.
  public var swiftSelf: Int {
    switch self {
    case .x86_64: 13
    case .aarch64: 20
    }
  }
}

// Describes the addresses of an architecture.
extension Architecture {
  /// The number of bits of a user-space address.
  public var addressBits: UInt64 {
    switch self {
    case .x86_64: 47
    case .aarch64: 48
    }
  }

  /// Whether a number can be the value of a pointer.
  ///
  /// A kernel address can be the value of a pointer, too.
  public func isCanonical(_ value: UInt64) -> Bool {
    let high = untagged(value) >> addressBits
    return high == 0 || high == UInt64.max >> addressBits
  }

  /// Returns the address that the processor uses if a pointer has the given value.
  ///
  /// AArch64 ignores the top byte of a pointer, and uses bit 55 in place of each bit of this byte.
  public func untagged(_ value: UInt64) -> UInt64 {
    switch self {
    case .x86_64: value
    case .aarch64: UInt64(bitPattern: Int64(bitPattern: value << 8) >> 8)
    }
  }

  /// Returns a code address without its pointer authentication code.
  ///
  /// AArch64 stores the pointer authentication code of a return address in the bits that no user-space address uses.
  public func unsigned(_ value: UInt64) -> UInt64 {
    switch self {
    case .x86_64: value
    case .aarch64: value >> 55 & 1 == 0 ? value & (1 << addressBits - 1) : value
    }
  }
}
