import Foundation
import TestKit
import Testing

/// Tests executor checks that fail in executor-host, which links CrashShieldExecutorChecks: with its hooks disabled,
/// and in each mode.
@Suite
struct ExecutorHookTests {
  @Test(
    "a failed executor check ends the process without the hooks, and in mode off",
    arguments: Failure.all, ["plain", "off"])
  func ends(failure: Failure, mode: String) async throws {
    let host = try await Host("fault", failure.name, mode)
    #expect(host.status == -failure.signal && host.lines == ["before"])
    #expect(failure.words.isEmpty || host.error.contains(failure.words))
  }

  @Test(
    "observe, the default: a failed executor check leaves one record, then the process ends with Swift's message",
    arguments: Failure.all)
  func observe(failure: Failure) async throws {
    let host = try await Host("fault", failure.name)
    #expect(host.status == -failure.signal && host.lines == ["before", "met isolation observe 1"])
    #expect(failure.words.isEmpty || host.error.contains(failure.words))
  }

  @Test(
    "absorb: the program continues after a failed executor check, and one record has the check's line",
    arguments: Failure.all)
  func absorb(failure: Failure) async throws {
    let host = try await Host("fault", failure.name, "absorb")
    #expect(host.status == 0 && host.lines.contains("after") && host.error.isEmpty)
    let record = try #require(host.records.first)
    #expect(host.records.count == 1 && host.met == ["isolation absorb 1"])
    #expect(record.kind == "isolation" && record.mode == "absorb" && record.reason == failure.reason)
    #expect(try await record.line() == failure.number())
  }

  @Test("failed executor checks on four threads are counted exactly", arguments: Failure.all)
  func counts(failure: Failure) async throws {
    let host = try await Host("fault", failure.name, "absorb", "100", "4")
    #expect(host.status == 0 && host.records.map(\.count) == [400])
  }

  @Test("failed executor checks at two call sites give two records, even if the compiler merged their code")
  func places() async throws {
    let host = try await Host("places", "absorb")
    #expect(host.status == 0)
    #expect(host.records.map(\.count) == Array(repeating: 3, count: 6))
  }

  @Test(
    "an executor that can only trap ends the process in every mode, without a record",
    arguments: ["off", "observe", "absorb"])
  func silent(mode: String) async throws {
    let host = try await Host("fault", "require-silent", mode)
    #expect(host.status == -trapSignal && host.lines == ["before"] && host.error.contains("not in the loop"))
  }

  @Test(
    "correct executor checks, and isolation queries that may fail, leave no record",
    arguments: ["observe", "absorb"])
  func correct(mode: String) async throws {
    let host = try await Host("correct", mode)
    #expect(host.status == 0 && host.lines == ["right"], "\(host.lines) \(host.error)")
  }

  @Test("the main actor is recognized after its queue has left the main thread")
  func served() async throws {
    let host = try await Host("served", "require-main", "absorb")
    #expect(host.status == 0 && host.lines.first == "of the main thread: false")
    #expect(host.records.map(\.reason) == [Failure.main])
    let ended = try await Host("served", "require-main", "observe")
    #expect(ended.status == -trapSignal && ended.lines.last == "met isolation observe 1")
  }

  @Test("the environment sets the mode of executor checks")
  func environment() async throws {
    let host = try await Host("fault", "require-main", variables: ["CRASHSHIELD_IMPLICIT": "isolation=absorb"])
    #expect(host.status == 0 && host.records.count == 1)
  }

  @Test(
    "the executor checks' self-test passes in every mode and leaves no record",
    arguments: ["off", "observe", "absorb"])
  func selfTest(mode: String) async throws {
    let host = try await Host("self-test", mode)
    #expect(host.lines == ["absorbs", "absorbs", "absorbs", "records 0"] && host.status == 0)
  }

  @Test("the executor hook's status states that the hook works, or the reason why it does not")
  func status() async throws {
    #expect(try await Host("status").lines == ["status works"])
    let replaced = try await Host("replaced")
    #expect(replaced.lines == ["status other code has replaced the hooks of executor checks"])
    let old = try await Host("status", variables: ["SWIFT_IS_CURRENT_EXECUTOR_LEGACY_MODE_OVERRIDE": "legacy"])
    #expect(old.lines == ["status this process uses the executor checks from before Swift 6"])
  }

  @Test("hooks that were set before the shield's hooks are still called")
  func chained() async throws {
    let host = try await Host("chained", variables: ["ISOLATION_HOST_EARLY_HOOKS": "1"])
    #expect(host.lines == ["status works", "asked true checked 1"] && host.status == 0, "\(host.lines) \(host.error)")
  }
}
