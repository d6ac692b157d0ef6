import CShim
import Synchronization

extension Shield {
  /// The last stored crash of this program before this process started, for the log of the program.
  public struct LastCrash: Sendable, Hashable, CustomStringConvertible {
    /// The report's id, which `crashctl show` accepts.
    public var id: String
    /// The time of the crash, as the duration since 1970-01-01 00:00 UTC.
    public var time: Duration
    /// The diagnosis in one sentence.
    public var sentence: String

    /// A description in one line, such as `crash 3f2a9c54: Index out of range in Cart.total(of:)`.
    public var description: String { "crash \(id.prefix(8)): \(sentence)" }
  }

  /// The last stored crash of this program; nil if there is none, or if crashd has not sent it yet.
  ///
  /// A crash belongs to this program if the crashed process had the same user, executable and name. crashd sends the
  /// crash some milliseconds after it has accepted the process. May be called from any thread.
  public static var lastCrash: LastCrash? { LastCrashRegister.shared.known ?? nil }

  /// Returns the last stored crash of this program, as soon as crashd has sent it.
  ///
  /// ```swift
  /// if let crash = await Shield.lastCrash(within: .seconds(2)) { logger.notice("the last run ended by \(crash)") }
  /// ```
  ///
  /// - Parameter limit: How long to wait for crashd, at most a year. If the crash happened just now, crashd first
  ///   analyzes it, which takes a second or two.
  /// - Returns: Nil if there is no crash, if crashd did not answer in time, or if the task was cancelled.
  public static func lastCrash(within limit: Duration) async -> LastCrash? {
    guard isStarted else { return nil }
    return await LastCrashRegister.shared.value(within: limit)
  }
}

/// Stores the last crash that crashd has reported to this process.
final class LastCrashRegister: Sendable {
  static let shared = LastCrashRegister()
  /// The longest wait; it is limited because `Task.sleep` traps for a deadline beyond the clock's range.
  private static let longest = Duration.seconds(365 * 86_400)

  private struct State {
    /// crashd's answer: nil until crashd has answered, and `.some(nil)` if crashd answered that there is no crash.
    var known: Shield.LastCrash??
    var waiters: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var next: UInt64 = 0
  }

  private let state = Mutex(State())

  var known: Shield.LastCrash?? { state.withLock { $0.known } }

  /// Stores crashd's answer, which replaces the answer of an earlier crashd, and resumes the waiting tasks.
  func set(_ crash: Shield.LastCrash?) {
    let waiters = state.withLock { state in
      state.known = .some(crash)
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.finish() }
  }

  func value(within limit: Duration) async -> Shield.LastCrash? {
    let limit = max(.zero, min(limit, Self.longest))
    let (told, continuation) = AsyncStream.makeStream(of: Void.self)
    let number = state.withLock { state -> UInt64? in
      if state.known != nil { return nil }
      state.next += 1
      state.waiters[state.next] = continuation
      return state.next
    }
    guard let number else { return known ?? nil }
    await withTaskGroup { group in
      group.addTask { for await _ in told {} }
      // Ignore the error of a cancelled sleep, because the task ends in any case.
      group.addTask { do { try await Task.sleep(for: limit) } catch {} }
      await group.next()
      group.cancelAll()
    }
    _ = state.withLock { $0.waiters.removeValue(forKey: number) }
    return known ?? nil
  }
}

extension Shield.LastCrash {
  /// Returns nil if the message says that there is no crash.
  init?(_ control: cs_shim_control) {
    if control.time_ns == 0 { return nil }
    // C arrays are tuples in Swift. Invariant: the C code ends both strings with a NUL inside their arrays.
    let text = { (bytes: UnsafeRawBufferPointer) in
      Self.line(unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
    }
    id = unsafe withUnsafeBytes(of: control.crash_id) { unsafe text($0) }
    sentence = unsafe withUnsafeBytes(of: control.name) { unsafe text($0) }
    time = .nanoseconds(Int64(clamping: control.time_ns))
  }

  /// Replaces characters that a terminal would interpret: crashd's sentence can quote a string from another process.
  private static func line(_ text: String) -> String {
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: line.append("\u{fffd}")
      default: line.append(scalar)
      }
    }
    return String(line)
  }
}
