import CrashControl
import CrashProtocol
import Foundation
import TestKit
import Testing

@Suite("The text of a contrast")
struct ContrastTextTests {
  private static func contrast() throws -> GroupContrast {
    try JSONDecoder().decode(GroupContrast.self, from: Data(SampleJSON.contrast.utf8))
  }

  @Test("a finding has its shares, its lift and its probability, and control characters are escaped")
  func findings() throws {
    let text = ContrastText.text(try Self.contrast(), terminal: Terminal(width: 100, hasColor: false))
    let lines = text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(lines[0] == "What sets the group apart")
    #expect(lines[1] == "KEY VALUE GROUP OTHERS LIFT P")
    #expect(lines[2] == "tag zone b␛[31m 90 % 10 % ×2.5 3e-14")
    #expect(lines[3] == "host web-3 30 % 0 % ×3.0 0.01")
    #expect(text.contains("40 of 400 crashes of the group, compared with 80 other crashes of the same"))
  }

  @Test("no line is wider than the terminal", arguments: [60, 80, 120])
  func width(columns: Int) throws {
    var contrast = try Self.contrast()
    contrast.findings[0].value = String(repeating: "v", count: 500)
    contrast.findings[1].key = "tag " + String(repeating: "k", count: 200)
    let text = ContrastText.text(contrast, terminal: Terminal(width: columns, hasColor: false))
    for line in text.split(separator: "\n") { #expect(line.count <= columns, "\(line)") }
  }

  @Test("a contrast without other crashes, or without a finding, says so")
  func nothing() throws {
    var contrast = try Self.contrast()
    contrast.findings = []
    let terminal = Terminal(width: nil, hasColor: false)
    #expect(ContrastText.text(contrast, terminal: terminal).contains("No value is more frequent than chance explains"))
    contrast.restCount = 0
    #expect(ContrastText.text(contrast, terminal: terminal).contains("Nothing to compare"))
  }

  @Test("numbers of a hostile crashd are printed without a trap")
  func hostile() throws {
    var contrast = try Self.contrast()
    contrast.findings[0].lift = .infinity
    contrast.findings[0].probability = .nan
    contrast.findings[1].lift = -1
    contrast.findings[1].probability = .leastNonzeroMagnitude
    (contrast.findings[1].inGroup, contrast.findings[1].inRest) = (.max, .min)
    let text = ContrastText.text(contrast, terminal: Terminal(width: nil, hasColor: false))
    #expect(text.contains("?") && text.contains("<1e-299"))
    (contrast.groupCount, contrast.groupStored, contrast.restCount) = (.max, .min, 1)
    _ = ContrastText.text(contrast, terminal: Terminal(width: nil, hasColor: false))
  }
}
