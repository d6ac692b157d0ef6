import CrashShield
import Foundation
import Glibc

/// The cost of starting the shield.
///
/// Each measurement runs in a child process of the benchmark. The child measures itself.
enum StartCost {
  /// Starts the shield, and prints the nanoseconds of the start, and the growth of the process's private memory in KiB.
  static func measureShield() throws {
    let before = try ownKiB()
    let start = monotonicNow_ns()
    try Shield.startOrThrow()
    let end = monotonicNow_ns()
    print(end - start, try ownKiB() - before)
  }

  /// Does not start the shield, and prints 0 nanoseconds and the private memory of the process in KiB.
  static func measureNothing() throws { print(0, try ownKiB()) }

  /// Returns the resident anonymous and shared memory of this process.
  ///
  /// Does not count pages of program files, because all processes share them in the page cache.
  private static func ownKiB() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    return status.split(separator: "\n").reduce(0) { sum, line in
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let name = words.first, ["RssAnon:", "RssShmem:"].contains(name), words.count > 1 else { return sum }
      return sum + (Int(words[1]) ?? 0)
    }
  }
}

/// Parses two numbers that a child printed.
func numbers(_ child: Child) throws -> (Double, Double) {
  let words = child.output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
  guard words.count == 2 else { throw BenchmarkFailure(what: "child said '\(child.output)' '\(child.errors)'") }
  return (words[0], words[1])
}

struct BenchmarkFailure: Error { var what: String }
