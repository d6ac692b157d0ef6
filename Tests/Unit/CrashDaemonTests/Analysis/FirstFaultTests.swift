#if arch(x86_64)
  import CrashReport
  @testable import CrashRing
  import CrashSymbols
  import Glibc
  import Testing

  @testable import CrashDaemon

  @Suite("A signal that a handler of the program's raised again")
  struct FirstFaultTests {
    private static let trampoline: UInt64 = 0x20040

    /// The kernel's frame of a signal, behind some words of the handler's own.
    private static func stack(
      signal: Int32, code: Int32, address: UInt64, pc: UInt64, sp: UInt64, error: UInt64 = 6
    ) -> [UInt8] {
      var words = [UInt64](repeating: 0x11, count: 6) + [trampoline]
      words += [UInt64](repeating: 0, count: 5)  // flags, link, stack
      var general = [UInt64](repeating: 0x77, count: 23)
      (general[13], general[15], general[16], general[19], general[20], general[22]) = (0, sp, pc, error, 14, address)
      words += general + [UInt64](repeating: 0, count: 9) + [0]  // floating point, reserved; mask
      words += [UInt64(UInt32(bitPattern: signal)), UInt64(UInt32(bitPattern: code)), address]
      words += [UInt64](repeating: 0, count: 20)
      return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
    }

    private static func record(
      _ signal: Int32, code: Int32, address: UInt64, sp: UInt64 = 0x7fff_0000_0100
    ) -> CrashRecord {
      CrashRecord.sample(
        signal: signal, code: -6, sp: 0x7fff_0000_0000, senderPid: 99, depth: 4,
        frames: [.at(0x10010, exact: true), .at(0x10020), .at(trampoline), .at(0x10030, exact: true), .at(0x10041)],
        stackStart: 0x7fff_0000_0000,
        stack: stack(signal: signal, code: code, address: address, pc: 0x10030, sp: sp))
    }

    private static let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: "raise")],
      0x1f: [SourceFrame(mangled: "on", file: "/src/chain.c", line: 8)],
      0x30: [
        SourceFrame(mangled: "Swift runtime failure: Index out of range", isInline: true),
        SourceFrame(mangled: "null_write", file: "/src/chain.c", line: 10),
      ],
      0x40: [SourceFrame(mangled: "main", file: "/src/chain.c", line: 20)],
    ])

    @Test("D6: the first fault is shown, with its frames and its cause, and the handler beside it")
    func segv() throws {
      let report = try #require(
        RingContents.sample([Self.record(SIGSEGV, code: 1, address: 8)]).report(Self.symbols))
      #expect(report.diagnosis.cause == "null-pointer-offset")
      #expect(report.diagnosis.sentence == "Null pointer: write to offset 8 of null in null_write (chain.c:10).")
      #expect(report.threads[0].frames.map(\.function) == ["null_write", "main"])
      #expect(report.signal.codeName == "SEGV_MAPERR" && report.signal.address == 8 && report.signal.sender == nil)
      #expect(report.threads[0].registers["rsp"] == 0x7fff_0000_0100)
      #expect(report.raisedAgain?.function == "on" && report.raisedAgain?.line == 8)
      #expect(report.group.title == "bad access in null_write")
    }

    @Test("D6: a handler without SA_SIGINFO leaves no siginfo, and the exception tells")
    func withoutInformation() throws {
      var record = Self.record(SIGSEGV, code: 1, address: 8)
      let start = 8 * (7 + 5 + 23 + 9 + 1)
      record.stack.replaceSubrange(start..<start + 24, with: [UInt8](repeating: 0, count: 24))
      let report = try #require(RingContents.sample([record]).report(Self.symbols))
      #expect(report.diagnosis.sentence == "Null pointer: write to offset 8 of null in null_write (chain.c:10).")
      #expect(report.signal.codeName == "SEGV_MAPERR" && report.raisedAgain?.function == "on")
    }

    @Test("D6: a trap and a stack overflow keep their cause")
    func others() throws {
      let trap = try #require(
        RingContents.sample([Self.record(SIGILL, code: 2, address: 0x10030)]).report(Self.symbols))
      #expect(trap.diagnosis.sentence.hasPrefix("Swift stopped the program: Index out of range in null_write"))
      // The handler ran on a stack of its own.
      var overflow = Self.record(SIGSEGV, code: 2, address: 0x7e00_0000_0ff8, sp: 0x7e00_0000_1000)
      overflow.frameTotal = 5_000
      let report = try #require(RingContents.sample([overflow]).report(Self.symbols))
      #expect(report.diagnosis.cause == "stack-overflow")
    }

    @Test("D6: a signal that comes when the handler has returned is the fault that its instruction shows")
    func pending() throws {
      var record = CrashRecord.sample(
        code: -6, errorCode: 6, senderPid: 99, instruction: [0xc7, 0x00, 0x2a, 0, 0, 0],  // mov dword [rax], 42
        frames: [.at(0x10030, exact: true)])
      record.registers[0] = 0x18
      record.faultAddress = 0x18
      let report = try #require(RingContents.sample([record]).report(Self.symbols))
      #expect(report.diagnosis.sentence == "Null pointer: write to offset 24 of null in null_write (chain.c:10).")
      #expect(report.signal.codeName == "SEGV_MAPERR" && report.raisedAgain?.signal.codeName == "SI_TKILL")
      // A kernel that forgets the exception.
      (record.trapNumber, record.errorCode, record.faultAddress) = (0, 0, 0)
      let forgotten = try #require(RingContents.sample([record]).report(Self.symbols))
      #expect(forgotten.diagnosis.sentence == report.diagnosis.sentence)
      // An earlier fault has left its words: this instruction is another one.
      (record.trapNumber, record.errorCode, record.faultAddress) = (14, 6, 0x18)
      record.registers[0] = 0x9000
      #expect(try #require(RingContents.sample([record]).report(Self.symbols)).diagnosis.cause == "raised-signal")
    }

    @Test("D6: a signal that the program sent itself for no fault, or whose frame does not hold together, stays one")
    func sent() throws {
      var sent = Self.record(SIGSEGV, code: 1, address: 8)
      sent.stack = [UInt8](repeating: 0, count: sent.stack.count)
      var wrong = Self.record(SIGSEGV, code: 1, address: 8)
      wrong.frames[3].pc = 0x10031
      for record in [sent, wrong, Self.record(SIGSEGV, code: 0, address: 8)] {
        let report = try #require(RingContents.sample([record]).report(Self.symbols))
        #expect(report.diagnosis.cause == "raised-signal" && report.raisedAgain == nil)
      }
    }
  }
#endif
