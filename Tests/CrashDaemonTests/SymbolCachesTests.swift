import CrashSymbols
import FoundationEssentials
import Glibc
import Logging
import Testing

@testable import CrashDaemon

@Suite("Symbol jobs")
struct SymbolJobTests {
  /// A stand-in for crash-analyse.
  private func job(_ script: String, in directory: TestDirectory, timeout_ms: Int = 30_000) throws -> SymbolJob {
    let program = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "analyse", mode: 0o700)
    let image = try directory.write(Array("image".utf8), to: "image")
    let number = unsafe open(image, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open '\(image)'") }
    return SymbolJob(
      program: program, image: Descriptor(owning: number), buildID: "abcd", output: "\(directory.path)/out.cssym",
      timeout_ms: timeout_ms)
  }

  private func files(_ directory: TestDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
  }

  @Test("the child gets the image, the build id and nothing else, and its output becomes the cache")
  func success() throws {
    let directory = try TestDirectory()
    try job(#"read image; echo "$# $1 $2 $3 $image $(ls /proc/self/fd | wc -l) ${HOME-none}""#, in: directory).run()
    let text = try String(
      decoding: Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/out.cssym")), as: UTF8.self)
    // ls itself holds /proc/self/fd open.
    #expect(text == "3 build-cache --build-id abcd image 4 none\n")
    #expect(try files(directory) == ["analyse", "image", "out.cssym"])
  }

  @Test("a child that fails leaves no cache and its first line as the reason")
  func failure() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: HelperChild.Failure.self) {
      try job(#"echo partial; printf 'no ELF \033[31m\nsecond\n' >&2; exit 65"#, in: directory).run()
    }
    #expect(error?.description == "no ELF ?[31m (exit status 65)")
    #expect(try files(directory) == ["analyse", "image"])
  }

  @Test("a child that crashes is reported as such")
  func crash() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: HelperChild.Failure.self) { try job("kill -SEGV $$", in: directory).run() }
    #expect(error?.description == "it was ended by signal 11")
  }

  @Test("a child that takes too long is killed")
  func timeout() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: HelperChild.Failure.self) {
      try job("while :; do :; done", in: directory, timeout_ms: 1).run()
    }
    // Words follow when the kernel takes long to end it.
    #expect(error?.description.hasPrefix("it took longer than 1 ms") == true)
    #expect(try files(directory) == ["analyse", "image"])
  }

  @Test("a program that is not there is an error")
  func missing() throws {
    let directory = try TestDirectory()
    var job = try job("", in: directory)
    job.program = "/nowhere/crash-analyse"
    #expect(throws: SystemError.self) { try job.run() }
    #expect(try files(directory) == ["analyse", "image"])
  }
}

@Suite("Debug files")
struct DebugFileTests {
  private func debugFiles(_ directory: String, image: String) -> DebugFiles {
    DebugFiles(directory: directory, imagePath: image, user: geteuid(), owner: .user(geteuid()))
  }

