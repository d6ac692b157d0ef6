import CrashControl
import CrashProtocol
import Foundation
import TestKit
import Testing

@Suite("Source lines of a report's frames")
struct SourceFilesTests {
  /// The kinds of files that a test creates at the path of a frame.
  enum Kind: CaseIterable {
    case older, newer, secret, own, hidden, pipe, huge, missing, imageGone, rebuilt, otherFile
  }

  /// Returns an ELF file that contains only a note with the build ID.
  private static func elf(buildID: [UInt8]) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let note =
      number(4, 4) + number(buildID.count, 4) + number(3, 4) + Array("GNU\0".utf8) + buildID
      + [UInt8](repeating: 0, count: (4 - buildID.count % 4) % 4)
    let identity: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    let header =
      identity + number(3, 2) + number(62, 2) + number(1, 4) + number(0, 8) + number(64, 8) + number(0, 8)
      + number(0, 4) + number(64, 2) + number(56, 2) + number(1, 2) + number(0, 6)
    let program =
      number(4, 4) + number(4, 4) + number(120, 8) + number(0, 16) + number(note.count, 8) + number(note.count, 8)
      + number(4, 8)
    return header + program + note
  }

  @Test(
    "a source file is quoted if it is older than the build and the process's user may read it",
    arguments: Kind.allCases)
  func shown(kind: Kind) throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "cs-source-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: directory) }
    let image = directory.appending(path: "shop").path
    let file = directory.appending(path: "Cart.swift").path
    let build = Date(timeIntervalSince1970: 1_790_000_000)
    if kind != .imageGone {
      let id: [UInt8] = kind == .rebuilt ? [0xcd] : [0xab, 0x01]
      try Data(kind == .otherFile ? Array("#!/bin/sh\n".utf8) : Self.elf(buildID: id)).write(to: URL(filePath: image))
      try FileManager.default.setAttributes([.modificationDate: build], ofItemAtPath: image)
    }
    if kind == .pipe {
      #expect(unsafe mkfifo(file, 0o644) == 0)
    } else if kind != .missing {
      var text = (1...50).map { "let line\($0) = \($0)\n" }.joined()
      if kind == .huge { text += String(repeating: "x", count: 5 << 20) }
      try Data(text.utf8).write(to: URL(filePath: file))
      let isSecret = kind == .secret || kind == .own
      try FileManager.default.setAttributes(
        [.posixPermissions: isSecret ? 0o600 : 0o644, .modificationDate: build + (kind == .newer ? 1 : -1)],
        ofItemAtPath: file)
    }
    if kind == .hidden {
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.path)
    }
    // The report belongs to the user of this test only in the case `own`.
    let uid = kind == .own ? Int(geteuid()) : Int(geteuid()) + 1_000
    let json = SampleJSON.report(id: "bb22")
      .replacingOccurrences(of: "\"uid\":1000", with: "\"uid\":\(uid)")
      .replacingOccurrences(
        of: "\"images\":[]",
        with: "\"images\":[{\"path\":\"\(image)\",\"buildID\":\"ab01\",\"base\":\"0x0\",\"end\":\"0x1\"}]"
      )
      .replacingOccurrences(of: "\"file\":\"/src/Cart.swift\"", with: "\"file\":\"\(file)\",\"image\":\"\(image)\"")
    let received = try JSONDecoder().decode(ReceivedReport.self, from: Data(json.utf8))
    let text = ReportText.text(received, terminal: Terminal(descriptor: -1, environment: [:]))
    let isShown = kind == .older || kind == .own
    #expect(text.contains("▶ 42 │ let line42 = 42\n") == isShown, "\(text)")
    #expect(text.contains("line39") == isShown && text.contains("line45") == isShown && !text.contains("line46"))
  }
}
