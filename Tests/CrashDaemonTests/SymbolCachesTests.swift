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
    let error = #expect(throws: AnalyseChild.Failure.self) {
      try job(#"echo partial; printf 'no ELF \033[31m\nsecond\n' >&2; exit 65"#, in: directory).run()
    }
    #expect(error?.description == "no ELF ?[31m (exit status 65)")
    #expect(try files(directory) == ["analyse", "image"])
  }

  @Test("a child that crashes is told as such")
  func crash() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: AnalyseChild.Failure.self) { try job("kill -SEGV $$", in: directory).run() }
    #expect(error?.description == "it was ended by signal 11")
  }

  @Test("a child that takes too long is killed")
  func timeout() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: AnalyseChild.Failure.self) {
      try job("while :; do :; done", in: directory, timeout_ms: 1).run()
    }
    #expect(error?.description == "it took longer than 1 ms")
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
    #expect(!DebugFiles.isName(link) && DebugFiles.isName("shop.debug"))
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
  private func caches(_ directory: TestDirectory, script: String, limits: Limits = Limits()) throws -> SymbolCaches {
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
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 60_000).isEmpty)
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
    let found = await caches.caches(of: ["abcd": [0x1f0]], for: geteuid(), timeout_ms: 60_000)
    #expect(found["abcd"]?.isPartial == true)
    let text = try Data(contentsOf: URL(fileURLWithPath: said))
    #expect(String(decoding: text, as: UTF8.self) == "--at 1f0\n")
    // The next crash does not get it, and the whole one is still being made.
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 1).isEmpty)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe write(writer.number, "\n", 1) == 1)
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 60_000).isEmpty)
    withExtendedLifetime(writer) {}
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(files.filter { $0.contains("cssym") } == [])
  }

  @Test("a cache made in haste does not cover other addresses, a whole one does")
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
    #expect(whole.cover(["abcd": [3]]) && partial.cover(["abcd": [2]]) && partial.cover([:]))
    #expect(!partial.cover(["abcd": [2, 3]]) && !whole.cover(["abcd": [1], "ef01": []]))
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
    #expect(unsafe write(writer.number, "\n", 1) == 1)
    _ = await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 60_000)
    #expect(FileManager.default.fileExists(atPath: done))
    // What was written is lost when nobody has the pipe open before the child does.
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
      let found = await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 60_000)
      #expect(found.isEmpty == (text == "wrong"))
    }
  }

  @Test("caches above the limit go, the oldest first")
  func prune() throws {
    let directory = try TestDirectory()
    for (index, name) in ["a.cssym", "b.cssym", "c.cssym", "other"].enumerated() {
      let path = try directory.write([UInt8](repeating: 1, count: 100), to: name)
      let made = Date(timeIntervalSince1970: Double(1_000_000 + index))
      try FileManager.default.setAttributes([.modificationDate: made], ofItemAtPath: path)
    }
    try CacheDirectory(path: directory.path).prune(to: 200)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["b.cssym", "c.cssym", "other"])
  }

  @Test("only files of root or crashd's user make caches for everybody")
  func owners() throws {
    let directory = try TestDirectory()
    let user: UInt32 = 54_321
    #expect(try image(directory, mode: 0o644).open(for: user).owner == .everybody)
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
