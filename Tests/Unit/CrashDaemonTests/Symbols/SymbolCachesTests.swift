import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Symbol caches")
struct SymbolCachesTests {
  func caches(_ directory: TestDirectory, script: String, limits: Limits = .patient) throws -> SymbolCaches {
    let program = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "analyse", mode: 0o700)
    return SymbolCaches(
      SymbolCaches.Configuration(
        directory: directory.path, program: program, limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger))
  }

  func image(_ directory: TestDirectory, mode: UInt16 = 0o600) throws -> ImageFile {
    let path = try directory.write([1], to: "image", mode: mode)
    return ImageFile(buildID: "abcd", path: path, isExecutable: true, descriptor: nil)
  }

  @Test("a crash waits for the symbol caches of its frames only until their jobs have ended")
  func waits() async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, script: "read line; exit 65")
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
  }

  @Test("a crash does not wait for the complete cache, because a partial cache for its own addresses is made first")
  func haste() async throws {
    let directory = try TestDirectory()
    let (gate, said) = ("\(directory.path)/gate", "\(directory.path)/said")
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let ready = try directory.write([], to: "ready")
    let output = Descriptor(owning: unsafe Glibc.open(ready, O_WRONLY | O_CLOEXEC))
    var contents = SymbolCacheContents(
      base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0])
    contents.isPartial = true
    try SymbolCacheWriter.write(contents, to: output.number)
    let caches = try caches(
      directory,
      script: """
        if test $# = 3; then read line <'\(gate)'; exit 65; fi
        echo "$4 $5" >'\(said)'; cat '\(ready)'
        """)
    await caches.prepare([try image(directory)], for: geteuid())
    let found = await caches.caches(of: ["abcd": [0x1f0]], for: geteuid(), timeout_ms: 600_000)
    #expect(found["abcd"]?.isPartial == true)
    let text = try Data(contentsOf: URL(fileURLWithPath: said))
    #expect(String(decoding: text, as: UTF8.self) == "--at 1f0\n")
    // The next crash gets no cache, because the partial cache has only the first crash's addresses, and the complete
    // cache is not ready.
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 1).isEmpty)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
    withExtendedLifetime(writer) {}
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(files.filter { $0.contains("cssym") } == [])
  }

  @Test("a cache is used only for the addresses whose names a child process has checked")
  func covering() throws {
    let directory = try TestDirectory()
    func cache(isPartial: Bool) throws -> SymbolCache {
      let path = try directory.write([], to: "cache-\(isPartial)")
      let output = Descriptor(owning: unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC))
      var contents = SymbolCacheContents(
        base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0])
      contents.isPartial = isPartial
      try SymbolCacheWriter.write(contents, to: output.number)
      return try SymbolCache(path: path, buildID: "abcd")
    }
    let whole = OpenCaches(asked: ["abcd": [1]], caches: ["abcd": try cache(isPartial: false)])
    let partial = OpenCaches(asked: ["abcd": [1, 2]], caches: ["abcd": try cache(isPartial: true)])
    #expect(whole.cover(["abcd": [1]]) && partial.cover(["abcd": [2]]) && partial.cover([:]))
    #expect(
      !partial.cover(["abcd": [2, 3]]) && !whole.cover(["abcd": [1], "ef01": []]) && !whole.cover(["abcd": [3]]))
    #expect(OpenCaches(asked: ["abcd": [1]]).cover(["abcd": [3]]))
  }

  @Test("F20: a user may claim two build ids for one file, and the claim of another user is still processed")
  func claims() async throws {
    let directory = try TestDirectory()
    let runs = "\(directory.path)/runs"
    let caches = try caches(directory, script: "echo $3 >>'\(runs)'; exit 65")
    let path = try directory.write([1], to: "image", mode: 0o644)
    let made = { (name: String) in ImageFile(buildID: name, path: path, isExecutable: true, descriptor: nil) }
    let names = (0..<512).map { String(0x1000 + $0, radix: 16) }
    for round in [names, Array(names.reversed())] {
      await caches.prepare(round.map(made), for: 0)
      let wanted = Dictionary(uniqueKeysWithValues: round.map { ($0, Set<UInt64>()) })
      #expect(await caches.caches(of: wanted, for: 0, timeout_ms: 600_000).isEmpty)
    }
    #expect(try String(contentsOfFile: runs, encoding: .utf8).split(separator: "\n").count == 2)
    await caches.prepare([made("abcd")], for: 1_001)
    #expect(await caches.caches(of: ["abcd": []], for: 1_001, timeout_ms: 600_000).isEmpty)
    #expect(try String(contentsOfFile: runs, encoding: .utf8).hasSuffix("abcd\n"))
  }

  @Test("F20: a file replaced in place gets its symbols, whatever build id was claimed for its earlier contents")
  func replaced() async throws {
    let directory = try TestDirectory()
    let output = Descriptor(owning: unsafe Glibc.open(try directory.write([], to: "ready"), O_WRONLY | O_CLOEXEC))
    try SymbolCacheWriter.write(
      SymbolCacheContents(
        base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0]),
      to: output.number)
    let caches = try caches(
      directory, script: #"read image; test "$image" = "$3" || exit 65; cat '\#(directory.path)/ready'"#)
    let path = try directory.write(Array("none\n".utf8), to: "image")
    let image = { (name: String) in ImageFile(buildID: name, path: path, isExecutable: true, descriptor: nil) }
    for name in ["a1", "a2", "abcd"] {
      await caches.prepare([image(name)], for: geteuid())
      #expect(await caches.caches(of: [name: []], for: geteuid(), timeout_ms: 600_000).isEmpty)
    }
    let file = Descriptor(owning: unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CLOEXEC))
    // Replaces the contents of the file in place, so it keeps its inode.
    #expect(unsafe ftruncate(file.number, 0) == 0 && Glibc.write(file.number, "abcd\n#\n", 7) == 7)
    await caches.prepare([image("abcd")], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).count == 1)
  }

  @Test("F20: several jobs for one build id of a file are counted as one claim", .enabled(if: geteuid() == 0))
  func sameClaim() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    limits.accounts = UserAccounts(
      ranges: try directory.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; exit 65", limits: limits)
    let path = try directory.write([1], to: "image", mode: 0o666)
    let image = ImageFile(buildID: "abcd", path: path, isExecutable: true, descriptor: nil)
    let users: [UInt32] = [54_021, 54_300, 54_301]
    for user in users { await caches.prepare([image], for: user) }
    #expect(await caches.entries.count == users.count)
    // The pipe is open for reading and writing here, so open() blocks neither the test nor a child.
    let opened = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
    for _ in 0..<8 { #expect(unsafe Glibc.write(opened.number, "\n", 1) == 1) }
    for user in users {
      #expect(await caches.caches(of: ["abcd": []], for: user, timeout_ms: 600_000).isEmpty)
    }
  }

  @Test("F20: a user whose images cost too much CPU time has to wait; other users do not")
  func cost() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.childBurst_ms, limits.childShare_percent) = (0, 1)
    let caches = try caches(directory, script: "exit 65", limits: limits)
    let image = { (id: String) in
      let path = try directory.write(Array(id.utf8), to: id, mode: 0o666)
      let sent = Descriptor(owning: unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC))
      return ImageFile(buildID: id, path: path, isExecutable: true, descriptor: sent)
    }
    await caches.prepare([try image("a1")], for: 1_001)
    #expect(await caches.caches(of: ["a1": []], for: 1_001, timeout_ms: 600_000).isEmpty)
    // Charges user 1,001 with one hour of CPU time.
    await caches.configuration.cpu.charge(1_001, 36_000_000_000)
    await caches.prepare([try image("a2")], for: 1_001)
    await caches.prepare([try image("b1")], for: 1_002)
    #expect(await caches.caches(of: ["b1": []], for: 1_002, timeout_ms: 600_000).isEmpty)
    #expect(await caches.waitingJobs.map(\.name.buildID) == ["a2"])
    // While the user has used too much CPU time, crashd also opens no files of the user, because this costs CPU time.
    var unseen = try image("a3")
    unseen.descriptor = nil
    await caches.prepare([unseen], for: 1_001)
    #expect(await caches.gaps(of: ["a3"], [:], for: 1_001)["a3"]?.reason.contains("CPU time") == true)
  }

  @Test(
    "F20: a user that has to wait briefly for its CPU time does not wait for a user with a long wait",
    arguments: [false, true])
  func shortDebt(isOfTables: Bool) async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.childBurst_ms, limits.childShare_percent) = (0, 1)
    let caches = try caches(directory, script: "echo $3 >>'\(directory.path)/runs'; exit 65", limits: limits)
    let configuration = await caches.configuration
    let (tables, cpu) = (UnwindTables(configuration), configuration.cpu)
    // User 1,001 has to wait an hour, and user 1,002 a second: each a hundred times the charged CPU time.
    cpu.charge(1_001, 36_000_000_000)
    cpu.charge(1_002, 10_000_000)
    for (id, user) in [("a1", 1_001), ("b1", 1_002)] as [(String, UInt32)] {
      let path = try directory.write(Array(id.utf8), to: id, mode: 0o666)
      let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
      let image = ImageFile(
        buildID: id, path: path, isExecutable: true, descriptor: Descriptor(owning: number))
      if isOfTables { await tables.prepare([image], for: user) } else { await caches.prepare([image], for: user) }
    }
    if isOfTables {
      await tables.settle(["b1"], for: 1_002, timeout_ms: 600_000)
    } else {
      #expect(await caches.caches(of: ["b1": []], for: 1_002, timeout_ms: 600_000).isEmpty)
    }
    #expect(try String(contentsOfFile: "\(directory.path)/runs", encoding: .utf8) == "b1\n")
  }

  @Test("each kind of missing symbols has its own reason in the report")
  func gaps() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let script =
      "case $3 in a1) echo 'the image has build id 00, not a1' >&2; exit 65;; a2) read line <'\(gate)';; esac"
    let caches = try caches(directory, script: script + "; exit 65")
    let path = try image(directory).path
    let images = [("a1", path), ("a2", path), ("a3", "\(directory.path)/nowhere")].map {
      ImageFile(buildID: $0.0, path: $0.1, isExecutable: true, descriptor: nil)
    }
    await caches.prepare(images, for: geteuid())
    #expect(await caches.caches(of: ["a1": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
    #expect(await caches.caches(of: ["a2": []], for: geteuid(), timeout_ms: 1).isEmpty)
    let gaps = await caches.gaps(of: ["a1", "a2", "a3", "a4"], [:], for: geteuid())
    #expect(gaps["a1"]?.reason == "the image has build id 00, not a1 (exit status 65)")
    #expect(gaps["a2"] == SymbolGap(reason: "its symbols were not ready in time", mayFill: true))
    #expect(gaps["a3"]?.reason.contains("nowhere") == true)
    #expect(gaps["a4"]?.reason == "no file was found that has its build id")
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
    #expect(await caches.caches(of: ["a2": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
    withExtendedLifetime(writer) {}
    // With these caches, the reason depends on the cache.
    for (isIncomplete, hasLines) in [(true, true), (false, false), (false, true)] {
      let output = Descriptor(
        owning: unsafe Glibc.open(try directory.write([], to: "made"), O_WRONLY | O_TRUNC | O_CLOEXEC))
      var contents = SymbolCacheContents(
        base: 0, buildID: [0xb0], ranges: [], locations: [], contexts: [], functions: [], strings: [0],
        hasDebugInformation: hasLines, isIncomplete: isIncomplete)
      contents.isPartial = false
      try SymbolCacheWriter.write(contents, to: output.number)
      let cache = try SymbolCache(path: "\(directory.path)/made", buildID: "b0")
      let gap = await caches.gaps(of: ["b0"], ["b0": cache], for: geteuid())["b0"]
      #expect((gap == nil) == (hasLines && !isIncomplete))
      #expect(gap?.isNamesOnly == gap.map { _ in !isIncomplete })
    }
  }

  @Test(
    "a symbol job is tried three times after a temporary failure, and once for a file that is not an image",
    arguments: [("kill -KILL $$", 3), ("exit 74", 3), ("exit 65", 1)])
  func attempts(script: String, count: Int) async throws {
    let directory = try TestDirectory()
    // The script logs only jobs with three arguments, which are those for the complete cache. The job for a partial
    // cache has five.
    let caches = try caches(directory, script: "test $# = 3 && echo asked >>\"$0.log\"; \(script)")
    let image = ImageFile(
      buildID: "abcd", path: try directory.write([1], to: "image"), isExecutable: true, descriptor: nil)
    for _ in 0..<5 {
      await caches.prepare([image], for: geteuid())
      #expect(await caches.caches(of: ["abcd": [1]], for: geteuid(), timeout_ms: 600_000).isEmpty)
    }
    let log = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/analyse.log"))
    #expect(String(decoding: log, as: UTF8.self) == String(repeating: "asked\n", count: count))
  }

  @Test("a report whose symbols come late is announced once, when the symbols are ready")
  func late() async throws {
    let directory = try TestDirectory()
    let (caches, gate) = try fairness(directory, isHasty: false)
    let image = ImageFile(buildID: "a1", path: "\(directory.path)/slow1", isExecutable: true, descriptor: nil)
    await caches.prepare([image], for: 1_001)
    #expect(await caches.caches(of: ["a1": []], for: 1_001, timeout_ms: 1).isEmpty)
    for _ in 0..<2 { await caches.remember(LateReport(id: "r1", user: 1_001), until: ["a1"]) }
    #expect(unsafe Glibc.write(gate.number, "\n", 1) == 1)
    var told = caches.lateReports.makeAsyncIterator()
    #expect(await told.next() == LateReport(id: "r1", user: 1_001))
    #expect(await caches.caches(of: ["a1": []], for: 1_001, timeout_ms: 600_000).count == 1)
    // The symbols for the report r2 are already available.
    await caches.remember(LateReport(id: "r2", user: 1_001), until: ["a1"])
    await caches.endLate()
    #expect(await told.next() == LateReport(id: "r2", user: 1_001))
    #expect(await told.next() == nil)
    withExtendedLifetime(gate) {}
  }

  @Test("a crash waits for symbol caches at most until its time limit")
  func gaveUp() async throws {
    let directory = try TestDirectory()
    let (gate, done) = ("\(directory.path)/gate", "\(directory.path)/done")
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; : >'\(done)'; exit 65")
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 1).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: done))
    // The pipe is open for reading and writing here, so open() blocks neither the test nor the child.
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
    _ = await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000)
    #expect(FileManager.default.fileExists(atPath: done))
    // The descriptor must stay open until here: if no process had the pipe open, the bytes that the test writes before
    // the child opens it would be lost.
    withExtendedLifetime(writer) {}
  }

  @Test("after a wrong file was sent for a build id, the right file is still read")
  func squatting() async throws {
    let directory = try TestDirectory()
    let ready = try directory.write([], to: "ready")
    let output = Descriptor(owning: unsafe Glibc.open(ready, O_WRONLY | O_CLOEXEC))
    try SymbolCacheWriter.write(
      SymbolCacheContents(
        base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0]),
      to: output.number)
    let caches = try caches(
      directory, script: #"read image; test "$image" = right || exit 65; cat '\#(directory.path)/ready'"#)
    for text in ["wrong", "right"] {
      let path = try directory.write(Array("\(text)\n".utf8), to: text)
      let image = ImageFile(buildID: "abcd", path: path, isExecutable: true, descriptor: nil)
      await caches.prepare([image], for: geteuid())
      let found = await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000)
      #expect(found.isEmpty == (text == "wrong"))
    }
  }

  @Test("only files of root or crashd's user become caches that all users share")
  func owners() throws {
    let directory = try TestDirectory()
    let user: UInt32 = 54_321
    let owner: CacheOwner = directory.isVouchedFor ? .allUsers : .user(user)
    #expect(try image(directory, mode: 0o644).open(for: user).owner == owner)
    #expect(try image(directory, mode: 0o666).open(for: user).owner == .user(user))
    #expect(throws: SystemError.self) { try image(directory, mode: 0o600).open(for: user) }
    #expect(CacheName(buildID: "ab", owner: .allUsers).path(in: "/c") == "/c/ab.cssym")
    #expect(CacheName(buildID: "ab", owner: .user(7)).path(in: "/c") == "/c/7/ab.cssym")
  }

  @Test("a device or a pipe is never opened as an image", arguments: ["/dev/zero", "/proc/self/exe/x", "/tmp"])
  func special(path: String) {
    let image = ImageFile(buildID: "abcd", path: path, isExecutable: false, descriptor: nil)
    #expect(throws: SystemError.self) { try image.open(for: geteuid()) }
  }

  @Test(
    "crashd never makes a path from a build id that is not hexadecimal",
    arguments: ["", "a", "../x", "AB", "ab/", "a b"])
  func buildIDs(text: String) {
    #expect(!CacheName.isBuildID(text))
    #expect(CacheName.isBuildID("00ff"))
  }
}
