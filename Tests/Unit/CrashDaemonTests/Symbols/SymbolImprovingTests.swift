import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// Tests debug files that appear after crashd has built the caches of their images.
@Suite("Debug files that are installed later")
struct SymbolImprovingTests {
  /// Creates caches with a replacement for crash-analyse, which logs its arguments.
  ///
  /// The first line of a file determines the result of the script: `image` yields names, and `debug` yields lines. All
  /// other files have another build ID.
  private func caches(_ directory: TestDirectory) throws -> SymbolCaches {
    for (name, hasLines) in [("names", false), ("lines", true)] {
      try directory.writeCache(name, hasDebugInformation: hasLines)
    }
    let script = """
      #!/bin/sh
      read image </proc/self/fd/0
      echo $image >>'\(directory.path)/given'
      case $image in
        image) cat '\(directory.path)/names' ;;
        debug) cat '\(directory.path)/lines' ;;
        bare) cat '\(directory.path)/names' ;;
        *) echo 'the image has build id 00, not abcd' >&2; exit 65 ;;
      esac

      """
    var configuration = SymbolCaches.Configuration(
      directory: "\(directory.path)/caches",
      program: try directory.write(Array(script.utf8), to: "analyse", mode: 0o700),
      limits: .patient, ledger: Ledger(logger: TestLog.logger, limits: .patient), logger: TestLog.logger)
    configuration.debugDirectory = "\(directory.path)/debug"
    return SymbolCaches(configuration)
  }

  private func install(_ text: String, in directory: TestDirectory) throws {
    let folder = "\(directory.path)/debug/.build-id/ab"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Writes a new file and renames it, as a package installer does. The path then has another inode.
    try Data("\(text)\n".utf8).write(to: URL(fileURLWithPath: folder + "/new"))
    #expect(unsafe rename(folder + "/new", folder + "/cd.debug") == 0)
  }

  private func image(_ directory: TestDirectory) throws -> ImageFile {
    let path = try directory.write(Array("image\n".utf8), to: "program")
    return ImageFile(buildID: "abcd", path: path, isExecutable: true, descriptor: nil)
  }

  private func given(_ directory: TestDirectory) throws -> [String] {
    let text = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/given"))
    return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// Returns the cache that crashd would use for a crash in the image.
  private func crash(_ caches: SymbolCaches, _ image: ImageFile) async throws -> SymbolCache {
    await caches.prepare([image], for: geteuid())
    return try #require(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000)["abcd"])
  }

  @Test(
    "if debug files are installed later, the next crash has lines, also after a restart and without the image",
    arguments: [false, true])
  func comes(isNew: Bool) async throws {
    let directory = try TestDirectory()
    let (first, image) = (try caches(directory), try image(directory))
    #expect(try await !crash(first, image).hasDebugInformation)
    #expect(try await !crash(first, image).hasDebugInformation)
    try install("debug", in: directory)
    if isNew { #expect(unsafe unlink(image.path) == 0) }
    let next = isNew ? try caches(directory) : first
    #expect(try await crash(next, image).hasDebugInformation)
    #expect(try await crash(next, image).hasDebugInformation)
    #expect(try given(directory) == ["image", "debug"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/caches") == ["abcd.cssym"])
  }

  @Test(
    "a debug file of another build, or without lines, is read once and changes nothing",
    arguments: ["other", "bare"])
  func isNone(text: String) async throws {
    let directory = try TestDirectory()
    let (caches, image) = (try caches(directory), try image(directory))
    #expect(try await !crash(caches, image).hasDebugInformation)
    try install(text, in: directory)
    for _ in 0..<3 { #expect(try await !crash(caches, image).hasDebugInformation) }
    #expect(try given(directory) == ["image", text])
    // Another file at the path is tried again.
    try install("debug", in: directory)
    #expect(try await crash(caches, image).hasDebugInformation)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/caches") == ["abcd.cssym"])
  }

  @Test("a crash that cannot wait for lines has names, and states that lines may follow")
  func slow() async throws {
    let directory = try TestDirectory()
    let (caches, image) = (try caches(directory), try image(directory))
    #expect(try await !crash(caches, image).hasDebugInformation)
    // Replaces the script by one that waits at the gate, like a slow job.
    let folder = "\(directory.path)/debug/.build-id/ab"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    let script = "#!/bin/sh\nread line <'\(gate)'; cat '\(directory.path)/lines'\n"
    _ = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    try install("debug", in: directory)
    await caches.prepare([image], for: geteuid())
    let found = await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 1)
    #expect(found["abcd"]?.hasDebugInformation == false)
    #expect(
      await caches.gaps(of: ["abcd"], found, for: geteuid())["abcd"]
        == SymbolGap(reason: "its debug information was not ready in time", mayFill: true, isNamesOnly: true))
    await caches.remember(LateReport(id: "r1", user: geteuid()), until: ["abcd"])
    #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
    var told = caches.lateReports.makeAsyncIterator()
    #expect(await told.next()?.id == "r1")
    #expect(try await crash(caches, image).hasDebugInformation)
    withExtendedLifetime(writer) {}
  }
}
