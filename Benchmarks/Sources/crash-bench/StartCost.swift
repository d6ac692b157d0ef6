import CrashShield
import Foundation
import Glibc

/// What starting costs a process: measured by the process itself, in a child of the benchmark.
enum StartCost {
  /// Starts the shield and prints nanoseconds and the growth of resident memory in KiB.
  static func measureShield() throws {
    let before = residentKiB()
    let start = monotonicNow_ns()
    try Shield.start()
    let end = monotonicNow_ns()
    print(end - start, residentKiB() - before)
  }

  /// Prints the resident memory in KiB of a process that did nothing.
  static func measureNothing() { print(0, residentKiB()) }

  private static func residentKiB() -> Int {
    let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4
  }
}

/// Two numbers that a child printed.
func numbers(_ child: Child) throws -> (Double, Double) {
  let words = child.output.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
  guard words.count == 2 else { throw BenchmarkFailure(what: "child said '\(child.output)' '\(child.errors)'") }
  return (words[0], words[1])
}

struct BenchmarkFailure: Error { var what: String }
