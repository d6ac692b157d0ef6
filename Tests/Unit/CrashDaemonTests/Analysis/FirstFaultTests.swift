#if arch(x86_64)
  import CrashReport
  @testable import CrashRing
  import CrashSymbols
  import Glibc
  import TestKit
  import Testing

  @testable import CrashDaemon

  @Suite("Signals that the program's handler re-raises")
  struct FirstFaultTests {
    private static let trampoline: UInt64 = 0x20040

    /// Returns a stack with some words of the handler's frame, followed at higher addresses by the kernel's signal
    /// frame.
    private static func stack(
      signal: Int32, code: Int32, address: UInt64, pc: UInt64, sp: UInt64, error: UInt64 = 6
    ) -> [UInt8] {
      var words = [UInt64](repeating: 0x11, count: 6) + [trampoline]
      words += [UInt64](repeating: 0, count: 5)  // uc_flags, uc_link, uc_stack
      var general = [UInt64](repeating: 0x77, count: 23)
      (general[13], general[15], general[16], general[19], general[20], general[22]) = (0, sp, pc, error, 14, address)
      words += general + [UInt64](repeating: 0, count: 9) + [0]  // fpstate, reserved words; signal mask
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

    @Test("D6: the report shows the first fault with its frames and its cause, and also the handler")
    func segv() throws {
      let report = try #require(
        RingContents.sample([Self.record(SIGSEGV, code: 1, address: 8)]).report(Self.symbols))
      #expect(report.diagnosis.cause == "null-pointer-offset")
      #expect(report.diagnosis.sentence == "Null pointer: write to offset 8 of null in null_write (chain.c:10).")
      #expect(report.threads[0].frames.map(\.function) == ["null_write", "main"])
      #expect(report.signal.codeName == "SEGV_MAPERR" && report.signal.address == 8 && report.signal.sender == nil)
      #expect(report.threads[0].registers["rsp"] == 0x7fff_0000_0100)
      #expect(report.raisedAgain?.function == "on" && report.raisedAgain?.line == 8)
      #expect(report.group.title == "null pointer in null_write")
    }

    @Test("D6: without a siginfo, as in a handler without SA_SIGINFO, the exception number shows the fault")
    func withoutInformation() throws {
      var record = Self.record(SIGSEGV, code: 1, address: 8)
      let start = 8 * (7 + 5 + 23 + 9 + 1)
      record.stack.replaceSubrange(start..<start + 24, with: [UInt8](repeating: 0, count: 24))
      let report = try #require(RingContents.sample([record]).report(Self.symbols))
      #expect(report.diagnosis.sentence == "Null pointer: write to offset 8 of null in null_write (chain.c:10).")
      #expect(report.signal.codeName == "SEGV_MAPERR" && report.raisedAgain?.function == "on")
    }

    @Test("D6: a re-raised trap and a re-raised stack overflow keep their cause")
    func others() throws {
      let trap = try #require(
        RingContents.sample([Self.record(SIGILL, code: 2, address: 0x10030)]).report(Self.symbols))
      #expect(trap.diagnosis.sentence.hasPrefix("Swift stopped the program: Index out of range in null_write"))
      // The handler ran on an alternate stack.
      var overflow = Self.record(SIGSEGV, code: 2, address: 0x7e00_0000_0ff8, sp: 0x7e00_0000_1000)
      overflow.frameTotal = 5_000
      let report = try #require(RingContents.sample([overflow]).report(Self.symbols))
      #expect(report.diagnosis.cause == "stack-overflow")
    }

    @Test("D6: a signal re-raised after the handler's return is diagnosed as the fault of the current instruction")
    func pending() throws {
      var record = CrashRecord.sample(
        code: -6, errorCode: 6, senderPid: 99, instruction: [0xc7, 0x00, 0x2a, 0, 0, 0],  // mov dword [rax], 42
        frames: [.at(0x10030, exact: true)])
      record.registers[0] = 0x18
      record.faultAddress = 0x18
      let report = try #require(RingContents.sample([record]).report(Self.symbols))
      #expect(report.diagnosis.sentence == "Null pointer: write to offset 24 of null in null_write (chain.c:10).")
      #expect(report.signal.codeName == "SEGV_MAPERR" && report.raisedAgain?.signal.codeName == "SI_TKILL")
      // The zeros simulate a kernel that does not keep the exception's number, error code and address.
      (record.trapNumber, record.errorCode, record.faultAddress) = (0, 0, 0)
      let forgotten = try #require(RingContents.sample([record]).report(Self.symbols))
      #expect(forgotten.diagnosis.sentence == report.diagnosis.sentence)
      // Here the exception belongs to an earlier fault: the current instruction accesses another address.
      (record.trapNumber, record.errorCode, record.faultAddress) = (14, 6, 0x18)
      record.registers[0] = 0x9000
      #expect(try #require(RingContents.sample([record]).report(Self.symbols)).diagnosis.cause == "raised-signal")
    }

    /// Returns the record of a signal that a fault's handler raised, and that the kernel delivered after the handler
    /// had returned.
    ///
    /// The registers are those of the fault, and have the flag RF set. The exception's number, error code and address
    /// are still those of the fault.
    private static func pending(
      _ signal: Int32, trap: UInt64, error: UInt64 = 0, fault: UInt64 = 0, pc: UInt64 = 0x10030,
      sp: UInt64 = 0x7fff_0000_0000, code: Int32 = -6, isFault: Bool = true, _ instruction: [UInt8]
    ) -> CrashRecord {
      var record = CrashRecord.sample(
        signal: signal, code: code, pc: pc, sp: sp, errorCode: error, senderPid: 99, instruction: instruction,
        depth: 5_000, frames: [.at(0x10030, exact: true), .at(0x10041)])
      (record.trapNumber, record.faultAddress, record.flags) = (trap, fault, isFault ? 0x1_0246 : 0x246)
      return record
    }

    private static let sp: UInt64 = 0x7e00_0000_1000
    private static let pendings: [(record: CrashRecord, cause: CrashReport.Cause, codeName: String)] = [
      // The first ten records have these instructions: mov eax, [rax + 16]; call; push rbx; no code; ud2; an unknown
      // instruction; idiv ecx; the instruction after int3; hlt; a store.
      (pending(SIGSEGV, trap: 14, error: 4, fault: 16, [0x8b, 0x40, 0x10]), "null-pointer-offset", "SEGV_MAPERR"),
      (
        pending(SIGSEGV, trap: 14, error: 6, fault: sp - 8, sp: sp, [0xe8, 0, 0, 0, 0]), "stack-overflow",
        "SEGV_MAPERR"
      ),
      (pending(SIGSEGV, trap: 14, error: 7, fault: sp - 8, sp: sp, [0x53]), "stack-overflow", "SEGV_ACCERR"),
      (pending(SIGSEGV, trap: 14, error: 20, fault: 0, pc: 0, []), "null-call", "SEGV_MAPERR"),
      (pending(SIGILL, trap: 6, [0x0f, 0x0b]), "trap", "ILL_ILLOPN"),
      (pending(SIGILL, trap: 6, [0x0f, 0xff, 0xc0]), "illegal-instruction", "ILL_ILLOPN"),
      (pending(SIGFPE, trap: 0, [0xf7, 0xf9]), "integer-division", "FPE_INTDIV"),
      (pending(SIGTRAP, trap: 3, isFault: false, [0x5d]), "breakpoint", "SI_KERNEL"),
      (pending(SIGSEGV, trap: 13, [0xf4]), "privileged-instruction", "SI_KERNEL"),
      (pending(SIGBUS, trap: 14, error: 6, fault: 0, [0xc6, 0x00, 0x01]), "truncated-mapping", "BUS_ADRERR"),
      // These signals were sent by kill(), for which the kernel can select this thread, or by abort() in a handler that
      // blocks SIGABRT.
      (
        pending(SIGSEGV, trap: 14, error: 4, fault: 16, code: 0, [0x8b, 0x40, 0x10]), "null-pointer-offset",
        "SEGV_MAPERR"
      ),
      (pending(SIGABRT, trap: 6, [0x0f, 0x0b]), "trap", "ILL_ILLOPN"),
    ]

    @Test("D6: if a re-raised signal was blocked until its handler returned, the first fault is still the cause")
    func blocked() throws {
      var symbols = Self.symbols
      symbols.chains[0x30]?.removeFirst()
      for expected in Self.pendings {
        let report = try #require(RingContents.sample([expected.record]).report(symbols))
        #expect(report.diagnosis.cause == expected.cause, "\(report.diagnosis.sentence)")
        #expect(report.signal.codeName == expected.codeName && report.signal.sender == nil, "\(expected.cause)")
        #expect(report.raisedAgain != nil)
      }
    }

    @Test("D6: an earlier, survived exception is not diagnosed as the cause of a sent signal")
    func survived() throws {
      let sent = [
        // RF is not set: the thread has executed instructions since the exception.
        Self.pending(SIGILL, trap: 6, isFault: false, [0x90]),
        Self.pending(SIGFPE, trap: 0, isFault: false, [0xf7, 0xf9]),
        Self.pending(SIGSEGV, trap: 13, isFault: false, [0x90]),
        // RF is set, but something contradicts the exception: its address, an instruction that does not divide, or the
        // signal.
        Self.pending(SIGSEGV, trap: 14, error: 4, fault: 0x5000, [0x8b, 0x40, 0x10]),
        Self.pending(SIGFPE, trap: 0, [0x8b, 0x40, 0x10]),
        Self.pending(SIGSEGV, trap: 6, [0x8b, 0x40, 0x10]),
        // RF is set, as it is after the first access to a page, but the instruction cannot raise this exception.
        Self.pending(SIGILL, trap: 6, [0x8b, 0x40, 0x10]),
        Self.pending(SIGSEGV, trap: 13, [0x8b, 0x40, 0x10]),
        Self.pending(SIGFPE, trap: 16, [0x8b, 0x40, 0x10]),
        Self.pending(SIGFPE, trap: 19, [0x0f, 0x11, 0x00]),
        Self.pending(SIGBUS, trap: 17, [0x8b, 0x40, 0x10]),
        // The instruction is cut, so its address is unknown, and no register has a value near the fault address.
        Self.pending(SIGSEGV, trap: 14, error: 4, fault: 0x1234_5678_9000, [0x8b, 0x04, 0x25]),
      ]
      for record in sent {
        let report = try #require(RingContents.sample([record]).report(Self.symbols))
        #expect(report.diagnosis.cause == "raised-signal" && report.raisedAgain == nil, "\(report.diagnosis.sentence)")
      }
    }

    @Test("D6: without a siginfo, the exception also shows a division, a breakpoint and a truncated file")
    func exceptions() {
      let tell = { (number: UInt64, error: UInt64, signal: Int32) in
        let exception = Exception_x86_64(number: number, error: error, address: 0x5000)
        return exception.signal(pc: 0x10030, expecting: signal).map { [Int($0.signal), Int($0.code), Int($0.address)] }
      }
      #expect(tell(0, 0, SIGFPE) == [8, 1, 0x10030] && tell(0, 0, SIGSEGV) == nil)
      #expect(tell(3, 0, SIGTRAP) == [5, 128, 0] && tell(3, 0, SIGSEGV) == nil)
      #expect(tell(14, 6, SIGBUS) == [7, 2, 0x5000] && tell(14, 6, SIGABRT) == [11, 1, 0x5000])
      #expect(tell(14, 7, SIGSEGV) == [11, 2, 0x5000] && tell(14, 0x25, SIGSEGV) == [11, 4, 0x5000])
      #expect(tell(13, 0, SIGSEGV) == [11, 128, 0] && tell(17, 0, SIGBUS) == [7, 1, 0])
    }

    @Test("D6: a self-sent signal without a fault, or with an inconsistent frame, is diagnosed as a sent signal")
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
