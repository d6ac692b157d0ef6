import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Symbol jobs")
struct SymbolJobTests {
  /// Creates a job with a replacement for crash-analyse.
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

  @Test("the child gets the image and the build id only, and its output becomes the cache")
  func success() throws {
    let directory = try TestDirectory()
    try job(#"read image; echo "$# $1 $2 $3 $image $(ls /proc/self/fd | wc -l) ${HOME-none}""#, in: directory).run()
    let text = try String(
      decoding: Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/out.cssym")), as: UTF8.self)
    // The 4 is the number of the child's descriptors: the three standard ones, and /proc/self/fd, which ls itself has
    // opened.
    #expect(text == "3 build-cache --build-id abcd image 4 none\n")
    #expect(try files(directory) == ["analyse", "image", "out.cssym"])
  }

  @Test("if the child of a symbol job fails, there is no cache, and the child's first line is the reason")
  func failure() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: HelperChild.Failure.self) {
      try job(#"echo partial; printf 'no ELF \033[31m\nsecond\n' >&2; exit 65"#, in: directory).run()
    }
    #expect(error?.description == "no ELF ?[31m (exit status 65)")
    #expect(try files(directory) == ["analyse", "image"])
  }

  @Test("the reason of a failed symbol job states if its child process crashed")
  func crash() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: HelperChild.Failure.self) { try job("kill -SEGV $$", in: directory).run() }
    #expect(error?.description == "it was ended by signal 11")
  }

  @Test("the child process of a symbol job is killed at its time limit")
  func timeout() throws {
    let directory = try TestDirectory()
    let error = #expect(throws: HelperChild.Failure.self) {
      try job("while :; do :; done", in: directory, timeout_ms: 1).run()
    }
    // Compares only the beginning, because the message is longer if the kernel takes long to end the process.
    #expect(error?.description.hasPrefix("it took longer than 1 ms") == true)
    #expect(try files(directory) == ["analyse", "image"])
  }

  @Test("a symbol job fails with an error if its program does not exist")
  func missing() throws {
    let directory = try TestDirectory()
    var job = try job("", in: directory)
    job.program = "/nowhere/crash-analyse"
    #expect(throws: SystemError.self) { try job.run() }
    #expect(try files(directory) == ["analyse", "image"])
  }
}
