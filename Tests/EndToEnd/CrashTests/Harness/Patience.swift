import CrashClient
import CrashProtocol
import Glibc

/// The time limit for events that a test waits for.
///
/// It is so long that only a failing test reaches it.
///
/// It is a number of slices of one second each, and not a deadline. A machine that stalls for minutes uses up only one
/// slice, so the test does not fail.
enum Patience {
  static let slices = 300
  static let slice = Duration.seconds(1)

  /// Calls `body` with the length of a slice again and again, until it returns an answer.
  ///
  /// Throws an error after the last slice.
  static func wait<Answer>(
    for what: @autoclosure () -> String, slices: Int = Patience.slices, _ body: (Duration) throws -> Answer?
  ) throws -> Answer {
    for _ in 0..<slices {
      if let answer = try body(slice) { return answer }
    }
    throw SystemError("\(what()) within \(slices) slices of \(slice)", ETIMEDOUT)
  }
}

extension CrashClient {
  /// Waits until crashd has stored all reports of this process, which has ended.
  func settled(_ pid: pid_t) throws -> ProcessOutcome {
    try Patience.wait(for: "crashd did not settle process \(pid)") { slice in
      let outcome = try awaitProcess(Int(pid), timeout: slice)
      return outcome.settled ? outcome : nil
    }
  }
}
