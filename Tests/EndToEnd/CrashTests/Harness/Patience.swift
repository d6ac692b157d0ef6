import CrashClient
import CrashProtocol
import Glibc

/// How long a test waits for what must come: so long that only a failing test meets the end.
///
/// It is counted in slices of a second, not by the clock: CI's machine sometimes stalls for minutes, which
/// then uses up one slice and fails no test.
enum Patience {
  static let slices = 300
  static let slice = Duration.seconds(1)

  /// Repeats a wait of a slice until it has its answer; throws when the patience is at its end.
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
  /// Waits until everything of a process that has ended is stored.
  func settled(_ pid: pid_t) throws -> ProcessOutcome {
    try Patience.wait(for: "crashd did not settle process \(pid)") { slice in
      let outcome = try awaitProcess(Int(pid), timeout: slice)
      return outcome.settled ? outcome : nil
    }
  }
}
