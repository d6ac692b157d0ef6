import CShimRing
import CrashReport

/// What a guard does about a fault, by the names of `ShieldMode`.
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

/// The operator's guard modes for a program.
///
/// For other kinds the program's own modes hold.
struct GuardWords: Codable, Sendable, Equatable {
  /// The modes of guards at call sites, by the kind's name.
  ///
  /// A mode that only a later crashd knows is stored, but not sent.
  var modes: [String: String] = [:]
  /// Modes of implicit protections, which the source code does not ask for.
  var implicitModes: [String: String] = [:]

  var isEmpty: Bool { modes.isEmpty && implicitModes.isEmpty }

  /// Sets the mode of kinds.
  ///
  /// Nil: the program decides again.
  mutating func set(_ mode: GuardMode?, of kinds: some Sequence<String>, isImplicit: Bool) {
    for kind in kinds {
      if isImplicit { implicitModes[kind] = mode?.rawValue } else { modes[kind] = mode?.rawValue }
    }
  }

  /// The message to processes.
  func message(round: UInt32) -> cs_control_guards {
    var message = cs_control_guards()
    message.round = round
    // C arrays are tuples in Swift.
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
