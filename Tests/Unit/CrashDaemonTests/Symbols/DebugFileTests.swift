import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Debug files")
struct DebugFileTests {
  private func debugFiles(_ directory: String, image: String) -> DebugFiles {
    DebugFiles(directory: directory, imagePath: image, user: geteuid(), owner: .user(geteuid()))
  }

  @Test("debug files are searched by build id, then by name next to the image and in the global directory")
  func paths() {
    #expect(
      debugFiles("/debug", image: "/srv/shop").paths(buildID: "abcdef", link: "shop.debug") == [
        "/debug/.build-id/ab/cdef.debug", "/srv/shop.debug", "/srv/.debug/shop.debug", "/debug/srv/shop.debug",
      ])
    #expect(debugFiles("/debug", image: "[vdso]").paths(buildID: "ab", link: "shop.debug") == [])
  }

  @Test(
    "a debug link that is not a plain file name is refused",
    arguments: ["../shop", "/etc/shop", "..", ".", "", "a\n", "a/b"])
  func names(link: String) {
    #expect(debugFiles("/debug", image: "/srv/shop").paths(buildID: "ab", link: link) == [])
    #expect(!DebugFilePaths.isName(link) && DebugFilePaths.isName("shop.debug"))
  }

  @Test(
    "F8: an image path with .. leads to no file in the machine's debug directory",
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
    // If the path of an image contains `..`, for example because of an rpath of `$ORIGIN/../lib`, crashd still finds
    // the debug files next to the image.
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

  @Test("a stripped image gets the symbols of the first matching debug file", arguments: [false, true])
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
