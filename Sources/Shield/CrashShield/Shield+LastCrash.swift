import CShim
import Synchronization

extension Shield {
  /// The last stored crash of this program before this process, for a line of its log.
  public struct LastCrash: Sendable, Hashable, CustomStringConvertible {
    /// The report's id: `crashctl show ID`.
    public var id: String
    /// The time of the crash, since 1970 in UTC.
    public var time: Duration
    /// The diagnosis in one sentence.
    public var sentence: String

    /// Such as `crash 3f2a9c54: Index out of range in Cart.total(of:)`, in one line.
    public var description: String { "crash \(id.prefix(8)): \(sentence)" }
  }

  /// The last stored crash of this program: the same user, executable and name; nil while it is unknown, and if there
  /// is none.
  ///
  /// crashd sends it after it has accepted the process, which takes some milliseconds. Any thread.
  public static var lastCrash: LastCrash? { LastCrashRegister.shared.known ?? nil }

  /// The last stored crash of this program, as soon as crashd has sent it.
  ///
  /// ```swift
  /// if let crash = await Shield.lastCrash(within: .seconds(2)) { logger.notice("the last run ended by \(crash)") }
  /// ```
  ///
  /// - Parameter limit: How long to wait for crashd, at most a year. A crash of a moment ago is analyzed first, a
  ///   second or two.
  /// - Returns: Nil if there is none, if crashd did not answer in time, or if the task was cancelled.
  public static func lastCrash(within limit: Duration) async -> LastCrash? {
    guard isStarted else { return nil }
    return await LastCrashRegister.shared.value(within: limit)
  }
}

/// The last crash as crashd reports it.
final class LastCrashRegister: Sendable {
  static let shared = LastCrashRegister()
  /// The clock traps at a deadline that it cannot hold.
  private static let longest = Duration.seconds(365 * 86_400)

  private struct State {
    /// Nil: crashd has reported nothing.
    var known: Shield.LastCrash??
    var waiters: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var next: UInt64 = 0
  }

  private let state = Mutex(State())

  var known: Shield.LastCrash?? { state.withLock { $0.known } }

  /// Replaces the report of an earlier crashd.
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
      // A cancelled sleep ends as well.
      group.addTask { do { try await Task.sleep(for: limit) } catch {} }
      await group.next()
      group.cancelAll()
    }
    _ = state.withLock { $0.waiters.removeValue(forKey: number) }
    return known ?? nil
  }
}

extension Shield.LastCrash {
  /// Nil: there is none.
  init?(_ control: cs_shim_control) {
    if control.time_ns == 0 { return nil }
    // C arrays are tuples in Swift; the C side ends both texts with a NUL within them.
    let text = { (bytes: UnsafeRawBufferPointer) in
      Self.line(unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
    }
    id = unsafe withUnsafeBytes(of: control.crash_id) { unsafe text($0) }
    sentence = unsafe withUnsafeBytes(of: control.name) { unsafe text($0) }
    time = .nanoseconds(Int64(clamping: control.time_ns))
  }

  /// Without characters that a terminal would interpret, for crashd's sentence may quote another process.
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
