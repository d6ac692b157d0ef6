import CShimRing
import CrashReport

/// The mode of a guard.
///
/// The cases have the names of `ShieldMode`.
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

/// The operator's overrides of guard modes for a program.
///
/// For kinds without an override, the program's own modes apply.
struct GuardWords: Codable, Sendable, Equatable {
  /// The modes of guards at call sites, by the name of the kind.
  ///
  /// A mode that only a later version of crashd defines stays stored, but is not sent to processes.
  var modes: [String: String] = [:]
  /// The modes of implicit protections, which no call in the source code requests.
  var implicitModes: [String: String] = [:]

  var isEmpty: Bool { modes.isEmpty && implicitModes.isEmpty }

  /// Sets the mode of the given kinds.
  ///
  /// With nil, the program's own modes apply again.
  mutating func set(_ mode: GuardMode?, of kinds: some Sequence<String>, isImplicit: Bool) {
    for kind in kinds {
      if isImplicit { implicitModes[kind] = mode?.rawValue } else { modes[kind] = mode?.rawValue }
    }
  }

  /// The message that sends the modes to processes.
  func message(round: UInt32) -> cs_control_guards {
    var message = cs_control_guards()
    message.round = round
    // The C arrays are tuples in Swift, and the pointers are used only within the closures.
    unsafe withUnsafeMutableBytes(of: &message.modes) { unsafe Self.fill($0, modes) }
    unsafe withUnsafeMutableBytes(of: &message.implicit_modes) { unsafe Self.fill($0, implicitModes) }
    return message
  }

  private static func fill(_ bytes: UnsafeMutableRawBufferPointer, _ modes: [String: String]) {
    for (kind, mode) in modes {
      // Skip names that another version of crashd has stored.
      guard let number = GuardKinds.number(of: kind), number < bytes.count, let mode = GuardMode(rawValue: mode)
      else { continue }
      unsafe bytes[number] = mode.word.rawValue
    }
  }
}
