import Foundation
import TestKit
import Testing

/// Tests that the stack in the record of a failed cast leads to the source line of the cast.
///
/// The tests do not run under sanitizers, because the instructions of a sanitizer have other lines.
@Suite
struct CastsLineTests {
  @Test("the first frame of a failed cast's record has the line of the cast", arguments: CastsTests.given)
  func line(number: Int) async throws {
    let answer = try await CastsHost.run("given", "\(number)", mode: "absorb")
    let frame = try #require(answer.records.last?.dropFirst(3).first, "\(answer)")
    let place = try CastsHost.runHere(
      URL(fileURLWithPath: "/usr/bin/addr2line"), ["-e", CastsHost.program.path, "\(frame)"])
    let name = try #require(place.output.firstRange(of: "CastsFault.swift:"), "\(place)")
    let line = Int(place.output[name.upperBound...].prefix { $0.isNumber })
    #expect(line == CastsFault.given[number].fault.line, "\(place)")
  }
}
