import CShimRing
import CrashReport

/// The mode of a guard; the cases have the same names as in `ShieldMode`.
enum GuardMode: String, Sendable, Codable, CaseIterable {
  case off
  case observe
  case absorb

  var word: cs_control_guard {
    switch self {
    case .off: .CS_CONTROL_GUARD_OFF
    case .observe: .CS_CONTROL_GUARD_OBSERVE
    case .absorb: .CS_CONTROL_GUARD_ABSORB
    }
  }
}

/// The operator's overrides of the guard modes for one program; a guard is an operation with a fallback value.
///
/// For a kind of guard without an override, the program's own mode applies.
struct GuardWords: Codable, Sendable, Equatable {
  /// The modes of guards at call sites, by the name of the guard's kind.
  ///
  /// Another version of crashd could have stored a kind or a mode that this version does not support. crashd keeps such
  /// an entry, but does not send it to processes.
  var modes: [String: String] = [:]
  /// The modes of implicit guards, by the name of the guard's kind.
  ///
  /// An implicit guard works without a call in the program's source code.
  var implicitModes: [String: String] = [:]

  var isEmpty: Bool { modes.isEmpty && implicitModes.isEmpty }

  /// Sets the mode of the given kinds of guards.
  ///
  /// If the mode is nil, the program's own modes apply again.
  mutating func set(_ mode: GuardMode?, of kinds: some Sequence<String>, isImplicit: Bool) {
    for kind in kinds {
      if isImplicit { implicitModes[kind] = mode?.rawValue } else { modes[kind] = mode?.rawValue }
    }
  }

  /// Returns the message that sends the modes to processes.
  func message(round: UInt32) -> cs_control_guards {
    var message = cs_control_guards()
    message.round = round
    // Swift imports the C arrays as tuples. The pointers to the arrays are used only inside the closures.
    unsafe withUnsafeMutableBytes(of: &message.modes) { unsafe Self.fill($0, modes) }
    unsafe withUnsafeMutableBytes(of: &message.implicit_modes) { unsafe Self.fill($0, implicitModes) }
    return message
  }

  private static func fill(_ bytes: UnsafeMutableRawBufferPointer, _ modes: [String: String]) {
    for (kind, mode) in modes {
      // Skip kinds and modes that this version of crashd does not support; another version has stored them.
      guard let number = GuardKinds.number(of: kind), number < bytes.count, let mode = GuardMode(rawValue: mode)
      else { continue }
      unsafe bytes[number] = mode.word.rawValue
    }
  }
}