  @Test("they are looked for by build id, then by name beside the image and below the directory for all of them")
  func paths() {
    #expect(
      debugFiles("/debug", image: "/srv/shop").paths(buildID: "abcdef", link: "shop.debug") == [
        "/debug/.build-id/ab/cdef.debug", "/srv/shop.debug", "/srv/.debug/shop.debug", "/debug/srv/shop.debug",
      ])
    #expect(debugFiles("/debug", image: "[vdso]").paths(buildID: "ab", link: "shop.debug") == [])
  }

  @Test(
    "a name that is no name of a file is refused", arguments: ["../shop", "/etc/shop", "..", ".", "", "a\n", "a/b"])
  func names(link: String) {
    #expect(debugFiles("/debug", image: "/srv/shop").paths(buildID: "ab", link: link) == [])
    #expect(!DebugFilePaths.isName(link) && DebugFilePaths.isName("shop.debug"))
  }

  @Test(
    "F8: an image path with .. makes no file one of the machine's debug directory",
    arguments: ["/../other/shop", "/x/../../other/shop", "DEBUG/../other/shop"])
  func leavingPath(image: String) throws {
    let directory = try TestDirectory()
    let debug = "\(directory.path)/debug"
    for folder in ["debug", "debug/x", "x", "other"] {
      #expect(unsafe mkdir("\(directory.path)/\(folder)", 0o700) == 0)
    }
    _ = try directory.write([1], to: "other/shop.debug")
    let files = debugFiles(debug, image: image.replacing("DEBUG", with: debug))
    #expect(files.openInstalled(buildID: "abcd", link: "shop.debug").isEmpty)
    #expect(files.paths(buildID: "abcd", link: "shop.debug").count == 3)
    // An image of `$ORIGIN/../lib` has what lies beside it.
    let beside = debugFiles(debug, image: "\(directory.path)/x/../other/shop")
    #expect(beside.openBeside(buildID: "abcd", link: "shop.debug").count == 1)
  }

  private func write(_ directory: TestDirectory, _ name: String, hasLines: Bool) throws {
    let output = Descriptor(
      owning: unsafe open(try directory.write([], to: name), O_WRONLY | O_CLOEXEC))
    var contents = SymbolCacheContents(
      base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0],
      hasDebugInformation: hasLines)
    contents.debugLink = "shop.debug"
    try SymbolCacheWriter.write(contents, to: output.number)
  }

  @Test("a stripped image has the symbols of the first debug file that fits", arguments: [false, true])
  func stripped(isThere: Bool) throws {
    let directory = try TestDirectory()
    try write(directory, "names", hasLines: false)
    try write(directory, "lines", hasLines: true)
    let wrong = "\(directory.path)/debug/.build-id/ab"
    try FileManager.default.createDirectory(atPath: wrong, withIntermediateDirectories: true)
    try Data("wrong\n".utf8).write(to: URL(fileURLWithPath: wrong + "/cd.debug"))
    if isThere { _ = try directory.write(Array("right\n".utf8), to: "shop.debug") }
    let image = try directory.write(Array("image\n".utf8), to: "shop")
    let script = """
      #!/bin/sh
      read image </proc/self/fd/0
      case $image in
        image) cat '\(directory.path)/names' ;;
        right) cat '\(directory.path)/lines' ;;
        *) echo 'the image has build id 00, not abcd' >&2; exit 65 ;;
      esac

      """
    let job = SymbolJob(
      program: try directory.write(Array(script.utf8), to: "analyse", mode: 0o700),
      image: Descriptor(owning: unsafe open(image, O_RDONLY | O_CLOEXEC)), buildID: "abcd",
      output: "\(directory.path)/out.cssym", timeout_ms: 60_000,
      debugFiles: debugFiles("\(directory.path)/debug", image: image))
    #expect(try job.run() == ["the image has build id 00, not abcd (exit status 65)"])
    let cache = try SymbolCache(path: job.output, buildID: "abcd")
    #expect(cache.hasDebugInformation == isThere)
    #expect(cache.debugLink == "shop.debug")
    #expect(try job.run(for: [1]).hasDebugInformation == isThere)
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(files.filter { $0.contains("cssym") } == ["out.cssym"])
  }
}

