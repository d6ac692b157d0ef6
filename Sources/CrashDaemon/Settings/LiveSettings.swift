import CrashStore
import Synchronization

/// What can be changed while crashd runs: whoever goes by it asks for it each time.
final class LiveSettings: Sendable {
  /// Of one moment.
  struct Values: Sendable, Equatable {
    var retention = RetentionPolicy()
  }

  private let values: Mutex<Values>

  init(_ values: Values = Values()) { self.values = Mutex(values) }

  var current: Values { values.withLock { $0 } }

  func change(to new: Values) { values.withLock { $0 = new } }
}
