import Foundation
import TestKit
import Testing

/// Tests forced casts that fail, in each mode.
///
/// Each cast runs in its own process, which links CrashShieldCasts. The test process does not link this library.
@Suite
struct CastsTests {
  static let given = Array(CastsFault.given.indices)
  static let refused = Array(CastsFault.refused.indices)

  @Test("a failed cast without CrashShieldCasts ends the process by SIGABRT", arguments: given)
  func plain(number: Int) async {
    await #expect(processExitsWith: .signal(SIGABRT), "\(CastsFault.given[number].fault.name)") { [number] in
      beginCrash()
      _ = CastsFault.given[number].fault.body()
    }
  }

  @Test("off: a failed cast ends the process as without CrashShieldCasts, without a record", arguments: given)
  func off(number: Int) async throws {
    let answer = try await CastsHost.run("given", "\(number)", mode: "off")
    #expect(answer.status == -SIGABRT && answer.output.isEmpty, "\(CastsFault.given[number].fault.name): \(answer)")
  }

  @Test(
    "observe, the default: a failed cast leaves one record, then the process ends with Swift's message",
    arguments: given)
  func observe(number: Int) async throws {
    let answer = try await CastsHost.run("given", "\(number)")
    expectObserved(answer, CastsFault.given[number].fault)
  }

  @Test("absorb: a failed cast gives the documented value, and one record", arguments: given)
  func absorb(number: Int) async throws {
    let answer = try await CastsHost.run("given", "\(number)", mode: "absorb")
    let (fault, value) = CastsFault.given[number]
    #expect(answer.status == 0 && answer.lines.contains("value \(value)"), "\(fault.name): \(answer)")
    // The program prints the record twice: at the fault, in its incident handler, and at its end.
    #expect(answer.records.count == 2, "\(answer)")
    #expect(answer.records.last?.prefix(3) == ["\(fault.kind)", "absorb", "1"], "\(answer)")
  }

  @Test("failed casts on four threads are counted exactly", arguments: [0, 11, 15])
  func threads(number: Int) async throws {
    let answer = try await CastsHost.run("threads", "\(number)", mode: "absorb")
    #expect(answer.status == 0 && answer.lines.count == 1, "\(answer)")
    #expect(answer.records.first?.dropFirst(2).first == "400", "\(answer)")
  }

  @Test("a failed cast to a type without a default ends the process by SIGABRT", arguments: refused)
  func plainRefusal(number: Int) async {
    await #expect(processExitsWith: .signal(SIGABRT), "\(CastsFault.refused[number].name)") { [number] in
      beginCrash()
      _ = CastsFault.refused[number].body()
    }
  }

  @Test("absorb: a failed cast to a type without a default is only observed", arguments: refused)
  func refusal(number: Int) async throws {
    let answer = try await CastsHost.run("refused", "\(number)", mode: "absorb")
    expectObserved(answer, CastsFault.refused[number])
  }

  @Test("a cast of a Foundation fraction to an integer leaves one record, then Foundation traps")
  func fraction() async throws {
    await #expect(processExitsWith: .signal(trapSignal)) {
      beginCrash()
      _ = CastsFault.fraction.body()
    }
    let answer = try await CastsHost.run("fraction", mode: "absorb")
    #expect(answer.status == -trapSignal && answer.lines.count == 1, "\(answer)")
    #expect(answer.records.first?.prefix(3) == ["cast", "observe", "1"], "\(answer)")
  }

  @Test("the kinds of failed casts have separate modes")
  func kinds() async throws {
    #expect(try await CastsHost.run("given", "0", mode: "off,null=absorb").output.hasPrefix("record null absorb 1"))
    #expect(try await CastsHost.run("given", "11", mode: "absorb,cast=off").status == -SIGABRT)
  }

  @Test("successful casts of all kinds behave as without CrashShieldCasts", arguments: ["off", "observe", "absorb"])
  func works(mode: String) async throws {
    let answer = try await CastsHost.run("works", mode: mode)
    #expect(answer.status == 0)
    #expect(answer.output == castsThatWork().map { $0 + "\n" }.joined())
  }

  @Test("a failed cast retains and releases its source equally often")
  func objects() async throws {
    let answer = try await CastsHost.run("objects", mode: "absorb")
    #expect(answer.status == 0 && answer.output == "right\n", "\(answer)")
  }

  @Test("a cast that fails inside of the incident handler ends the process, as without CrashShieldCasts")
  func within() async throws {
    let answer = try await CastsHost.run("within", mode: "absorb")
    #expect(answer.status == -SIGABRT && answer.output.isEmpty, "\(answer)")
  }

  @Test(
    "the hook of CrashShieldCasts works, and its self-test passes, in every mode",
    arguments: ["off", "observe", "absorb"])
  func status(mode: String) async throws {
    let answer = try await CastsHost.run("status", mode: mode)
    #expect(answer.lines.count == 5 && answer.lines.first == "live", "\(answer)")
    #expect(answer.lines.dropFirst().allSatisfy { $0.hasSuffix(": absorbs") }, "\(answer)")
  }
}

/// Expects one record, and then the signal and the message of a program without CrashShieldCasts.
private func expectObserved(_ answer: CastsHost.Answer, _ fault: CastsFault) {
  #expect(answer.status == -SIGABRT, "\(fault.name): \(answer)")
  #expect(answer.error.contains("Could not cast value of type"), "\(fault.name): \(answer)")
  #expect(answer.lines.count == 1, "\(answer)")
  #expect(answer.records.first?.prefix(3) == ["\(fault.kind)", "observe", "1"], "\(answer)")
}
