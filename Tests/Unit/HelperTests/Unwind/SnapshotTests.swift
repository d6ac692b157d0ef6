import CrashSymbols
import Foundation
import TestKit
import Testing

@Suite("A snapshot unwound by libunwind")
struct SnapshotTests {
  @Test("libunwind finds the frames of the handler's unwinder in a stack copy, through a callback of qsort")
  func agreement() throws {
    let snapshot = try Snapshot.take()
    let stack = try snapshot.unwound()
    #expect(snapshot.handlerFrames.count > 4)
    // Frame 0 is in the same function in both stacks, but the snapshot was taken a few instructions after the handler's
    // unwinder ran.
    #expect(stack.frames.dropFirst().map(\.pc) == Array(snapshot.handlerFrames.dropFirst()))
    #expect(stack.frames.first?.found == .context)
    #expect(stack.frames.dropFirst().allSatisfy { $0.found == .cfi })
    #expect(stack.stop == .end)
  }

  @Test("libunwind unwinds a call through a bad pointer with the help of the return address", arguments: [false, true])
  func badCall(isDataOfAnImage: Bool) throws {
    var snapshot = try Snapshot.take()
    let pc = try #require(snapshot.registers.last)
    // Simulates a call from the callback to an address without code: pushes the return address, and makes this address
    // pc.
    snapshot.stackStart -= 8
    snapshot.stack = (0..<8).map { UInt8(truncatingIfNeeded: pc >> ($0 * 8)) } + snapshot.stack
    snapshot.registers[7] -= 8
    snapshot.registers[16] = isDataOfAnImage ? try #require(snapshot.images.first).end - 1 : 0x10
    snapshot.isBadFetch = isDataOfAnImage
    let stack = try snapshot.unwound()
    #expect(stack.frames.prefix(2).map(\.pc) == [snapshot.registers[16], pc])
    #expect(stack.frames.prefix(2).map(\.found) == [.context, .scan])
    #expect(stack.frames.dropFirst(2).map(\.pc) == Array(snapshot.handlerFrames.dropFirst()))
  }

  @Test("from a truncated stack copy, libunwind unwinds the inner frames")
  func shortStack() throws {
    var snapshot = try Snapshot.take()
    snapshot.stack = Array(snapshot.stack.prefix(snapshot.stack.count / 4))
    let stack = try snapshot.unwound()
    let callers = stack.frames.dropFirst().map(\.pc)
    #expect(callers == Array(snapshot.handlerFrames.dropFirst().prefix(callers.count)))
    #expect(callers.count >= 1 && callers.count < snapshot.handlerFrames.count - 1)
    #expect(stack.stop == .noCaller)
  }

  @Test("unwinding ends at a frame whose stack pointer does not grow")
  func cycle() throws {
    var snapshot = try Snapshot.take()
    let pc = try #require(snapshot.registers.last)
    let image = try #require(snapshot.images.first { $0.start <= pc && pc < $0.end })
    snapshot.images = [image]
    snapshot.images[0].tables = try Tables.framePointers(of: image, at: pc)
    // The frame record of the caller is at a higher address, and that of its caller at a lower one again, so the
    // records form a loop.
    let start = snapshot.stackStart
    snapshot.registers[6] = start + 64
    for (offset, word) in [(64, start), (72, pc), (0, start + 64), (8, pc)] {
      for byte in 0..<8 { snapshot.stack[offset + byte] = UInt8(truncatingIfNeeded: word >> (byte * 8)) }
    }
    let stack = try snapshot.unwound()
    #expect(stack.stop == .loop)
    #expect(stack.frames.map(\.pc) == [pc, pc])
    #expect(stack.frames.map(\.found) == [.context, .cfi])
  }

  @Test("without unwind tables no frame of a stack copy is marked as certain")
  func noTables() throws {
    var snapshot = try Snapshot.take()
    for index in snapshot.images.indices { snapshot.images[index].tables = [] }
    #expect(try snapshot.unwound().frames.allSatisfy { $0.found != .cfi })
  }
}

