internal import CShim
internal import CShimQuarantine
internal import CShimRing
import Synchronization

/// Applies crashd's control messages on a thread of the shield.
///
/// `CShim/Handler/Setup/Attach/control.c` has read and checked the messages.
final class RemoteControl: Sendable {
  static let shared = RemoteControl()

  /// A control message, as a Swift type.
  enum Request: Sendable {
    case word(Protections.Word, ClassName, isOperator: Bool, round: UInt32)
    case settings(Protections.RemoteSettings)
    case sweep(round: UInt32)
    case guards(RemoteModes)
    case lastCrash(Shield.LastCrash?)
  }

  /// The classes that a request names.
  enum ClassName: Sendable {
    case own
    /// The full name, such as `App.Session`, or the mangled name, such as `$s3App7SessionC`.
    case named(String)
  }

  /// The result of a request.
  struct Answer: Sendable, Equatable {
    var result: cs_control_result
    var count = 0
  }

  /// The classes of this process by name.
  ///
  /// crashd sends its messages in rounds, and each round contains all current settings. The first message of a round
  /// that names a class fills the cache. The last message of the round, the sweep, empties it.
  private let found = Mutex<[TypeRecords.Entry]?>(nil)

  func obey(_ request: Request) -> Answer {
    // Handle requests about guards before checking the quarantine, because guards work without it.
    switch request {
    case .guards(let modes): return Answer(result: .CS_CONTROL_DONE, count: modes.apply())
    case .lastCrash(let crash):
      LastCrashRegister.shared.set(crash)
      return Answer(result: .CS_CONTROL_DONE)
    case .sweep(let round):
      RemoteModes.sweep(round: round)
      // Answer the sweep, the end of a round, with success: without a quarantine no class is protected, and the sweep
      // has nothing to revert.
      if Quarantine.obstacle != nil { return Answer(result: .CS_CONTROL_DONE) }
    case .settings, .word: break
    }
    if Quarantine.obstacle != nil { return Answer(result: .CS_CONTROL_UNAVAILABLE) }
    switch request {
    case .guards, .lastCrash: return Answer(result: .CS_CONTROL_DONE)
    case .settings(let settings):
      Protections.shared.remote(settings)
      return Answer(result: .CS_CONTROL_DONE)
    case .sweep(let round):
      found.withLock { $0 = nil }
      return Answer(result: .CS_CONTROL_DONE, count: Protections.shared.sweep(round: round))
    case .word(let word, let name, let isOperator, let round):
      let matching = classes().filter { $0.matches(name) }
      let known = matching.compactMap(\.metadata)
      guard !known.isEmpty else {
        return Answer(result: matching.isEmpty ? .CS_CONTROL_NOT_FOUND : .CS_CONTROL_GENERIC)
      }
      let outcomes = known.map { Protections.shared.remote($0, word, isOperator: isOperator, round: round) }
      let count = outcomes.count { $0 == .done }
      if count > 0 { return Answer(result: .CS_CONTROL_DONE, count: count) }
      return Answer(result: outcomes.contains(.overruled) ? .CS_CONTROL_OVERRULED : .CS_CONTROL_FAILED)
    }
  }

  private func classes() -> [TypeRecords.Entry] {
    if let known = found.withLock({ $0 }) { return known }
    let entries = TypeRecords.classes().map { TypeRecords.Entry($0) }
    found.withLock { $0 = entries }
    return entries
  }
}

extension TypeRecords {
  /// The names of a class and the address of its metadata.
  struct Entry: Sendable {
    var name: String
    /// The mangled name without the prefix `$s`; empty for a generic class.
    var mangled: String
    var isOwn: Bool
    /// The address of the class's metadata; nil for a generic class.
    var metadata: UInt?

    init(_ record: Record) {
      name = record.name
      mangled = record.type.flatMap { _mangledTypeName($0) } ?? ""
      isOwn = Shield.ClassSelection.ownClasses.holds(record)
      metadata = record.type.map { unsafe UInt(bitPattern: Quarantine.metadata($0)) }
    }

    func matches(_ wanted: RemoteControl.ClassName) -> Bool {
      switch wanted {
      case .own: return isOwn
      case .named(let wanted):
        let module = name.prefix { $0 != "." }
        guard !Shield.ClassSelection.ownModules.contains(String(module)) else { return false }
        return name == wanted || (!mangled.isEmpty && (mangled == wanted || "$s" + mangled == wanted))
      }
    }
  }
}

extension RemoteControl.Request {
  /// Returns nil for an unknown kind of message.
  init?(_ control: cs_shim_control) {
    let isOperator = control.flags & CS_CONTROL_OPERATOR != 0
    let isOwn = control.flags & CS_CONTROL_OWN_CLASSES != 0
    switch control.kind {
    case .CS_CONTROL_PROTECT, .CS_CONTROL_RELEASE:
      let setting = Protections.Setting(
        policy: DanglingPolicy(cs_mode(rawValue: control.policy) ?? .CS_MODE_ZERO),
        limit: Int(clamping: control.limit))
      self = .word(
        control.kind == .CS_CONTROL_RELEASE ? .refuses : .protects(setting),
        isOwn ? .own : .named(Self.name(of: control)), isOperator: isOperator, round: control.round)
    case .CS_CONTROL_SWEEP: self = .sweep(round: control.round)
    case .CS_CONTROL_SETTINGS:
      self = .settings(
        Protections.RemoteSettings(
          round: control.round, isOperator: isOperator, isOff: control.flags & CS_CONTROL_OFF != 0,
          budgetBytes: control.budget_bytes, takesStacks: control.stack_frames > 0))
    case .CS_CONTROL_GUARDS: self = .guards(RemoteModes(control))
    case .CS_CONTROL_LAST_CRASH: self = .lastCrash(Shield.LastCrash(control))
    default: return nil
    }
  }

  private static func name(of control: cs_shim_control) -> String {
    var name = control.name
    // A C array is a tuple in Swift. Invariant: the C code ends the string with a NUL inside this array.
    return unsafe withUnsafeBytes(of: &name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}

/// The callback that a thread of the shield calls for each control message.
let obeyControl: cs_shim_control_function = { control, count in
  // Invariant: both pointers are valid during this call.
  guard let control = unsafe control?.pointee, let request = RemoteControl.Request(control) else {
    return .CS_CONTROL_UNKNOWN
  }
  let answer = RemoteControl.shared.obey(request)
  unsafe count?.pointee = UInt32(clamping: answer.count)
  return answer.result
}

/// The guard modes that an operator set through crashd.
///
/// These modes take precedence over the program's modes. A mode applies until crashd sends a round of messages that
/// does not contain this mode.
struct RemoteModes: Sendable {
  private var control: cs_shim_control

  /// Precondition: `CShim/Handler/Setup/Attach/control.c` has checked every byte of the message.
  init(_ control: cs_shim_control) { self.control = control }

  /// Applies the modes.
  /// - Returns: The number of modes that the message sets.
  func apply() -> Int {
    let implicitModes = control.implicit_guard_modes
    // C arrays are tuples in Swift. Invariant: both arrays have one byte for each guard kind.
    return unsafe withUnsafeBytes(of: control.guard_modes) { modes in
      unsafe withUnsafeBytes(of: implicitModes) { implicitModes in
        unsafe Int(
          cs_guard_set_operator_modes(
            modes.bindMemory(to: UInt8.self).baseAddress, implicitModes.bindMemory(to: UInt8.self).baseAddress,
            control.round))
      }
    }
  }

  /// Reverts the modes that are not in crashd's messages of this round.
  static func sweep(round: UInt32) { cs_guard_sweep(round) }
}
