import CShimRing
import CrashReport

/// What a guard does about a fault: `ShieldMode`'s names.
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

/// The modes that an operator wants of a program's guards; of other kinds the program's own word holds.
struct GuardWords: Codable, Sendable, Equatable {
  /// The modes of guards at call sites, by the kind's name.
  ///
  /// One that only a later crashd knows is kept, and not told.
  var modes: [String: String] = [:]
  /// Of protections that nobody asked for at the place.
  var implicitModes: [String: String] = [:]

  var isEmpty: Bool { modes.isEmpty && implicitModes.isEmpty }

  /// Nil: the program decides again.
  mutating func set(_ mode: GuardMode?, of kinds: some Sequence<String>, isImplicit: Bool) {
    for kind in kinds {
      if isImplicit { implicitModes[kind] = mode?.rawValue } else { modes[kind] = mode?.rawValue }
    }
  }

  /// What processes are told.
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
      // Names that another version has stored are nobody's here.
      guard let number = GuardKinds.number(of: kind), number < bytes.count, let mode = GuardMode(rawValue: mode)
      else { continue }
      unsafe bytes[number] = mode.word.rawValue
    }
  }
}
