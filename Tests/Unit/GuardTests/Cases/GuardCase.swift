import CrashShieldGuards
import Glibc
import Testing

/// One fault: as the program would meet it, and as a guard meets it.
struct GuardCase: Sendable, CustomTestStringConvertible {
  /// What is done.
  var name: String
  var kind: ShieldKind
  /// How the process ends without the guard; nil: it goes on.
  var signal: Int32?
  /// Whether `off` and `observe` do what ends the process; false: the guard has nothing left to do it with.
  var isPerformed: Bool
  /// The fault without a guard.
  var plain: @Sendable () -> Void
  /// The fault with the guard; whether the result is the documented one.
  var guarded: @Sendable () -> Bool
  /// Where the case stands.
  ///
  /// Its guard stands there, or before the next case.
  var fileID: String
  var line: Int

  static let all = collections + places + values + services + foundation + lists + texts + json

  var testDescription: String { name }

  /// How the process ends.
  ///
  /// Where Foundation reads behind a text's attributes, what is there by chance, or a sanitizer put there, says whether it is
  /// a fault of memory or a trap.
  var end: ExitTest.Condition {
    if signal == SIGSEGV && kind == .foundationRange { return .failure }
    return signal.map { .signal($0) } ?? .success
  }

  /// Whether an incident is of this case's guard.
  func isMet(by incident: ShieldIncident) -> Bool {
    let next = Self.all.first { $0.fileID == fileID && $0.line > line }
    return incident.kind == kind && incident.fileID == fileID && incident.line >= line
      && incident.line < next?.line ?? line + 10 && !incident.reason.isEmpty && !incident.frames.isEmpty
      && incident.thread > 0
  }

  init(
    _ name: String, _ kind: ShieldKind, _ signal: Int32? = SIGILL, isPerformed: Bool = true,
    plain: @escaping @Sendable () -> Void,
    fileID: String = #fileID, line: Int = #line, guarded: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.kind = kind
    self.signal = signal
    self.isPerformed = isPerformed
    self.plain = plain
    self.guarded = guarded
    self.fileID = fileID
    self.line = line
  }
}

/// A value that the optimizer does not know.
@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }

/// Uses a value, so that the optimizer keeps the code that makes it.
@inline(never)
@_optimize(none)
func use<Value>(_ value: Value) {}

let three = [1, 2, 3]
