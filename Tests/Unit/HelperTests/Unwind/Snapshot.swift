import CTestKit
import CrashSymbols
import Foundation
import TestKit
import Testing

/// A snapshot of a thread, and the request to `crash-analyse unwind` that it becomes.
///
/// The test encodes the request itself, byte by byte, in crashd's format.
struct Snapshot {
  static let program = TestProgram.url("crash-analyse")

  struct Image {
    var start: UInt64
    var end: UInt64
    var bias: UInt64
    /// The bytes of the image's unwind file.
    var tables: [UInt8]
  }

  var registers: [UInt64]
  var stackStart: UInt64
  var stack: [UInt8]
  var images: [Image]
  var isBadFetch = false
  var architecture = UnwindRequest.Architecture.x86_64
  /// The frames that the handler's unwinder found.
  var handlerFrames: [UInt64] = []

  /// Takes a snapshot of this thread, in a callback of qsort.
  ///
  /// Therefore the stack contains frames of glibc.
  static func take() throws -> Snapshot {
    // The snapshot of 70 KiB is on the heap, because it must not be part of the stack that it copies. For the same
    // reason, Swift must not copy it into a variable.
    let memory = UnsafeMutablePointer<cs_test_snapshot>.allocate(capacity: 1)
    defer { unsafe memory.deallocate() }
    // Invariant: `memory` has room for one snapshot, which the function fills completely.
    try #require(unsafe cs_test_take_snapshot(memory))
    let frames = unsafe withUnsafeBytes(of: &memory.pointee.frames) { unsafe Array($0.bindMemory(to: UInt64.self)) }
    let handlerFrames = unsafe Array(frames.prefix(memory.pointee.frame_count))
    let stack = unsafe UnsafeBufferPointer(start: cs_test_snapshot_stack(memory), count: memory.pointee.stack_bytes)
    return Snapshot(
      registers: unsafe withUnsafeBytes(of: &memory.pointee.registers) {
        unsafe Array($0.bindMemory(to: UInt64.self))
      }, stackStart: unsafe memory.pointee.stack_start, stack: unsafe Array(stack),
      images: try images(for: handlerFrames), handlerFrames: handlerFrames)
  }

  /// Returns the images of these frames, each with the unwind tables that `crash-analyse unwind-tables` extracts.
  private static func images(for frames: [UInt64]) throws -> [Image] {
    var list = [cs_test_image](repeating: cs_test_image(), count: 512)
    // Invariant: the array has as many elements as the passed limit.
    let count = unsafe cs_test_list_images(&list, list.count)
    return try list.prefix(count).filter { image in
      frames.contains { image.start < $0 && $0 <= image.end }
    }.map { image in
      // Invariant: snprintf() has terminated the path with a NUL.
      let path = unsafe withUnsafeBytes(of: image.path) {
        unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      let answer = try Tool.run(["unwind-tables", "--build-id", ""], input: URL(fileURLWithPath: path))
      try #require(answer.status == 0, "\(path): \(answer.error)")
      return Image(start: image.start, end: image.end, bias: image.bias, tables: [UInt8](answer.output))
    }
  }

  var request: [UInt8] {
    var end = UInt64(UnwindRequest.headerBytes(threads: 1, images: images.count, architecture: architecture))
    var parts: [UInt8] = []
    func place(_ bytes: [UInt8]) -> UnwindRequest.Place {
      defer { end += UInt64(bytes.count) }
      parts += bytes
      return UnwindRequest.Place(offset: end, size: UInt64(bytes.count))
    }
    let thread = UnwindRequest.Thread(
      registers: registers, isBadFetch: isBadFetch, isPastFault: false, stackStart: stackStart, stack: place(stack))
    let list = images.map {
      UnwindRequest.Image(start: $0.start, end: $0.end, bias: $0.bias, tables: place($0.tables))
    }
    return UnwindRequest(architecture: architecture, threads: [thread], images: list).encoded + parts
  }

  /// Unwinds the snapshot in crash-analyse: with libunwind, or with libdw if the snapshot is from another architecture
  /// than this machine's.
  func unwound() throws -> UnwindAnswer.Stack {
    let answer = try Tool.run(["unwind"], input: request)
    try #require(answer.status == 0, "\(answer.error)")
    return try #require(UnwindAnswer([UInt8](answer.output), threads: 1)?.stacks.first)
  }
}

/// Runs crash-analyse.
enum Tool {
  static func run(_ arguments: [String], input: [UInt8]) throws -> TestProgram.Answer {
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("input")
      try Data(input).write(to: file)
      return try run(arguments, input: file)
    }
  }

  static func run(_ arguments: [String], input: URL) throws -> TestProgram.Answer {
    // Leak detection is off, because LeakSanitizer cannot search a sandboxed process.
    let environment = ["SWIFT_BACKTRACE": "enable=no", "ASAN_OPTIONS": "detect_leaks=0"]
    return try TestProgram.run(Snapshot.program, arguments, environment: environment, input: input)
  }

  static func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("unwind-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    return try body(folder)
  }
}
