import CrashReport
@testable import CrashRing
import CrashSymbols
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Requests of the unwind cross-check")
struct UnwindQuestionTests {
  private func image(_ index: Int, _ start: UInt64, _ end: UInt64, buildID: String = "") -> RingContents.Image {
    RingContents.Image(
      index: index, bias: start, start: start, end: end, buildID: buildID, path: "/\(index)", isExecutable: index == 0)
  }

  private func words(_ words: [UInt64]) -> [UInt8] {
    words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
  }

  @Test("a cross-check request has the images that the stack's words point into, with their tables")
  func images() throws {
    let record = CrashRecord.sample(
      pc: 0x1010, errorCode: 16, stackStart: 0x7ffe_0004, stack: [1, 2, 3, 4] + words([0x3000, 0x9999, 0x4100]))
    var contents = RingContents.sample([record])
    contents.images = [
      image(0, 0x1000, 0x2000, buildID: "aa"), image(1, 0x2000, 0x2800), image(2, 0x2801, 0x3000, buildID: "bb"),
      image(3, 0x4000, 0x5000), image(4, 0x6000, 0x7000),
    ]
    let question = try #require(UnwindQuestion(contents))
    // The stack has the return address 0x3000, the first byte after an image. It belongs to this image, because a call
    // can be the last instruction of an image.
    #expect(question.images.map(\.index) == [0, 2, 3])
    let table = try MemoryFile()
    try table.write([7, 8, 9], at: 0)
    let file = try question.request(tables: ["bb": table.descriptor], limitBytes: 1 << 20)
    let bytes = try file.read(limitBytes: 1 << 20)
    let request = try #require(UnwindRequest(bytes, size: UInt64(bytes.count)))
    #expect(request.images.map(\.tables.size) == [0, 3, 0])
    #expect(bytes.suffix(3) == [7, 8, 9])
    let thread = try #require(request.threads.first)
    #expect(Array(bytes[Int(thread.stack.offset)...].prefix(record.stack.count)) == record.stack)
    #expect(thread.registers == record.registers && thread.stackStart == record.stackStart)
  }

  @Test("a cross-check request omits tables that do not fit")
  func room() throws {
    var contents = RingContents.sample([.sample(pc: 0x1010, stack: words([0x4100]))])
    contents.images = [image(0, 0x1000, 0x2000, buildID: "aa"), image(1, 0x4000, 0x5000, buildID: "bb")]
    let table = try MemoryFile(size: 10_000)
    let small = try MemoryFile(size: 10)
    let file = try #require(UnwindQuestion(contents)).request(
      tables: ["aa": table.descriptor, "bb": small.descriptor], limitBytes: 5_000)
    let bytes = try file.read(limitBytes: 1 << 20)
    let request = try #require(UnwindRequest(bytes, size: UInt64(bytes.count)))
    #expect(request.images.map(\.tables.size) == [0, 10])
  }

  @Test("a cross-check request has at most eight threads, and without a copied stack there is no request")
  func threads() {
    #expect(UnwindQuestion(.sample([.sample()])) == nil)
    #expect(UnwindQuestion(.sample([])) == nil)
    let records = (0..<12).map { number in
      var record = CrashRecord.sample(stack: [UInt8](repeating: 0, count: 3))
      record.sequence = UInt64(11 - number)
      return record
    }
    #expect(UnwindQuestion(.sample(records))?.records.map(\.sequence) == Array(0..<8))
  }
}

