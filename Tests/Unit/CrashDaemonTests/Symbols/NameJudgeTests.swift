import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Demangled names")
struct NameJudgeTests {
  private func judge(
    _ directory: TestDirectory, script: String, limits: Limits = .patient
  ) throws -> NameJudge {
    let program = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "analyse", mode: 0o700)
    return NameJudge(
      SymbolCaches.Configuration(
        directory: directory.path, program: program, limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger))
  }

  private let names: Set = ["$s1aAAyyF", "$s1bAAyyF", "$s1cAAyyF", "main", ""]

  @Test("a child process checks each mangled name once, and names that were not checked stay mangled")
  func verdicts() async throws {
    let directory = try TestDirectory()
    let (asked, verdicts) = ("\(directory.path)/asked", #"printf '\001\000'"#)
    let judge = try judge(directory, script: "tr '\\0' '\\n' >>'\(asked)'; \(verdicts); kill -SEGV $$")
    #expect(await judge.unreadable(of: names) == ["$s1bAAyyF", "$s1cAAyyF"])
    #expect(await judge.unreadable(of: ["$s1aAAyyF", "main"]) == [])
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: asked)), as: UTF8.self)
    #expect(text == "$s1aAAyyF\n$s1bAAyyF\n$s1cAAyyF\n")
  }

  @Test("of the names that a child has not checked, only the name that can have ended the child stays mangled later")
  func unchecked() async throws {
    let directory = try TestDirectory()
    let (asked, isLater) = ("\(directory.path)/asked", "\(directory.path)/later")
    let script = """
      tr '\\0' '\\n' >>'\(asked)'
      if [ -e '\(isLater)' ]; then printf '\\001'; exit; fi
      touch '\(isLater)'
      printf '\\001'; kill -SEGV $$
      """
    let judge = try judge(directory, script: script)
    #expect(await judge.unreadable(of: names) == ["$s1bAAyyF", "$s1cAAyyF"])
    #expect(await judge.judged(["ab": ["$s1bAAyyF"], "cd": ["$s1cAAyyF"]]) == ["ab": ["$s1bAAyyF"]])
    #expect(await judge.unreadable(of: names) == ["$s1bAAyyF"])
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: asked)), as: UTF8.self)
    #expect(text == "$s1aAAyyF\n$s1bAAyyF\n$s1cAAyyF\n$s1cAAyyF\n")
  }

  @Test("if a child takes too long or refuses its input, the names that it has not checked get no verdict")
  func stopped() async throws {
    for end in ["kill -STOP $$", "exit 74"] {
      let directory = try TestDirectory()
      let isLater = "\(directory.path)/later"
      let script = """
        if [ -e '\(isLater)' ]; then printf '\\001\\001\\001'; exit; fi
        touch '\(isLater)'
        \(end)
        """
      var limits = Limits.patient
      // The stopped child never ends by itself. The tries are unlimited, because a later child can also take too long
      // if the machine stalls.
      (limits.judgeNames_ms, limits.judgeNameTries) = (500, .max)
      let judge = try judge(directory, script: script, limits: limits)
      var unreadable = await judge.unreadable(of: names)
      #expect(unreadable == ["$s1aAAyyF", "$s1bAAyyF", "$s1cAAyyF"])
      for _ in 0..<100 where !unreadable.isEmpty { unreadable = await judge.unreadable(of: names) }
      #expect(unreadable == [])
    }
  }

  @Test("names whose text is too long are checked, also if a later name ends the child")
  func long() async throws {
    let directory = try TestDirectory()
    let judge = try judge(directory, script: #"printf '\002'; kill -SEGV $$"#)
    #expect(await judge.unreadable(of: names) == ["$s1aAAyyF", "$s1bAAyyF", "$s1cAAyyF"])
    #expect(await judge.judged(["ab": ["$s1aAAyyF", "$s1bAAyyF"]]) == ["ab": ["$s1aAAyyF", "$s1bAAyyF"]])
    #expect(await judge.judged(["ab": ["$s1cAAyyF"]]) == [:])
  }

  @Test("a name on which three children take too long stays mangled without a fourth child")
  func late() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    limits.judgeNames_ms = 100
    let judge = try judge(directory, script: "kill -STOP $$", limits: limits)
    for _ in 0..<3 {
      #expect(await judge.judged(["ab": ["$s1aAAyyF"]]) == [:])
      #expect(await judge.unreadable(of: names) == ["$s1aAAyyF", "$s1bAAyyF", "$s1cAAyyF"])
    }
    #expect(await judge.judged(["ab": ["$s1aAAyyF"], "cd": ["$s1bAAyyF"]]) == ["ab": ["$s1aAAyyF"]])
  }

  @Test("a name that does not fit into the child's input does not get the verdict of another name")
  func limit() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    limits.judgedNamesBytes = 16
    let judge = try judge(directory, script: #"tr -dc '\0' | tr '\0' '\1'"#, limits: limits)
    let long = "$s1b" + String(repeating: "A", count: 20)
    #expect(await judge.unreadable(of: ["$s1aAAyyF", long, "$s1c"]) == [long])
  }

  @Test("without a child process all names stay mangled")
  func missing() async throws {
    let directory = try TestDirectory()
    let judge = try judge(directory, script: "exit 1")
    #expect(unsafe unlink("\(directory.path)/analyse") == 0)
    #expect(await judge.unreadable(of: names) == ["$s1aAAyyF", "$s1bAAyyF", "$s1cAAyyF"])
  }

  @Test("a name that must not be demangled is shown mangled")
  func shown() throws {
    let directory = try TestDirectory()
    let output = Descriptor(
      owning: unsafe Glibc.open(try directory.write([], to: "cache"), O_WRONLY | O_CLOEXEC))
    let strings = [0] + Array("$s1aAAyyF\0".utf8)
    try SymbolCacheWriter.write(
      SymbolCacheContents(
        base: 0, buildID: [0xab], ranges: [0x10, 0, 0x20, .max], locations: [0, 0], contexts: [1, 0, .max, 0],
        functions: [0, .max, 0, 0, 1, 0x10, 0, 0], strings: strings), to: output.number)
    let cache = try SymbolCache(path: "\(directory.path)/cache", buildID: "ab")
    var open = OpenCaches(asked: ["ab": [0x10]], caches: ["ab": cache])
    #expect(open.names == ["$s1aAAyyF"])
    #expect(open.frames(buildID: "ab", linkAddress: 0x10).map(\.mangled) == ["$s1aAAyyF"])
    open.unreadable = open.names
    #expect(open.frames(buildID: "ab", linkAddress: 0x10).map(\.mangled) == ["?$s1aAAyyF"])
    #expect(open.frames(buildID: "ab", linkAddress: 0x11).isEmpty)
  }
}