@Suite("Hostile requests")
struct HostileRequestTests {
  @Test("a malformed cross-check request is refused")
  func strangers() throws {
    for bytes in [[], [0], Array("CSUNWRQ2".utf8), [UInt8](repeating: 0xff, count: 5_000)] as [[UInt8]] {
      let answer = try Tool.run(["unwind"], input: bytes)
      #expect(answer.status == 65 && answer.output.isEmpty)
      #expect(answer.error.hasPrefix("crash-analyse: ") && answer.error.filter(\.isNewline).count == 1)
    }
  }

  @Test("a truncated cross-check request is refused", arguments: 1..<10)
  func truncated(part: Int) throws {
    let request = try Snapshot.take().request
    #expect(try Tool.run(["unwind"], input: Array(request.prefix(request.count * part / 10))).status == 65)
  }

  @Test("a cross-check request with counts or offsets beyond its end, or with an unknown architecture, is refused")
  func counts() throws {
    let request = try Snapshot.take().request
    for word in [1, 2, 3, 4 + 19, 4 + 20] {
      var bytes = request
      bytes.replaceSubrange(word * 8..<word * 8 + 8, with: [UInt8](repeating: 0xff, count: 8))
      #expect(try Tool.run(["unwind"], input: bytes).status == 65, "word \(word)")
    }
  }

  @Test("a cross-check of random registers and stack bytes results in an answer", arguments: 0..<10)
  func random(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    var snapshot = try Snapshot.take()
    let image = try #require(snapshot.images.randomElement(using: &generator))
    for index in snapshot.stack.indices { snapshot.stack[index] = .random(in: 0...255, using: &generator) }
    // Half of the words are addresses in an image, like return addresses.
    for offset in stride(from: 0, to: snapshot.stack.count - 8, by: 16) {
      let word = UInt64.random(in: image.start..<image.end, using: &generator)
      for byte in 0..<8 { snapshot.stack[offset + byte] = UInt8(truncatingIfNeeded: word >> (byte * 8)) }
    }
    snapshot.registers = snapshot.registers.map { seed % 2 == 0 ? $0 : $0 ^ .random(in: 0...0xffff, using: &generator) }
    #expect(try snapshot.unwound().frames.count <= UnwindAnswer.frameLimit)
  }

  @Test("a cross-check with damaged tables results in an answer, or ends the child process only", arguments: 0..<20)
  func damaged(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    var snapshot = try Snapshot.take()
    for index in snapshot.images.indices {
      var tables = snapshot.images[index].tables
      for _ in 0..<tables.count / 50 {
        tables[Int.random(in: UnwindTablesHeader.size..<tables.count, using: &generator)] = .random(
          in: 0...255, using: &generator)
      }
      // Corrects the checksum, because an attacker can also compute it.
      snapshot.images[index].tables = try Tables.resealed(tables)
    }
    let answer = try Tool.run(["unwind"], input: snapshot.request)
    if answer.status == 0 {
      #expect(UnwindAnswer([UInt8](answer.output), threads: 1) != nil)
    } else {
      // libunwind can loop forever, or fault. The kernel ends the process at the limit of two seconds of CPU time.
      #expect([-SIGSEGV, -SIGBUS, -SIGABRT, -SIGFPE, -SIGXCPU, -SIGKILL].contains(answer.status), "\(answer.status)")
      #expect(answer.output.isEmpty)
    }
  }

  @Test("unwind tables with a wrong checksum are not used")
  func checksum() throws {
    var snapshot = try Snapshot.take()
    // Changes only a byte of the checksum, so the rest of the file is valid.
    for index in snapshot.images.indices { snapshot.images[index].tables[8] ^= 1 }
    #expect(try snapshot.unwound().frames.allSatisfy { $0.found != .cfi })
  }
}