@Suite("Symbol caches")
struct SymbolCachesTests {
  private func caches(_ directory: TestDirectory, script: String, limits: Limits = .patient) throws -> SymbolCaches {
    let program = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "analyse", mode: 0o700)
    return SymbolCaches(
      SymbolCaches.Configuration(
        directory: directory.path, program: program, limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger))
  }

  private func image(_ directory: TestDirectory, mode: UInt16 = 0o600) throws -> ImageFile {
    let path = try directory.write([1], to: "image", mode: mode)
    return ImageFile(buildID: "abcd", path: path, isExecutable: true, descriptor: nil)
  }

  @Test("a crash waits for the caches of its frames, no longer than the job takes")
  func waits() async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, script: "read line; exit 65")
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
  }

  @Test("a crash does not wait for the whole cache: one of its own addresses is made beside it")
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
    // The next crash does not get it, and the whole one is still being made.
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 1).isEmpty)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
    withExtendedLifetime(writer) {}
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(files.filter { $0.contains("cssym") } == [])
  }

  @Test("a cache covers the addresses that were asked for, because of their names")
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

  @Test("F20: of one file a user names two build ids, whatever else it invents; another user's is still read")
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

  @Test("F20: a file that is replaced in place has its symbols, whatever was named of it before")
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
    // Both lines are shorter than a page; the file keeps its inode.
    #expect(unsafe ftruncate(file.number, 0) == 0 && Glibc.write(file.number, "abcd\n#\n", 7) == 7)
    await caches.prepare([image("abcd")], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).count == 1)
  }

  @Test("F20: jobs for one build id of a file count as one claim", .enabled(if: geteuid() == 0))
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
    // Open for both: neither this nor a child waits for the other.
    let opened = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
    for _ in 0..<8 { #expect(unsafe Glibc.write(opened.number, "\n", 1) == 1) }
    for user in users {
      #expect(await caches.caches(of: ["abcd": []], for: user, timeout_ms: 600_000).isEmpty)
    }
  }

  @Test("F20: a user whose images cost too much CPU time waits; the images of another do not")
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
    // An hour of it.
    await caches.configuration.cpu.charge(1_001, 36_000_000_000)
    await caches.prepare([try image("a2")], for: 1_001)
    await caches.prepare([try image("b1")], for: 1_002)
    #expect(await caches.caches(of: ["b1": []], for: 1_002, timeout_ms: 600_000).isEmpty)
    #expect(await caches.waiting.map(\.name.buildID) == ["a2"])
    // To open its files costs that time, too.
    var unseen = try image("a3")
    unseen.descriptor = nil
    await caches.prepare([unseen], for: 1_001)
    #expect(await caches.gaps(of: ["a3"], [:], for: 1_001)["a3"]?.reason.contains("CPU time") == true)
  }

  @Test("F20: a user with a short debt of CPU time does not wait for one with a long debt", arguments: [false, true])
  func shortDebt(isOfTables: Bool) async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.childBurst_ms, limits.childShare_percent) = (0, 1)
    let caches = try caches(directory, script: "echo $3 >>'\(directory.path)/runs'; exit 65", limits: limits)
    let configuration = await caches.configuration
    let (tables, cpu) = (UnwindTables(configuration), configuration.cpu)
    // An hour, and a second.
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

  @Test("each kind of missing symbols has its reason")
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
    // What a cache itself lacks.
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
    "a file that fails by passing trouble is tried thrice, one that is no image once",
    arguments: [("kill -KILL $$", 3), ("exit 74", 3), ("exit 65", 1)])
  func attempts(script: String, count: Int) async throws {
    let directory = try TestDirectory()
    // The whole cache; what is made in haste has two more arguments.
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

  @Test("a report whose symbols come late is announced once, when they are there")
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
    // They are there already.
    await caches.remember(LateReport(id: "r2", user: 1_001), until: ["a1"])
    await caches.endLate()
    #expect(await told.next() == LateReport(id: "r2", user: 1_001))
    #expect(await told.next() == nil)
    withExtendedLifetime(gate) {}
  }

  @Test("a crash does not wait longer than its limit")
  func gaveUp() async throws {
    let directory = try TestDirectory()
    let (gate, done) = ("\(directory.path)/gate", "\(directory.path)/done")
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; : >'\(done)'; exit 65")
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 1).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: done))
    // Open for both: neither this nor the child waits for the other.
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
    _ = await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000)
    #expect(FileManager.default.fileExists(atPath: done))
    // What was written is lost when the pipe has no reader before the child opens it.
    withExtendedLifetime(writer) {}
  }

  @Test("who hands in a wrong file for a build id does not spoil it for the right one")
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

  /// A file of 100 bytes that was used and made at these times.
  private func write(_ name: String, in directory: TestDirectory, used: Int, made: Int) throws {
    let path = try directory.write([UInt8](repeating: 1, count: 100), to: name)
    let times = [timespec(tv_sec: used, tv_nsec: 0), timespec(tv_sec: made, tv_nsec: 0)]
    // Two times, which it reads.
    #expect(unsafe utimensat(AT_FDCWD, path, times, 0) == 0)
  }

  private func files(_ directory: TestDirectory) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory.path).filter { $0.contains(".") }.sorted()
  }

  @Test("caches above the limit are evicted, the least recently used first")
  func prune() throws {
    let directory = try TestDirectory()
    for (index, name) in ["a.cssym", "b.cssym", "c.cssym", "d.txt"].enumerated() {
      // The first was made first, and is used most.
      try write(name, in: directory, used: 2_000_000 - index, made: 1_000_000 + index)
    }
    let caches = CacheDirectory(path: directory.path)
    try caches.prune(to: 200, shareBytes: 1_000)
    #expect(try files(directory) == ["a.cssym", "b.cssym", "d.txt"])
    CacheDirectory.touch("\(directory.path)/b.cssym")
    try caches.prune(to: 1_000, shareBytes: 100)
    #expect(try files(directory) == ["b.cssym", "d.txt"])
  }

  @Test("the caches of all users have one limit, and the user with the most loses first")
  func pruneAll() throws {
    let directory = try TestDirectory()
    for user in ["1001", "1002"] {
      try FileManager.default.createDirectory(atPath: "\(directory.path)/\(user)", withIntermediateDirectories: false)
    }
    let names = ["a.cssym", "1001/a.cssym", "1001/b.cssym", "1001/c.cssym", "1002/a.cssym"]
    for (index, name) in names.enumerated() { try write(name, in: directory, used: 1_000_000 + index, made: 1) }
    try CacheDirectory(path: directory.path).prune(to: 350, shareBytes: 1_000)
    #expect(try files(directory) == ["1001/c.cssym", "1002/a.cssym", "a.cssym"])
  }

  @Test("what an earlier crashd began and did not end goes")
  func leftovers() throws {
    let directory = try TestDirectory()
    try FileManager.default.createDirectory(atPath: "\(directory.path)/1001", withIntermediateDirectories: false)
    let own = "ab.cssym.\(getpid()).7.partial"
    for name in ["ab.cssym", "ab.cssym.1.7.partial", "1001/ab.1.csunw.1.7.partial", own] {
      _ = try directory.write([1], to: name)
    }
    try CacheDirectory(path: directory.path).removeLeftovers()
    #expect(try files(directory) == ["ab.cssym", own])
  }

  /// Waits at `gate` for who is slow; the others' caches are ready.
  private func fairness(_ directory: TestDirectory, isHasty: Bool) throws -> (SymbolCaches, gate: Descriptor) {
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    for (name, id) in [("slow1", 0xa1), ("slow2", 0xa2), ("slow3", 0xa3), ("fast", 0xf0)] as [(String, UInt8)] {
      _ = try directory.write(Array("\(name)\n".utf8), to: name, mode: 0o666)
      let output = Descriptor(
        owning: unsafe Glibc.open(try directory.write([], to: "\(name).ready"), O_WRONLY | O_CLOEXEC))
      var contents = SymbolCacheContents(
        base: 0, buildID: [id], ranges: [], locations: [], contexts: [], functions: [], strings: [0])
      contents.isPartial = isHasty
      try SymbolCacheWriter.write(contents, to: output.number)
    }
    // Haste alone: no whole cache is ever ready.
    let whole = isHasty ? "test $# = 3 && read line <'\(gate)'" : ":"
    let slow = "case $image in slow*) read line <'\(gate)';; esac"
    let caches = try caches(
      directory, script: "read image </proc/self/fd/0; \(whole); \(slow); cat '\(directory.path)'/$image.ready")
    // Open for both: neither this nor a child waits for the other.
    return (caches, Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC)))
  }

  @Test("slow images of one user hold up no other's", arguments: [false, true])
  func fair(isHasty: Bool) async throws {
    let directory = try TestDirectory()
    let (caches, gate) = try fairness(directory, isHasty: isHasty)
    let image = { (name: String, id: String) in
      ImageFile(buildID: id, path: "\(directory.path)/\(name)", isExecutable: true, descriptor: nil)
    }
    let slow = [("slow1", "a1"), ("slow2", "a2"), ("slow3", "a3")]
    await caches.prepare(slow.map(image), for: 1_001)
    let waiting = Task {
      await caches.caches(of: ["a1": [1], "a2": [1], "a3": [1]], for: 1_001, timeout_ms: 600_000)
    }
    // They have their places, and wait for more.
    while await caches.hastyRunning != [1_001, 1_001] { await Task.yield() }
    await caches.prepare([image("fast", "f0")], for: 1_002)
    let found = await caches.caches(of: ["f0": [1]], for: 1_002, timeout_ms: 600_000)
    #expect(found["f0"]?.isPartial == isHasty)
    // The slow ones end now.
    waiting.cancel()
    for _ in 0..<16 { #expect(unsafe Glibc.write(gate.number, "\n", 1) == 1) }
    #expect(await waiting.value.count == 3)
    withExtendedLifetime(gate) {}
  }

  @Test("images of one user that wait are limited, and those of another are taken")
  func waitingLimit() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.symbolJobs, limits.symbolJobsAtOncePerUser, limits.symbolJobsPerUser) = (3, 1, 1)
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; exit 65", limits: limits)
    let image = { (id: String) in
      let path = try directory.write(Array(id.utf8), to: id, mode: 0o666)
      return ImageFile(buildID: id, path: path, isExecutable: true, descriptor: nil)
    }
    // One runs, one waits, one is refused.
    for id in ["a1", "a2", "a3"] { await caches.prepare([try image(id)], for: 1_001) }
    await caches.prepare([try image("b1")], for: 1_002)
    #expect(await caches.waiting.map(\.name.buildID) == ["a2"])
    #expect(await caches.entries.keys.map(\.buildID).sorted() == ["a1", "a2", "b1"])
    #expect(await caches.configuration.ledger.refusals == ["symbols": 1])
    // Open for both: neither this nor a child waits for the other.
    let opened = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
    for _ in 0..<8 { #expect(unsafe Glibc.write(opened.number, "\n", 1) == 1) }
    #expect(await caches.caches(of: ["a1": [], "a2": []], for: 1_001, timeout_ms: 600_000).isEmpty)
    #expect(await caches.caches(of: ["b1": []], for: 1_002, timeout_ms: 600_000).isEmpty)
  }

  @Test("F11: images of a user's subordinate uids wait as that user's own")
  func subordinates() async throws {
    let directory = try TestDirectory()
    var limits = Limits.patient
    (limits.symbolJobsAtOncePerUser, limits.symbolJobsPerUser) = (1, 1)
    limits.accounts = UserAccounts(
      ranges: try directory.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, script: "read line <'\(gate)'; exit 65", limits: limits)
    // One runs, one waits, one is refused.
    for (id, user) in [("a1", 54_021), ("a2", 54_300), ("a3", 54_301)] as [(String, UInt32)] {
      let path = try directory.write(Array(id.utf8), to: id, mode: 0o666)
      await caches.prepare(
        [ImageFile(buildID: id, path: path, isExecutable: true, descriptor: nil)], for: user)
    }
    #expect(await caches.waiting.map(\.name.buildID) == ["a2"])
    #expect(await caches.configuration.ledger.refusals == ["symbols": 1])
    // Open for both: neither this nor a child waits for the other.
    let opened = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
    for _ in 0..<8 { #expect(unsafe Glibc.write(opened.number, "\n", 1) == 1) }
    #expect(await caches.caches(of: ["a2": []], for: 54_300, timeout_ms: 600_000).isEmpty)
  }

  @Test("F11: slow images of several users leave a place for root's", arguments: [false, true])
  func keptPlace(isHasty: Bool) async throws {
    let directory = try TestDirectory()
    let (caches, gate) = try fairness(directory, isHasty: isHasty)
    let slow: [(String, String, UInt32)] = [("slow1", "a1", 1_001), ("slow2", "a2", 1_002), ("slow3", "a3", 1_003)]
    var waiting: [Task<Int, Never>] = []
    for (name, id, user) in slow {
      let image = ImageFile(buildID: id, path: "\(directory.path)/\(name)", isExecutable: true, descriptor: nil)
      await caches.prepare([image], for: user)
      waiting.append(Task { await caches.caches(of: [id: [1]], for: user, timeout_ms: 600_000).count })
    }
    while await caches.hastyRunning.count != 3 { await Task.yield() }
    let image = ImageFile(buildID: "f0", path: "\(directory.path)/fast", isExecutable: true, descriptor: nil)
    await caches.prepare([image], for: geteuid())
    let found = await caches.caches(of: ["f0": [1]], for: geteuid(), timeout_ms: 600_000)
    #expect(found["f0"]?.isPartial == isHasty)
    for _ in 0..<16 { #expect(unsafe Glibc.write(gate.number, "\n", 1) == 1) }
    for task in waiting { #expect(await task.value == 1) }
    withExtendedLifetime(gate) {}
  }

  @Test("only files of root or crashd's user make caches for everybody")
  func owners() throws {
    let directory = try TestDirectory()
    let user: UInt32 = 54_321
    let owner: CacheOwner = directory.isVouchedFor ? .everybody : .user(user)
    #expect(try image(directory, mode: 0o644).open(for: user).owner == owner)
    #expect(try image(directory, mode: 0o666).open(for: user).owner == .user(user))
    #expect(throws: SystemError.self) { try image(directory, mode: 0o600).open(for: user) }
    #expect(CacheName(buildID: "ab", owner: .everybody).path(in: "/c") == "/c/ab.cssym")
    #expect(CacheName(buildID: "ab", owner: .user(7)).path(in: "/c") == "/c/7/ab.cssym")
  }

  @Test("no device and no pipe is opened for its name", arguments: ["/dev/zero", "/proc/self/exe/x", "/tmp"])
  func special(path: String) {
    let image = ImageFile(buildID: "abcd", path: path, isExecutable: false, descriptor: nil)
    #expect(throws: SystemError.self) { try image.open(for: geteuid()) }
  }

  @Test(
    "a build id that is no hexadecimal number never becomes a path", arguments: ["", "a", "../x", "AB", "ab/", "a b"])
  func buildIDs(text: String) {
    #expect(!CacheName.isBuildID(text))
    #expect(CacheName.isBuildID("00ff"))
  }
}
