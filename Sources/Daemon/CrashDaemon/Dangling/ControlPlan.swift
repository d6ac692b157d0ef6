import CShimRing

/// The policy that crashd sends to a process: the classes whose objects are quarantined, and the modes of the guards.
struct ControlPlan: Sendable, Equatable {
  /// The quarantine policy for one class or for all classes.
  struct Word: Sendable, Equatable {
    /// The name of the class; nil for all classes that the program defines.
    var name: String?
    /// Whether the class must not be protected.
    var isRelease = false
    /// Whether the entry is an override of the operator.
    var isOperator = false
    var policy = DanglingMode.zero
    var limit = ControlPlan.standardLimit
  }

  static let standardLimit = 50
  /// The maximum number of entries in `words`, which is the number of entries that a process can store.
  static let wordLimit = 512
  static let nameLimitBytes = Int(CS_CONTROL_NAME_LIMIT_BYTES)

  /// The memory budget of the quarantine; nil if the plan does not change the quarantine.
  var budgetBytes: UInt64?
  /// Whether the budget is an override of the operator and not a result of the statistics.
  var isOperator = false
  /// Whether no class is protected, even if the program or another part of the plan requests it.
  var isOff = false
  var words: [Word] = []
  var guards = GuardWords()

  /// A message of a round (the messages of one plan), with the name of the class to which the message applies.
  typealias Message = (subject: String, kind: cs_control_kind, payload: [UInt8])

  /// Returns the messages that send a plan to a process.
  ///
  /// The last message, the sweep, ends the round: the process drops the settings of earlier rounds. Without a plan, the
  /// sweep is the only message.
  static func messages(of plan: ControlPlan?, round: UInt32) -> [Message] {
    guard let plan else { return [("", .CS_CONTROL_SWEEP, sweep(round))] }
    let guards: [Message] =
      plan.guards.isEmpty ? [] : [("", .CS_CONTROL_GUARDS, bytes(of: plan.guards.message(round: round)))]
    // Send the guard modes first, directly after the reply to the hello (the first message of the process). The
    // messages that directly follow the reply take effect before the library reports to the program that it is
    // attached.
    return guards + protection(plan, round: round) + [("", .CS_CONTROL_SWEEP, sweep(round))]
  }

  /// Returns the message after which the crash records of a process contain no memory.
  ///
  /// The message is not a part of a plan, because all processes of a program have the same plan, and crashd sends this
  /// message only to some of them.
  static func withhold(round: UInt32) -> Message {
    ("", .CS_CONTROL_WITHHOLD, bytes(of: cs_control_withhold(round: round, reserved: 0)))
  }

  private static func protection(_ plan: ControlPlan, round: UInt32) -> [Message] {
    guard let budgetBytes = plan.budgetBytes else { return [] }
    let flags = (plan.isOperator ? CS_CONTROL_OPERATOR : 0) | (plan.isOff ? CS_CONTROL_OFF : 0)
    let settings = cs_control_settings(
      budget_bytes: budgetBytes, flags: flags, round: round,
      stack_frames: UInt32(CS_RING_INCIDENT_FRAME_LIMIT), reserved: 0)
    // Send the entry for all classes first. The entries for single classes must follow it, so that they take
    // precedence.
    let words = plan.words.prefix(wordLimit).sorted { $0.name == nil && $1.name != nil }
    return [("", .CS_CONTROL_SETTINGS, bytes(of: settings))]
      + words.compactMap { word in
        let name = Array((word.name ?? "").utf8)
        guard name.count <= nameLimitBytes, word.name?.isEmpty != true else { return nil }
        let fields = cs_control_class(
          flags: (word.isOperator ? CS_CONTROL_OPERATOR : 0) | (word.name == nil ? CS_CONTROL_OWN_CLASSES : 0),
          round: round, policy: word.policy.code, limit: UInt32(clamping: word.limit),
          name_bytes: UInt32(name.count), reserved: 0)
        let kind: cs_control_kind = word.isRelease ? .CS_CONTROL_RELEASE : .CS_CONTROL_PROTECT
        return (word.name ?? "all classes", kind, bytes(of: fields) + name)
      }
  }

  /// Returns a complete message, which consists of a header and the payload.
  static func message(_ kind: cs_control_kind, number: UInt32, payload: [UInt8]) -> [UInt8] {
    let header = cs_control_header(
      magic: magic, version: CS_CONTROL_VERSION, kind: kind.rawValue, number: number,
      payload_bytes: UInt32(clamping: payload.count))
    return bytes(of: header) + payload
  }

  /// The magic number at the start of a control message.
  ///
  /// The number is repeated here because Swift does not import the C macro UINT64_C.
  private static let magic: UInt64 = 0x0052_544e_4f43_5343

  private static func sweep(_ round: UInt32) -> [UInt8] { bytes(of: cs_control_sweep(round: round, reserved: 0)) }

  /// Returns the bytes of a C structure.
  ///
  /// Precondition: the structure has no padding, so all its bytes are initialized.
  private static func bytes<Structure>(of structure: Structure) -> [UInt8] {
    unsafe withUnsafeBytes(of: structure) { unsafe Array($0) }
  }
}

/// What the quarantine does with the objects of a protected class; see `Incident.Mode`.
enum DanglingMode: String, Sendable, Codable, CaseIterable {
  case absorb
  case zero
  case diagnose

  var code: UInt32 {
    switch self {
    case .absorb: cs_mode.CS_MODE_ABSORB.rawValue
    case .zero: cs_mode.CS_MODE_ZERO.rawValue
    case .diagnose: cs_mode.CS_MODE_DIAGNOSE.rawValue
    }
  }
}

/// The answer of a process to a control message of crashd.
struct ControlAnswer: Sendable, Equatable {
  var number: UInt32
  var result: UInt32
  var count: UInt32

  private static let magic: UInt64 = 0x0052_5753_4e41_5343

  /// Parses an answer; nil if the message is not an answer.
  init?(_ message: [UInt8]) {
    guard message.count == MemoryLayout<cs_control_answer>.size else { return nil }
    // The size was checked: the message has exactly the size of the structure, and any bytes are a valid structure.
    let answer = unsafe message.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_control_answer.self) }
    guard answer.magic == Self.magic, answer.version == CS_CONTROL_VERSION else { return nil }
    (number, result, count) = (answer.number, answer.result, answer.count)
  }

  /// The text of the answer of a process that does not have a class with the requested name.
  static let noSuchClass = "no such class"

  /// Returns the result code of an answer as text.
  static func word(_ result: UInt32) -> String {
    switch cs_control_result(rawValue: result) {
    case .CS_CONTROL_DONE: "done"
    case .CS_CONTROL_MALFORMED: "malformed"
    case .CS_CONTROL_UNKNOWN: "unknown to the program's version"
    case .CS_CONTROL_FORBIDDEN: "forbidden by the program"
    case .CS_CONTROL_UNAVAILABLE: "not available in the program"
    case .CS_CONTROL_OVERRULED: "overruled by the program"
    case .CS_CONTROL_NOT_FOUND: noSuchClass
    case .CS_CONTROL_GENERIC: "a generic class"
    case .CS_CONTROL_FAILED: "failed"
    default: "result \(result)"
    }
  }
}
