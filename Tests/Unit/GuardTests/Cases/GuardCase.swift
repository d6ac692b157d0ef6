import CrashShieldGuards
import Glibc
import TestKit
import Testing

/// One fault, without a guard and with its guard.
struct GuardCase: Sendable, CustomTestStringConvertible {
  /// A description of the fault.
  var name: String
  var kind: ShieldKind
  /// The signal that ends the process without the guard.
  ///
  /// It is nil if the process continues.
  var signal: Int32?
  /// Whether the guard performs the faulting operation in the modes `off` and `observe`, in which it does not absorb
  /// the fault.
  ///
  /// It is false if the guard cannot perform the operation.
  var isPerformed: Bool
  /// Causes the fault without a guard.
  var plain: @Sendable () -> Void
  /// Causes the fault with the guard.
  ///
  /// Returns whether the result is the documented value.
  var guarded: @Sendable () -> Bool
  /// The source file of the case.
  ///
  /// The guard is called in the lines from this case up to the next case.
  var fileID: String
  var line: Int

  static let all = collections + places + values + services + foundation + lists + texts + json

  var testDescription: String { name }

  /// How the process must end without the guard, and in the modes `off` and `observe`.
  ///
  /// If Foundation reads past the attributes of a string, the memory behind them, which a sanitizer can have filled,
  /// determines whether the process ends by a memory fault or by a trap.
  var end: ExitTest.Condition {
    if signal == SIGSEGV && kind == .foundationRange { return .failure }
    return signal.map { .signal($0) } ?? .success
  }

  /// Whether the guard of this case recorded the incident.
  func isMet(by incident: ShieldIncident) -> Bool {
    let next = Self.all.first { $0.fileID == fileID && $0.line > line }
    return incident.kind == kind && incident.fileID == fileID && incident.line >= line
      && incident.line < next?.line ?? line + 10 && !incident.reason.isEmpty && !incident.frames.isEmpty
      && incident.thread > 0
  }

  init(
    _ name: String, _ kind: ShieldKind, _ signal: Int32? = trapSignal, isPerformed: Bool = true,
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

/// Returns a value that the optimizer cannot predict.
@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }

/// Uses a value.
///
/// Therefore the optimizer keeps the code that computes the value.
@inline(never)
@_optimize(none)
func use<Value>(_ value: Value) {}

let three = [1, 2, 3]
