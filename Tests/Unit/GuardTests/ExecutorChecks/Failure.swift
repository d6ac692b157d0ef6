import Foundation
import TestKit
import Testing

/// A fault of executor-host, and its result.
struct Failure: Sendable, CustomTestStringConvertible {
  var name: String
  /// The signal that ends the program without the shield.
  var signal: Int32
  /// A part of the message that the program prints.
  ///
  /// It is empty for checks of Dispatch, which prints none. Optimized programs print no message.
  var words = ""
  /// The reason in the record.
  var reason: String
  /// The beginning of the source line to which the record's frames must lead.
  var line: String

  var testDescription: String { name }

  static let main = "work of the main actor on another thread"

  static let all: [Failure] = [
    Failure(name: "assume-main", signal: trapSignal, reason: main, line: "@inline(never) func assumeMain("),
    Failure(name: "require-main", signal: trapSignal, reason: main, line: "@inline(never) func requireMain("),
    Failure(name: "assert-main", signal: trapSignal, reason: main, line: "@inline(never) func assertMain("),
    Failure(
      name: "assume-actor", signal: SIGABRT, words: "expected 'executor_host.Counter' executor",
      reason: "work of Counter on another executor", line: "@inline(never) func assumeCounter("),
    Failure(
      name: "require-actor", signal: SIGABRT, words: "expected 'executor_host.Counter' executor",
      reason: "work of Counter on another executor", line: "@inline(never) func requireCounter("),
    Failure(
      name: "assume-teller", signal: trapSignal, words: "Expected same executor as executor_host.Teller",
      reason: "work of Loop on another executor", line: "@inline(never) func assumeTeller("),
    Failure(
      name: "require-teller", signal: trapSignal, words: "Incorrect actor executor assumption",
      reason: "work of Loop on another executor", line: "@inline(never) func requireTeller("),
    Failure(
      name: "require-executor", signal: trapSignal, words: "Expected 'executor_host.Loop' executor",
      reason: "work of Loop on another executor", line: "@inline(never) func requireExecutor("),
    Failure(
      name: "require-global", signal: SIGABRT, words: "expected 'executor_host.Storage' executor",
      reason: "work of Storage on another executor", line: "@inline(never) func requireStorage("),
    Failure(
      name: "conformance-main", signal: trapSignal, reason: main, line: "    Fault(name: \"conformance-main\")"),
    Failure(
      name: "conformance-teller", signal: SIGABRT, words: "was not called on the same actor",
      reason: "work of Loop on another executor", line: "    Fault(name: \"conformance-teller\")"),
    Failure(name: "task-main", signal: trapSignal, reason: main, line: "@inline(never) func assumeMain("),
    Failure(
      name: "other-actor", signal: trapSignal, words: "Incorrect actor executor assumption",
      reason: "work of Loop on another executor", line: "@inline(never) func requireTeller("),
  ]

  /// Returns the number of the source line that begins with `line`.
  func number() throws -> Int {
    let source = URL(filePath: #filePath).appending(path: "../../../../Hosts/ExecutorHost/Fault.swift")
      .standardizedFileURL
    let lines = try String(contentsOf: source, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    return try #require(lines.firstIndex { $0.hasPrefix(line) }) + 1
  }
}
