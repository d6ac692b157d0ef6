internal import CShim
internal import CShimGuards

/// The modes that an operator has set by way of crashd: stronger than what the program says, until another round of
/// crashd's messages does not name them.
struct RemoteModes: Sendable {
  private var control: cs_shim_control

  /// `CShim/Handler/Setup/Attach/control.c` has checked every byte.
  init(_ control: cs_shim_control) { self.control = control }

  /// Puts them into force.
  /// - Returns: How many kinds they are about.
  func apply() -> Int {
    let implicitModes = control.implicit_guard_modes
    // C arrays are tuples in Swift; both have a byte for each kind.
    return unsafe withUnsafeBytes(of: control.guard_modes) { modes in
      unsafe withUnsafeBytes(of: implicitModes) { implicitModes in
        unsafe Int(
          cs_guard_set_operator_modes(
            modes.bindMemory(to: UInt8.self).baseAddress, implicitModes.bindMemory(to: UInt8.self).baseAddress,
            control.round))
      }
    }
  }

  /// Takes back what was set in other rounds.
  static func sweep(round: UInt32) { cs_guard_sweep(round) }
}
