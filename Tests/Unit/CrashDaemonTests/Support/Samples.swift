import CrashReport
@testable import CrashRing
import CrashStore
import CrashSymbols
import Glibc
import LinuxSystem

@testable import CrashDaemon

extension CrashRecord {
  /// Returns a crash without details, to which each test adds the details that it needs.
  ///
  /// For a signal that a process sent, the sender is the crashed process itself, with pid 99.
  static func sample(
    signal: Int32 = SIGSEGV, code: Int32 = 1, address: UInt64 = 0, pc: UInt64 = 0x10010, sp: UInt64 = 0x7fff_0000_0000,
    errorCode: UInt64 = 0, message: String = "", abortMessage: String = "", exceptionType: String = "",
    senderPid: Int32? = nil, senderUid: UInt32 = 0, instruction: [UInt8] = [], systemCall: Int32? = nil, depth: Int = 3,
    frames: [Frame] = [], unwindStop: UInt32 = 0, stackStart: UInt64? = nil, stack: [UInt8] = []
  ) -> CrashRecord {
    var registers = [UInt64](repeating: 0, count: 17)
    registers[7] = sp
    registers[16] = pc
    return CrashRecord(
      slot: 0, generation: 1, sequence: 0, time_ns: 1_700_000_000_000_000_000, entry_ns: 1, commit_ns: 2, tid: 12,
      threadName: "main", signal: signal, code: code, address: address, senderPid: senderPid ?? (code <= 0 ? 99 : 0),
      senderUid: senderUid,
      systemCall: systemCall, isMinimal: false, registers: registers, flags: 0, errorCode: errorCode, trapNumber: 14,
      faultAddress: address, instruction: instruction, message: message, abortMessage: abortMessage,
      exceptionType: exceptionType, frames: frames, frameHead: frames.count, frameTotal: max(depth, frames.count),
      unwindStop: unwindStop, stackStart: stackStart ?? sp, stack: stack)
  }
}

extension CrashRecord {
  /// A crash of a process on AArch64 without details, as the handler writes it.
  ///
  /// `words` are the instructions that begin at pc. `esr` is the exception syndrome; 0 means that the kernel provided
  /// none.
  static func sampleAArch64(
    signal: Int32 = SIGSEGV, code: Int32 = 1, address: UInt64 = 0, pc: UInt64 = 0x10010,
    sp: UInt64 = 0xffff_e000_0000, esr: UInt64 = 0, registers values: [Int: UInt64] = [:], words: [UInt32] = [],
    frames: [Frame] = [], senderPid: Int32? = nil, depth: Int = 3, stack: [UInt8] = []
  ) -> CrashRecord {
    var record = CrashRecord.sample(
      signal: signal, code: code, address: address, errorCode: esr, senderPid: senderPid,
      instruction: words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }, depth: depth,
      frames: frames, stackStart: sp, stack: stack)
    record.architecture = .aarch64
    record.registers = [UInt64](repeating: 0, count: 33)
    for (number, value) in values { record.registers[number] = value }
    (record.registers[31], record.registers[32]) = (sp, pc)
    (record.trapNumber, record.faultAddress) = (esr >> 26 & 0x3f, esr == 0 ? 0 : address)
    return record
  }
}

extension CrashRecord.Frame {
  static func at(_ pc: UInt64, exact: Bool = false, async: Bool = false) -> CrashRecord.Frame {
    CrashRecord.Frame(pc: pc, functionStart: nil, trust: .cfi, isExact: exact, isAsync: async, image: 0)
  }
}

/// A symbol source that returns the symbols of the test.
struct SampleSymbols: SymbolLookup {
  var chains: [UInt64: [SourceFrame]] = [:]
  var gaps: [String: SymbolGap] = [:]

  func gap(buildID: String) -> SymbolGap? { gaps[buildID] }

  func frames(buildID: String, linkAddress: UInt64) -> [SourceFrame] { chains[linkAddress] ?? [] }
}

extension RingContents {
  static func sample(_ records: [CrashRecord], image path: String = "/srv/shop") -> RingContents {
    var contents = RingContents(
      identity: Identity(
        ringID: String(repeating: "ab", count: 16), pid: 99, uid: 1000, startTime_ns: 0, name: "shop", executable: path),
      images: [
        Image(
          index: 0, bias: 0x10000, start: 0x10000, end: 0x90000, buildID: "abcd", path: path, isExecutable: true)
      ], records: records)
    contents.identity.architecture = records.first?.architecture ?? .x86_64
    return contents
  }

  func report(_ symbols: SampleSymbols = SampleSymbols()) -> CrashReport? {
    let facts = ProcessFacts(self, peer: Peer(pid: 7, uid: 1000), unit: nil)
    return ReportBuilder(self, process: facts, symbols: symbols).report(id: identity.ringID)
  }
}

extension CrashReport {
  /// Returns a report whose breadcrumbs have this many bytes.
  static func sample(id: String, bytes: Int = 0) throws -> CrashReport {
    var report = RingContents.sample([.sample()]).report()
    report?.id = id
    report?.process.uid = Int(geteuid())
    if bytes > 0 { report?.breadcrumbs = [Breadcrumb(time: "", text: String(repeating: "x", count: bytes))] }
    guard let report else { throw SystemError("make a report", code: EINVAL) }
    return report
  }
}
