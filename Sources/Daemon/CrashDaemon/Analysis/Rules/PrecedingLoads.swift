import CrashReport

/// The moves directly before an instruction, which load the registers that the instruction uses.
///
/// Decoding machine code backward can give a wrong result. Therefore, the caller must compare the result with the
/// recorded memory.
struct PrecedingLoads {
  private let code: [UInt8]
  private let registers: [UInt64]
  private let memory: MemoryWords
  private let architecture: Architecture

  /// `registers` and `memory` have the values after `code` ran.
  init(_ code: [UInt8], _ registers: [UInt64], _ memory: MemoryWords, _ architecture: Architecture) {
    (self.code, self.registers, self.memory, self.architecture) = (code, registers, memory, architecture)
  }

  /// Returns the end of the code before an instruction, from the last target of a jump on.
  ///
  /// All instructions of this part certainly ran, because no jump in these bytes leads into its middle. The function
  /// also searches for jumps in `following`, because a loop can jump back. The function cannot detect jumps from code
  /// outside these bytes.
  static func straight(_ before: [UInt8], following: [UInt8], for architecture: Architecture) -> [UInt8] {
    switch architecture {
    case .x86_64: PrecedingLoads_x86_64.straight(before, following: following)
    case .aarch64: PrecedingLoads_aarch64.straight(before, following: following)
    }
  }

  struct Move: Equatable {
    var destination: Int
    /// The source register of a move, or the base register of a load.
    var source: Int
    /// The displacement of the load; nil for a move between two registers.
    var displacement: UInt64?
  }

  /// Returns the pointer through which a register was loaded, and the address from which the register was loaded.
  ///
  /// Returns nil if the code does not contain the load.
  func origin(of register: Int) -> (pointer: UInt64, address: UInt64)? { origin(of: register, code[...], []) }

  /// `written` contains the registers that were changed between the end of `code` and the fault.
  private func origin(
    of register: Int, _ code: ArraySlice<UInt8>, _ written: Set<Int>
  ) -> (pointer: UInt64, address: UInt64)? {
    guard let (move, rest) = last(of: code) else { return nil }
    let later = written.union([move.destination])
    guard move.destination == register else { return origin(of: register, rest, later) }
    guard let displacement = move.displacement else { return origin(of: move.source, rest, later) }
    return value(of: move.source, rest, later).map { ($0, $0 &+ displacement) }
  }

  /// Returns the value that a register had directly after `code` ran.
  private func value(of register: Int, _ code: ArraySlice<UInt8>, _ written: Set<Int>) -> UInt64? {
    guard written.contains(register) else { return registers.indices.contains(register) ? registers[register] : nil }
    guard let (move, rest) = last(of: code) else { return nil }
    let later = written.union([move.destination])
    guard move.destination == register else { return value(of: register, rest, later) }
    let source = value(of: move.source, rest, later)
    guard let displacement = move.displacement else { return source }
    return source.flatMap { memory.word(at: $0 &+ displacement) }
  }

  /// Returns the move at the end of the code, and the code before this move.
  private func last(of code: ArraySlice<UInt8>) -> (move: Move, rest: ArraySlice<UInt8>)? {
    switch architecture {
    case .x86_64: PrecedingLoads_x86_64.last(of: code)
    case .aarch64: PrecedingLoads_aarch64.last(of: code)
    }
  }
}