@Suite("The unwind cross-check")
struct SnapshotUnwinderTests {
  /// Creates an unwinder that runs the script instead of crash-analyse.
  private func unwinder(
    _ script: String, in directory: TestDirectory, change: (inout Limits) -> Void = { _ in }
  ) throws -> SnapshotUnwinder {
    let program = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "analyse", mode: 0o700)
    var limits = Limits.patient
    change(&limits)
    return SnapshotUnwinder(
      SymbolCaches.Configuration(
        directory: directory.path, program: program, limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger))
  }

  private var contents: RingContents {
    let frames = [CrashRecord.Frame.at(0x10010, exact: true)]
    return .sample([.sample(frames: frames, unwindStop: 3, stack: [UInt8](repeating: 1, count: 64))])
  }

  @Test("frames of the cross-check replace the handler's frames if they are better")
  func better() async throws {
    let directory = try TestDirectory()
    let frames = [(0x10010, UnwindAnswer.Found.context), (0x10020, .cfi)] as [(UInt64, UnwindAnswer.Found)]
    let answer = UnwindAnswer(stacks: [
      .init(frames: frames.map { .init(pc: $0.0, functionStart: nil, found: $0.1) }, stop: .end)
    ])
    let file = try directory.write(answer.encoded, to: "answer")
    let unwinder = try unwinder("case $1 in unwind) cat '\(file)' ;; *) exit 65 ;; esac", in: directory)
    var contents = contents
    contents.records[0].frameTotal = 1
    let outcome = try #require(await unwinder.unwind(contents, for: 0))
    #expect(outcome.isBetter)
    #expect(outcome.contents.records[0].frames.map(\.pc) == [0x10010, 0x10020])
    #expect(outcome.findings.map(\.agreement) == [.longer])
    #expect(await unwinder.findings == ["longer": 1])
  }

  @Test(
    "a child with no, malformed or too much output, or a crash, changes nothing and is counted",
    arguments: [
      "exit 0", "head -c 4000 /dev/urandom", "cat /dev/zero", "exit 65", "kill -SEGV $$", "printf 'CSUNWAN1'",
    ])
  func hostileChild(script: String) async throws {
    let directory = try TestDirectory()
    let unwinder = try unwinder(script, in: directory)
    #expect(await unwinder.unwind(contents, for: 0) == nil)
    #expect(await unwinder.findings == ["failed": 1])
  }

  @Test("a compromised child can write neither its input nor past the end of its output")
  func sealed() async throws {
    let directory = try TestDirectory()
    // The script tries to write one byte after the end of its output, to the first byte of its input, and far behind
    // its input.
    let unwinder = try unwinder(
      """
      test $1 = unwind || exit 65
      echo ran >>"$0.log"
      put() { dd if=/dev/zero bs=1 count=1 conv=notrunc "$@" 2>/dev/null; }
      put seek=\(UnwindAnswer.limitBytes) && echo output >>"$0.log"
      put 1>&0 && echo input >>"$0.log"
      put seek=1000000 1>&0 && echo 'input grew' >>"$0.log"
      exit 65
      """, in: directory)
    #expect(await unwinder.unwind(contents, for: 0) == nil)
    let log = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/analyse.log"))
    #expect(String(decoding: log, as: UTF8.self) == "ran\n")
  }

  @Test("a cross-check that must not wait fails if no permit is free", .timeLimit(.minutes(20)))
  func busy() async throws {
    let directory = try TestDirectory()
    let gate = try Gate(in: directory)
    let unwinder = try unwinder(gate.script, in: directory, change: limit)
    let contents = contents
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 { group.addTask { #expect(await unwinder.unwind(contents, for: 0) == nil) } }
      while unwinder.waitingCount != 1 { await Task.yield() }
      await #expect(throws: SnapshotUnwinder.Busy.self) { try await unwinder.unwind(contents, for: 1, waits: false) }
      gate.open(2)
    }
    gate.open(1)
    #expect(try await unwinder.unwind(contents, for: 1, waits: false) == nil)
    // The refused request does not count as skipped, because it did not wait for a permit.
    #expect(await unwinder.findings == ["failed": 3])
  }

  @Test("a cross-check child that does not end is killed")
  func endless() async throws {
    let directory = try TestDirectory()
    let unwinder = try unwinder("while :; do :; done", in: directory) { $0.unwind_ms = 1 }
    #expect(await unwinder.unwind(contents, for: 0) == nil)
    #expect(await unwinder.findings == ["failed": 1])
  }

  /// A gate: a child process waits for a line from it before it fails.
  private final class Gate: Sendable {
    let script: String
    private let writer: Descriptor

    init(in directory: TestDirectory) throws {
      let path = "\(directory.path)/gate"
      #expect(unsafe mkfifo(path, 0o600) == 0)
      writer = Descriptor(owning: unsafe Glibc.open(path, O_RDWR | O_CLOEXEC))
      script = "read line <'\(path)'; exit 65"
    }

    /// Writes a line to the gate for each of this many children, so that they end.
    func open(_ count: Int) {
      let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: count)
      // Invariant: write() reads as many bytes as the array has.
      #expect(unsafe write(writer.number, lines, count) == count)
    }
  }

  private func limit(_ limits: inout Limits) {
    limits.unwinds = 1
    limits.unwind_ms = 600_000
  }

  @Test(
    "cross-checks beyond the queue's limit are skipped and counted, and the others run in their order",
    .timeLimit(.minutes(20)))
  func crowd() async throws {
    let directory = try TestDirectory()
    let gate = try Gate(in: directory)
    let unwinder = try unwinder(gate.script, in: directory) {
      limit(&$0)
      $0.waitingUnwinds = 3
    }
    let contents = contents
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<40 { group.addTask { #expect(await unwinder.unwind(contents, for: 0) == nil) } }
      while await unwinder.findings["skipped"] != 36 { await Task.yield() }
      gate.open(4)
    }
    #expect(await unwinder.findings == ["failed": 4, "skipped": 36])
    // All permits are free again: a further request runs, and fails.
    gate.open(1)
    #expect(await unwinder.unwind(contents, for: 0) == nil)
    #expect(await unwinder.findings == ["failed": 5, "skipped": 36])
  }

  @Test("a user that crashes often does not use the cross-check permits of other users", .timeLimit(.minutes(20)))
  func users() async throws {
    let directory = try TestDirectory()
    let gate = try Gate(in: directory)
    let unwinder = try unwinder(gate.script, in: directory) {
      limit(&$0)
      $0.unwindsPerUser = 3
    }
    let contents = contents
    let order = Mutex<[UInt32]>([])
    let ask: @Sendable (UInt32) async -> Void = { user in
      let outcome = await unwinder.unwind(with: [], for: user) {
        order.withLock { $0.append(user) }
        return contents
      }
      #expect(outcome == nil)
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<10 { group.addTask { await ask(1) } }
      while await unwinder.findings["skipped"] != 7 { await Task.yield() }
      group.addTask { await ask(2) }
      while unwinder.waitingCount != 3 { await Task.yield() }
      gate.open(4)
    }
    #expect(order.withLock { $0 } == [1, 2, 1, 1])
    #expect(await unwinder.findings == ["failed": 4, "skipped": 7])
  }

  @Test("when crashd stops, running cross-checks end and no request still waits", .timeLimit(.minutes(20)))
  func stop() async throws {
    let directory = try TestDirectory()
    let gate = try Gate(in: directory)
    let unwinder = try unwinder(gate.script, in: directory, change: limit)
    let contents = contents
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<5 { group.addTask { #expect(await unwinder.unwind(contents, for: 0) == nil) } }
      while unwinder.waitingCount != 4 { await Task.yield() }
      await unwinder.stop()
      #expect(await unwinder.unwind(contents, for: 0) == nil)
      while await unwinder.findings["skipped"] != 5 { await Task.yield() }
      gate.open(1)
    }
    #expect(await unwinder.findings == ["failed": 1, "skipped": 5])
  }
}

@Suite("Unwind files of images")
struct UnwindTableFileTests {
  private func tables(
    _ script: String, in directory: TestDirectory, change: (inout Limits) -> Void = { _ in }
  ) throws -> UnwindTables {
    let program = try directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "analyse", mode: 0o700)
    var limits = Limits.patient
    change(&limits)
    return UnwindTables(
      SymbolCaches.Configuration(
        directory: "\(directory.path)/cache", program: program, limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), logger: TestLog.logger))
  }

  /// Writes a file of unwind tables.
  ///
  /// The script `cat "$0.$3"`, in place of crash-analyse, outputs this file.
  private func leave(buildID: String, in directory: TestDirectory) throws {
    _ = try directory.write(Self.file(buildID: buildID), to: "analyse.\(buildID)")
  }

  private static func file(buildID: String) -> [UInt8] {
    let digits = Array(buildID)
    let id = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    let section = UnwindTablesHeader.Section(address: 0x1000, size: 5)
    let header = UnwindTablesHeader(checksum: 1, buildID: id, index: section, frames: section)
    return header.encoded + Array("tablesmore".utf8)
  }

  private func files(_ tables: UnwindTables, of buildIDs: Set<String>) async -> [String: Descriptor] {
    await tables.settle(buildIDs, for: geteuid(), timeout_ms: 300_000)
    return await tables.files(of: buildIDs, for: geteuid())
  }

  private func image(_ directory: TestDirectory, buildID: String = "abcd") throws -> ImageFile {
    let path = try directory.write(Array("image".utf8), to: "image-\(buildID)")
    return ImageFile(buildID: buildID, path: path, isExecutable: true, descriptor: nil)
  }

  @Test("unwind tables are made once, found by build id, and kept when the image is deleted")
  func made() async throws {
    let directory = try TestDirectory()
    let tables = try tables(
      #"echo "$# $1 $2 $3" >>"$0.log"; cat >"$0.input"; cat "$0.$3""#, in: directory)
    try leave(buildID: "abcd", in: directory)
    let image = try image(directory)
    await tables.prepare([image], for: geteuid())
    #expect(await files(tables, of: ["abcd"]).count == 1)
    #expect(unsafe unlink(image.path) == 0)
    await tables.prepare([image], for: geteuid())
    let found = await files(tables, of: ["abcd", "ef01", "../x"])
    #expect(Array(found.keys) == ["abcd"])
    let copy = try MemoryFile()
    _ = try copy.copy(try #require(found["abcd"]), at: 0, limitBytes: 1_000)
    #expect(try copy.read(limitBytes: 1_000) == Self.file(buildID: "abcd"))
    let input = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/analyse.input"))
    #expect(String(decoding: input, as: UTF8.self) == "image")
    let log = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/analyse.log"))
    #expect(String(decoding: log, as: UTF8.self) == "3 unwind-tables --build-id abcd\n")
  }

  @Test(
    "a damaged file of unwind tables is removed and created again",
    arguments: ["empty", "zeros", "cut off", "of another build"])
  func damaged(how: String) async throws {
    let directory = try TestDirectory()
    let tables = try tables(#"cat "$0.$3""#, in: directory)
    try leave(buildID: "abcd", in: directory)
    try Directories.make("\(directory.path)/cache", mode: 0o700)
    let whole = Self.file(buildID: "abcd")
    let bytes: [UInt8] =
      switch how {
      case "empty": []
      case "zeros": [UInt8](repeating: 0, count: whole.count)
      case "cut off": whole.dropLast()
      default: Self.file(buildID: "abce")
      }
    let path = try directory.write(bytes, to: "cache/abcd.1.csunw")
    #expect(await tables.files(of: ["abcd"], for: geteuid()).isEmpty)
    #expect(unsafe access(path, F_OK) != 0)
    _ = try directory.write(bytes, to: "cache/abcd.1.csunw")
    await tables.prepare([try image(directory)], for: geteuid())
    #expect(await files(tables, of: ["abcd"]).count == 1)
  }

  @Test("a file without unwind tables is read only once")
  func failed() async throws {
    let directory = try TestDirectory()
    let tables = try tables(#"echo asked >>"$0.log"; echo part; exit 65"#, in: directory)
    let image = try image(directory)
    for _ in 0..<3 {
      await tables.prepare([image], for: geteuid())
      #expect(await files(tables, of: ["abcd"]).isEmpty)
    }
    let log = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/analyse.log"))
    #expect(String(decoding: log, as: UTF8.self) == "asked\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/cache").isEmpty)
  }

  @Test("one user's slow file does not delay other users' unwind tables", .timeLimit(.minutes(20)))
  func slowFile() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    for buildID in ["abcd", "abcdef", "ef01"] { try leave(buildID: buildID, in: directory) }
    let tables = try tables("case $3 in abcd*) read line <'\(gate)' ;; esac; cat \"$0.$3\"", in: directory) {
      $0.unwindTables_ms = 600_000
    }
    // The first job of one user waits at the gate, and the user's second job waits for the first one. Another user's
    // job runs meanwhile.
    let user = geteuid()
    await tables.prepare([try image(directory, buildID: "abcd")], for: user)
    await tables.prepare([try image(directory, buildID: "abcdef")], for: user)
    let readable = try image(directory, buildID: "ef01")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: readable.path)
    await tables.prepare([readable], for: user + 1)
    await tables.settle(["ef01"], for: user + 1, timeout_ms: 600_000)
    #expect(await tables.files(of: ["ef01"], for: user + 1).count == 1)
    #expect(await tables.files(of: ["abcd"], for: user).isEmpty)
    #expect(unsafe write(writer.number, "\n\n", 2) == 2)
    await tables.settle(["abcd", "abcdef"], for: user, timeout_ms: 600_000)
    #expect(await tables.files(of: ["abcd", "abcdef"], for: user).count == 2)
    withExtendedLifetime(writer) {}
  }

  @Test(
    "a file whose child was killed is not marked as bad, and is read again", arguments: ["kill -KILL $$", "exit 74"])
  func passing(script: String) async throws {
    let directory = try TestDirectory()
    let tables = try tables("echo asked >>\"$0.log\"; \(script)", in: directory)
    let image = try image(directory)
    for _ in 0..<2 {
      await tables.prepare([image], for: geteuid())
      #expect(await files(tables, of: ["abcd"]).isEmpty)
    }
    let log = try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/analyse.log"))
    #expect(String(decoding: log, as: UTF8.self) == "asked\nasked\n")
  }

  @Test("unwind tables are evicted together with the caches of their directory, oldest first")
  func pruned() throws {
    let directory = try TestDirectory()
    for (index, name) in ["a.1.csunw", "b.cssym", "c.1.csunw"].enumerated() {
      let path = try directory.write([UInt8](repeating: 0, count: 100), to: name)
      let times = [timespec](repeating: timespec(tv_sec: 1_000 + index, tv_nsec: 0), count: 2)
      // utimensat() reads two timespecs.
      #expect(unsafe utimensat(AT_FDCWD, path, times, 0) == 0)
    }
    try CacheDirectory(path: directory.path).prune(to: 200, shareBytes: 200)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["b.cssym", "c.1.csunw"])
  }
}
