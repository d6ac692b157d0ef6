import CrashSymbols
import Foundation
import Glibc
import TestKit
import Testing

/// Tests the unwind cross-check of an AArch64 process, which runs on a machine of any architecture.
@Suite("A snapshot of AArch64")
struct AArch64UnwindTests {
  /// The snapshot of `AArch64Sample`, with the unwind tables that `crash-analyse unwind-tables` extracts from its image.
  private static func snapshot(hasTables: Bool = true) throws -> Snapshot {
    let image = try #require(Data(base64Encoded: AArch64Sample.image))
    let answer = try Tool.run(["unwind-tables", "--build-id", ""], input: [UInt8](image))
    try #require(answer.status == 0, "\(answer.error)")
    let stack = AArch64Sample.stack.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    return Snapshot(
      registers: AArch64Sample.registers, stackStart: AArch64Sample.registers[31], stack: stack,
      images: [
        Snapshot.Image(start: 0x20_0000, end: 0x20_5000, bias: 0, tables: hasTables ? [UInt8](answer.output) : [])
      ], architecture: .aarch64)
  }

  /// Returns the start of the function that contains an address.
  private static func function(of pc: UInt64) -> UInt64? { AArch64Sample.functions.last { $0 <= pc } }

  @Test("the tables of an image of AArch64 have its two sections and its build id")
  func tables() throws {
    let image = [UInt8](try #require(Data(base64Encoded: AArch64Sample.image)))
    let file = [UInt8](try Tool.run(["unwind-tables", "--build-id", ""], input: image).output)
    let header = try #require(UnwindTablesHeader(file, fileSize: file.count))
    #expect(header.buildID.count == 20 && header.index.size > 12 && header.frames.size > 100)
    // The tables must have the two sections unchanged. In the image, the offset of a section is its address minus
    // 0x200000.
    for (section, start) in [(header.index, 0), (header.frames, Int(header.index.size))] {
      let place = Int(section.address) - 0x20_0000
      let copied = file[UnwindTablesHeader.size...].dropFirst(start).prefix(Int(section.size))
      #expect(copied.elementsEqual(image[place..<place + Int(section.size)]))
    }
  }

  @Test("a function without a frame and signed return addresses are unwound")
  func signed() throws {
    let snapshot = try Self.snapshot()
    let mask: UInt64 = 0xffff_ffff_ffff
    #expect(AArch64Sample.stack.contains { $0 > mask && ($0 & mask) >> 16 == 0x20 })
    let stack = try snapshot.unwound()
    #expect(stack.frames.prefix(3).compactMap { Self.function(of: $0.pc) } == Array(AArch64Sample.functions.prefix(3)))
    #expect(stack.frames.count == 4 && stack.frames.map(\.found) == [.context, .cfi, .cfi, .cfi])
    #expect(stack.frames.allSatisfy { $0.pc >> 48 == 0 })
    // The unwinding stops at `main`, whose return address is not in the copy of the stack.
    #expect(stack.stop == .noCaller)
  }

  @Test("after a jump to an address without code, the caller is the address in x30", arguments: [false, true])
  func badCall(isSigned: Bool) throws {
    var snapshot = try Self.snapshot()
    let pc = snapshot.registers[32]
    // Simulates a call of `inner` through a bad pointer, by the instruction before pc.
    snapshot.registers[30] = pc | (isSigned ? 0x3a << 48 : 0)
    snapshot.registers[32] = 0x10
    let stack = try snapshot.unwound()
    #expect(stack.frames.prefix(2).map(\.pc) == [0x10, pc])
    #expect(stack.frames.prefix(2).map(\.found) == [.context, .scan])
    // An address in the data of the image counts as a bad jump target only if the fault's syndrome confirms it.
    snapshot.registers[32] = 0x20_4ff8
    snapshot.isBadFetch = true
    #expect(try snapshot.unwound().frames.prefix(2).map(\.pc) == [0x20_4ff8, pc])
  }

  @Test("without tables, frame pointers lead to the callers, and no frame is certain")
  func framePointers() throws {
    let stack = try Self.snapshot(hasTables: false).unwound()
    #expect(stack.frames.count > 2 && stack.frames.dropFirst().allSatisfy { $0.found == .framePointer })
    #expect(stack.frames.prefix(3).compactMap { Self.function(of: $0.pc) } == Array(AArch64Sample.functions.prefix(3)))
  }

  @Test("from every truncated stack copy, the inner frames are unwound")
  func truncated() throws {
    let whole = try Self.snapshot().unwound().frames.map(\.pc)
    for words in [0, 1, 8, 15, 16, 20, 40] {
      var snapshot = try Self.snapshot()
      snapshot.stack = Array(snapshot.stack.prefix(8 * words))
      let stack = try snapshot.unwound()
      #expect(stack.frames.map(\.pc) == Array(whole.prefix(stack.frames.count)) && stack.frames.count >= 2)
      #expect(stack.stop == .noCaller)
    }
  }

  @Test("unwinding ends at a frame whose stack pointer does not grow")
  func cycle() throws {
    var snapshot = try Self.snapshot(hasTables: false)
    // The frame record at the start of the stack points to itself as the caller's frame record.
    let start = snapshot.stackStart
    snapshot.registers[29] = start
    for (offset, word) in [(0, start), (8, snapshot.registers[32])] {
      for byte in 0..<8 { snapshot.stack[offset + byte] = UInt8(truncatingIfNeeded: word >> (byte * 8)) }
    }
    let stack = try snapshot.unwound()
    // libdw rejects a caller whose stack pointer is not above that of its callee.
    #expect(stack.stop == .noCaller && stack.frames.count == 2)
  }

  @Test("damaged tables, registers and stacks result in an answer, or end the child process only", arguments: 0..<30)
  func damaged(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    var snapshot = try Self.snapshot()
    var tables = snapshot.images[0].tables
    for _ in 0..<seed {
      tables[Int.random(in: UnwindTablesHeader.size..<tables.count, using: &generator)] = .random(
        in: 0...255, using: &generator)
    }
    snapshot.images[0].tables = try Tables.resealed(tables)
    if seed % 3 == 0 {
      snapshot.registers = snapshot.registers.map { $0 ^ .random(in: 0...0xfff, using: &generator) }
    }
    if seed % 5 == 0 {
      for index in snapshot.stack.indices { snapshot.stack[index] = .random(in: 0...255, using: &generator) }
    }
    // Two more images, at the ends of the address space: without tables, and with the tables of another image.
    snapshot.images.append(Snapshot.Image(start: 0x30_0000, end: .max, bias: .max, tables: []))
    snapshot.images.append(Snapshot.Image(start: 0, end: 1, bias: 5, tables: snapshot.images[0].tables))
    let answer = try Tool.run(["unwind"], input: snapshot.request)
    if answer.status == 0 {
      #expect(UnwindAnswer([UInt8](answer.output), threads: 1) != nil)
    } else {
      // libdw may fault. The kernel ends the process at the limit of two seconds of CPU time.
      #expect([-SIGSEGV, -SIGBUS, -SIGABRT, -SIGFPE, -SIGXCPU, -SIGKILL].contains(answer.status), "\(answer.status)")
      #expect(answer.output.isEmpty)
    }
  }

  @Test("a request with registers of the other architecture is refused or unwound without a read beyond its end")
  func otherArchitecture() throws {
    var bytes = try Self.snapshot().request
    bytes[24] = 1
    #expect([0, 65].contains(try Tool.run(["unwind"], input: bytes).status))
    bytes[24] = 3
    #expect(try Tool.run(["unwind"], input: bytes).status == 65)
  }
}
