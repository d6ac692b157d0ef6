import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Debug information from servers")
struct FetchTests {
  /// Creates caches whose helper programs are scripts.
  ///
  /// The script for `crash-analyse` makes a cache with lines if the file contains `lines`, and a cache with only names
  /// if it contains `image` or `bare`. It refuses other files.
  private func caches(
    _ directory: TestDirectory, fetch: String, urls: [String] = ["http://one", "http://two"],
    change: (inout Limits) -> Void = { _ in }
  ) throws -> SymbolCaches {
    for (name, id, hasLines) in [
      ("names-abcd", [0xab, 0xcd], false), ("rich-abcd", [0xab, 0xcd], true), ("names-ef01", [0xef, 0x01], false),
      ("rich-ef01", [0xef, 0x01], true),
    ] as [(String, [UInt8], Bool)] {
      let output = Descriptor(owning: unsafe open(try directory.write([], to: name), O_WRONLY | O_CLOEXEC))
      try SymbolCacheWriter.write(
        SymbolCacheContents(
          base: 0, buildID: id, ranges: [], locations: [], contexts: [], functions: [], strings: [0],
          hasDebugInformation: hasLines), to: output.number)
    }
    let analyse = """
      #!/bin/sh
      read image </proc/self/fd/0
      case $image in
        image|bare) cat '\(directory.path)'/names-$3 ;;
        lines) cat '\(directory.path)'/rich-$3 ;;
        *) echo 'the image has build id 00, not abcd' >&2; exit 65 ;;
      esac

      """
    let script = "#!/bin/sh\necho \"$@\" >>'\(directory.path)/asked'\n\(fetch)\n"
    var limits = Limits.patient
    change(&limits)
    let servers = FetchJob.Servers(
      program: try directory.write(Array(script.utf8), to: "fetch", mode: 0o700), urls: urls)
    return SymbolCaches(
      SymbolCaches.Configuration(
        directory: "\(directory.path)/cache",
        program: try directory.write(Array(analyse.utf8), to: "analyse", mode: 0o700),
        servers: urls.isEmpty ? nil : servers, limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger))
  }

  private func image(
    _ directory: TestDirectory, _ text: String = "image", buildID: String = "abcd", mode: UInt16 = 0o600
  ) throws -> ImageFile {
    let path = try directory.write(Array("\(text)\n".utf8), to: "program-\(buildID)", mode: mode)
    return ImageFile(buildID: buildID, path: path, isExecutable: true, descriptor: nil)
  }

  /// Returns the cache that crashd would use for a crash now.
  private func cache(_ caches: SymbolCaches, _ buildID: String = "abcd") async throws -> SymbolCache {
    try #require(await caches.caches(of: [buildID: []], for: geteuid(), timeout_ms: 600_000)[buildID])
  }

  private func asked(_ directory: TestDirectory) throws -> [String] {
    let path = "\(directory.path)/asked"
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Waits until no request is pending.
  ///
  /// This wait needs no time limit, because each request has one.
  private func settled(_ caches: SymbolCaches) async -> [String: Int] {
    while await caches.fetches["waiting"] != nil { await Task.yield() }
    return await caches.fetches
  }

  @Test("crashes do not wait for a fetch of debug information, which later replaces the names")
  func fetched() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let caches = try caches(directory, fetch: "read line <'\(gate)'; echo lines") {
      $0.fetch_ms = 400_000
      $0.fetchBytes = 1_234
    }
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(try await !cache(caches).hasDebugInformation)
    #expect(await caches.fetches == ["waiting": 1])
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    #expect(unsafe write(writer.number, "\n", 1) == 1)
    #expect(await settled(caches) == ["fetched": 1])
    withExtendedLifetime(writer) {}
    #expect(try await cache(caches).hasDebugInformation)
    #expect(
      try asked(directory) == ["--build-id abcd --limit-bytes 1234 --timeout-ms 400000 http://one http://two"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/cache") == ["abcd.cssym"])
    // The next run of crashd also finds the cache, so it requests no file from a server.
    let next = try self.caches(directory, fetch: "exit 69")
    await next.prepare([try image(directory)], for: geteuid())
    #expect(try await cache(next).hasDebugInformation)
    #expect(await settled(next) == [:])
  }

  @Test("fetched debug information updates earlier reports as soon as all of their builds are fetched")
  func late() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    // The pipe is open for reading and writing here, so open() blocks neither the test nor a child.
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    let caches = try caches(directory, fetch: "read line <'\(gate)'; echo lines") { $0.fetch_ms = 400_000 }
    let builds = ["abcd", "ef01"]
    var names: [String: SymbolCache] = [:]
    // Prepares one build after the other, so that the fetches start in the order of `builds`.
    for build in builds {
      await caches.prepare([try image(directory, buildID: build)], for: geteuid())
      names[build] = try await cache(caches, build)
    }
    let gap = SymbolGap(
      reason: "it has names only, and servers are being asked for its debug information", mayFill: true,
      isNamesOnly: true)
    #expect(await caches.gaps(of: builds, names, for: geteuid()) == ["abcd": gap, "ef01": gap])
    await caches.remember(LateReport(id: "both", user: geteuid()), until: builds)
    await caches.remember(LateReport(id: "first", user: geteuid()), until: ["abcd"])
    var told = caches.lateReports.makeAsyncIterator()
    for id in ["first", "both"] {
      #expect(unsafe write(writer.number, "\n", 1) == 1)
      #expect(await told.next()?.id == id)
    }
    #expect(await settled(caches) == ["fetched": 2])
    for build in builds { #expect(try await cache(caches, build).hasDebugInformation) }
    await caches.endLate()
    #expect(await told.next() == nil)
    withExtendedLifetime(writer) {}
  }

  @Test(
    "a fetched file that is invalid or of another build is ignored, and is not fetched again soon",
    arguments: [
      ("exit 66", "missing"), ("exit 69", "failed"), ("kill -SEGV $$", "failed"), ("echo wrong", "failed"),
      ("exit 0", "failed"), ("echo bare", "failed"), ("echo lines; exit 69", "failed"),
    ])
  func refused(fetch: String, result: String) async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, fetch: fetch)
    for _ in 0..<3 {
      await caches.prepare([try image(directory)], for: geteuid())
      #expect(try await !cache(caches).hasDebugInformation)
      #expect(await settled(caches) == [result: 1])
    }
    #expect(try asked(directory).count == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/cache") == ["abcd.cssym"])
  }

  @Test("a failed fetch of debug information is retried after a while")
  func again() async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, fetch: "exit 66") { $0.fetchAgain_ms = 0 }
    for count in 1...3 {
      await caches.prepare([try image(directory)], for: geteuid())
      #expect(try await !cache(caches).hasDebugInformation)
      #expect(await settled(caches) == ["missing": count])
    }
  }

  @Test("a fetch from a server that never answers is canceled")
  func endless() async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, fetch: "while :; do :; done") {
      $0.fetch_ms = 1
      $0.fetchStart_ms = 1
    }
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(try await !cache(caches).hasDebugInformation)
    #expect(await settled(caches) == ["failed": 1])
  }

  @Test("no debug information is fetched for an image that has it, or for an image that its user could have forged")
  func unasked() async throws {
    for (text, mode) in [("lines", 0o600), ("image", 0o666)] as [(String, UInt16)] {
      let directory = try TestDirectory()
      let caches = try caches(directory, fetch: "echo lines")
      await caches.prepare([try image(directory, text, mode: mode)], for: geteuid())
      #expect(try await cache(caches).hasDebugInformation == (text == "lines"))
      #expect(await settled(caches) == [:])
      #expect(try asked(directory) == [])
    }
  }

  @Test("without servers no debug information is fetched")
  func noServers() async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, fetch: "echo lines", urls: [])
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(try await !cache(caches).hasDebugInformation)
    #expect(await settled(caches) == [:])
    #expect(try asked(directory) == [])
  }

  @Test("fetches of debug information beyond the queue's limit are skipped and counted")
  func skipped() async throws {
    let directory = try TestDirectory()
    let caches = try caches(directory, fetch: "echo lines") { $0.waitingFetches = 0 }
    await caches.prepare([try image(directory)], for: geteuid())
    #expect(try await !cache(caches).hasDebugInformation)
    #expect(await settled(caches) == ["skipped": 1])
    #expect(try asked(directory) == [])
  }
}
