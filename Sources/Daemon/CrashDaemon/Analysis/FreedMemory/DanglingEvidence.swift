import CrashReport
import CrashRing
import Glibc

/// A freed block that explains a fault: the faulting value was read from it.
struct DanglingEvidence: Sendable, Equatable {
  /// The block's address.
  var block: UInt64
  /// The register that pointed at it.
  var register: Int
  var state: BlockState
  /// The use of the block by the fault, for the sentence.
  var tie: String

  var text: String { "\(RegisterNames.name(register)) points at \(Address(block)), which is \(state.text), and \(tie)" }
}

// A register that points at a freed block is no evidence: stale registers do so in a third of all crashes (measured:
// 168 of 504 that had nothing to do with freed memory). Each rule below ties the block to the faulting operand.
extension CrashFacts {
  /// The faulting operand's register holds a word of a freed block.
  var danglingOperand: DanglingEvidence? { operandEvidence(in: freedBlocks) }

  func operandEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand else { return nil }
    for number in [operand.base, operand.index].compactMap({ $0 }) where number != RegisterNames.pc && number != 7 {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      for block in blocks where value >= block.leastValue && (!block.isObject || number == operand.base) {
        let place = block.place(of: value).map { "is its \($0)" }
        guard let tie = place ?? (isOfClass(value, of: block) ? "was loaded through its first word" : nil) else {
          continue
        }
        return DanglingEvidence(
          block: block.address, register: block.register, state: block.state,
          tie: "\(RegisterNames.name(number)) of the faulting \(operand.text) \(tie)")
      }
    }
    return nil
  }

  /// Whether the value was read at the offset of a class's value witness table, which a freed block does not have.
  private func isOfClass(_ value: UInt64, of block: FreedBlock) -> Bool {
    !block.state.isTaken && block.state != .deinitialized && value >= DiagnosisRule.nullPage
      && memory.word(at: block.words.0 &- 8) == value
  }

  /// The target of a call to an impossible address was loaded from a freed block, or through its first word.
  ///
  /// Such a call has no faulting operand; the register that the target was loaded through ties it to the block.
  var danglingCall: DanglingEvidence? { callEvidence(in: freedBlocks) }

  func callEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    callThroughOperand(in: blocks) ?? callOfWord(in: blocks)
  }

  /// The call's own operand names the register that the target was loaded through, even where the target was not
  /// recorded.
  private func callThroughOperand(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard isGeneralProtection, let instruction, instruction.kind == .call || instruction.kind == .jump,
      let operand = instruction.operands.first, operand.base != 7,
      // With a non-canonical address the operand faults, not the call.
      operand.address(record.registers)?.isCanonical == true
    else { return nil }
    for number in [operand.base, operand.index].compactMap({ $0 }) where number != RegisterNames.pc {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      for block in blocks where value >= block.leastValue && (!block.isObject || number == operand.base) {
        guard let place = block.place(of: value) else { continue }
        return DanglingEvidence(
          block: block.address, register: block.register, state: block.state,
          tie: "the call's target was loaded from \(operand.text), where \(RegisterNames.name(number)) is its \(place)")
      }
    }
    return nil
  }

  private func callOfWord(in blocks: [FreedBlock]) -> DanglingEvidence? {
    // Zeros are everywhere, so null is no evidence. Other small numbers are, through a word of the block.
    guard let target = wildTarget, target != 0 else { return nil }
    for number in 0..<16 where number != 7 && record.registers.indices.contains(number) {
      let value = record.registers[number]
      guard value >= DiagnosisRule.nullPage, let distance = distance(to: target, from: value) else { continue }
      for block in blocks {
        let name = RegisterNames.name(number)
        // A deinitialized object was not overwritten yet; a reused block has its new owner's data.
        if block.address == value, block.state != .deinitialized, !block.state.isTaken,
          target >= DiagnosisRule.nullPage, distance < block.bytes
        {
          return DanglingEvidence(
            block: block.address, register: number, state: block.state,
            tie: "the call's target \(Address(target)) stands in it")
        }
        if let place = block.place(of: value) {
          return DanglingEvidence(
            block: block.address, register: block.register, state: block.state,
            tie: "the call's target was loaded through \(name), which is its \(place)")
        }
      }
    }
    return nil
  }

  /// The failed call was for a method of a freed object: Swift passes the object in r13.
  ///
  /// The origin of the target is unknown by now. In other languages r13 is an ordinary register.
  var danglingSelf: DanglingEvidence? { selfEvidence(in: freedBlocks) }

  func selfEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard let object = swiftSelfValue, isSwiftCaller, let tie = callOfSelf else { return nil }
    // During a deinit the object is deinitialized, and its calls have other causes.
    guard let block = blocks.first(where: { $0.address == object && $0.state != .deinitialized }) else {
      return nil
    }
    return DanglingEvidence(
      block: block.address, register: Self.swiftSelf, state: block.state, tie: tie)
  }

  /// The text of a failed call that would have received r13.
  private var callOfSelf: String? {
    if let target = wildTarget {
      return target >= DiagnosisRule.nullPage ? "the call to \(Address(target)) was for it" : nil
    }
    guard isMemoryFault || isGeneralProtection, isAsyncCall, let operand,
      operand.address(record.registers).map({ $0 >= DiagnosisRule.nullPage }) ?? false
    else { return nil }
    return "the async call by way of \(operand.text) was for it"
  }

  /// r13.
  static let swiftSelf = 13

  var swiftSelfValue: UInt64? {
    record.registers.indices.contains(Self.swiftSelf) ? record.registers[Self.swiftSelf] : nil
  }

  var isSwiftCaller: Bool { frames.first { !$0.mangled.isEmpty }?.mangled.hasPrefix("$s") == true }

  /// No register points at the block any more, but the faulting operand's register holds a value that glibc writes into
  /// freed blocks, or the program jumped to one.
  var danglingRemains: String? {
    if let target = wildTarget, target >= DiagnosisRule.nullPage, !isOfOtherBlock, let remains = remains(target) {
      return "the call's target \(Address(target)) is \(remains)"
    }
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand else { return nil }
    for number in [operand.base, operand.index].compactMap({ $0 }) where number != RegisterNames.pc && number != 7 {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      guard value >= DiagnosisRule.nullPage, let remains = remains(value) else { continue }
      return "\(RegisterNames.name(number)) of the faulting \(operand.text) is \(remains)"
    }
    return nil
  }

  private func remains(_ value: UInt64) -> String? {
    if let key = heap.key {
      if let drift = HeapFacts.drift(of: value, from: key) {
        return "the mark of a freed block" + (drift == 0 ? "" : ", retained or released \(abs(drift)) times since")
      }
      for stray in -4...4 as ClosedRange<Int64> {
        let word = key &+ UInt64(bitPattern: stray) &* HeapFacts.strongReference
        if value == HeapFacts.sideTable(word) { return "the mark of a freed block, taken for a side table" }
      }
      // String functions advance from the start, or begin at a multiple of a vector's size.
      if value &- key < 256 || key &- value < 64 { return "beside the mark of a freed block" }
    }
    // In a large heap a valid pointer may look like a moved one.
    if heap.range.contains(value) || isArena(value) { return nil }
    if heap.isLink(value) || isArenaLink(value), !isUnwritten(value) {
      return "how a freed block leads to the next one"
    }
    // A stray retain or release has moved a pointer that glibc keeps in a binned block. Outside of Swift that is a bit
    // flip.
    guard hasSwift else { return nil }
    for stray in -8...8 as ClosedRange<Int64> where stray != 0 {
      let pointer = value &+ UInt64(bitPattern: stray) &* HeapFacts.strongReference
      if heap.range.contains(pointer) || isArena(pointer) {
        return "a pointer of the heap moved by \(abs(stray)) × 2³³, as a stray \(stray > 0 ? "release" : "retain") does"
      }
    }
    return nil
  }

  /// Whether the process has a reference-counting runtime: as a library, or among the thread's functions.
  private var hasSwift: Bool {
    images.contains { $0.path.split(separator: "/").last?.hasPrefix("libswiftCore.so") == true }
      || frames.contains { frame in
        ["$s", "swift_", "_swift_", "_ZN5swift"].contains { frame.mangled.hasPrefix($0) }
      }
  }

  /// Whether the target of a method's call was read from another block, which the first word of the one in r13 points
  /// to.
  ///
  /// Then r13 holds no object, and the state of that other block has nothing to do with the call.
  private var isOfOtherBlock: Bool {
    guard isSwiftCaller, let object = swiftSelfValue, let first = memory.word(at: object) else { return false }
    return heap.range.contains(first) && first % 16 == 0 && !isLink(of: object, first)
  }

  /// In a large heap a pointer may look like the link that glibc writes into a freed block.
  private func isLink(of block: UInt64, _ word: UInt64) -> Bool {
    guard let second = memory.word(at: block &+ 8) else { return false }
    return BlockState.of(block, (word, second), heap: heap, isArena: isArena, isMetadata: mayBeMetadata) != nil
  }

  /// Whether a link of a freed block was read from a block in use: malloc has cleared the mark after it, and the
  /// program has not written anything yet.
  private func isUnwritten(_ link: UInt64) -> Bool {
    record.registers.prefix(16).contains { pointer in
      [0, 8, 16].contains { memory.word(at: pointer &- $0) == link && memory.word(at: pointer &- $0 &+ 8) == 0 }
    }
  }

  /// The invalid code address that the program jumped to, or tried to.
  var wildTarget: UInt64? {
    if isMemoryFault && isFetch { return pc }
    guard isGeneralProtection, let instruction, instruction.kind == .call || instruction.kind == .jump else {
      return nil
    }
    if let address = instruction.operands.first.flatMap({ $0.base == 7 ? nil : $0.address(record.registers) }) {
      return memory.word(at: address).flatMap { $0.isCanonical ? nil : $0 }
    }
    return instruction.targetRegister.flatMap { number in
      guard record.registers.indices.contains(number), !record.registers[number].isCanonical else { return nil }
      return record.registers[number]
    }
  }

  /// The offset of a word with this value after a pointer, if it can be the offset of a method or field.
  private func distance(to word: UInt64, from pointer: UInt64) -> UInt64? {
    (0..<64 as Range<UInt64>).lazy.map { 8 &* $0 }.first { memory.word(at: pointer &+ $0) == word }
  }

  struct FreedBlock {
    var address: UInt64
    var register: Int
    var state: BlockState
    var words: (UInt64, UInt64)
    /// The bytes of this block, without the next one.
    var bytes: UInt64
    /// Code only follows its first word, and does not compute with it, as with objects.
    var isObject = false

    /// The smallest value that counts as a word of the block.
    ///
    /// Small numbers are in many places; a value in an object's class field may be small.
    var leastValue: UInt64 { state.isTaken ? 1 : DiagnosisRule.nullPage }

    /// The part of the block that a value is.
    func place(of value: UInt64) -> String? {
      // A deinitialized object still has its class: a fault through it has another cause.
      if value == words.0, state != .deinitialized { return "first word" }
      if isObject { return nil }
      if value == words.1 { return "second word" }
      return value == HeapFacts.sideTable(words.1) ? "second word, taken for a side table" : nil
    }
  }

  /// The freed blocks that registers point at: their address, or 8 or 16 bytes into them.
  var freedBlocks: [FreedBlock] {
    var blocks: [FreedBlock] = []
    for (number, value) in record.registers.prefix(16).enumerated() where number != 7 {
      for block in freedBlocks(around: value, in: number) where !blocks.contains(where: { $0.address == block.address })
      {
        blocks.append(block)
      }
    }
    return blocks
  }

  /// The freed blocks that a current or earlier value of a register may point at.
  func freedBlocks(around value: UInt64, in register: Int) -> [FreedBlock] {
    ([0, 8, 16] as [UInt64]).compactMap { offset in
      let address = value &- offset
      guard address % 16 == 0, address >= DiagnosisRule.nullPage, address.isCanonical,
        let first = memory.word(at: address), let second = memory.word(at: address &+ 8),
        let state = state(of: address, (first, second))
      else { return nil }
      return FreedBlock(
        address: address, register: register, state: state, words: (first, second), bytes: blockBytes(address))
    }
  }

  /// The state by the block's first words and, in a bin, by its neighbors in the list.
  ///
  /// Where the neighbors do not point back, malloc has reused the block without a write to it. Two pointers alone may
  /// belong to any list: each of glibc's points 16 bytes before the other block.
  private func state(of address: UInt64, _ words: (UInt64, UInt64)) -> BlockState? {
    let state = BlockState.of(address, words, heap: heap, isArena: isArena, isMetadata: mayBeMetadata)
    let chunk = address &- 16
    let back = memory.word(at: words.0 &+ 24).map { HeapFacts.drift(of: $0, from: chunk) != nil }
    guard case .binned(let drift) = state else {
      let areLinks = [words.0, words.1].allSatisfy { heap.range.contains($0) && $0 % 16 == 0 }
      return state == nil && areLinks && back == true ? .binned(drift: 0) : state
    }
    let previous = words.1 &- UInt64(bitPattern: drift) &* HeapFacts.strongReference
    let forward = memory.word(at: previous &+ 16).map { $0 == chunk }
    return back == false || forward == false ? nil : state
  }

  /// The size that glibc keeps before each block; of a block without a recorded size, the first words.
  private func blockBytes(_ address: UInt64) -> UInt64 {
    guard let size = memory.word(at: address &- 8).map({ $0 & ~15 }), (32...1 << 32).contains(size) else { return 24 }
    return size - 8
  }

  /// glibc's data contain its main arena; its code is far before it.
  private func isArena(_ address: UInt64) -> Bool {
    guard let image = images.first(where: { $0.start <= address && address < $0.end }) else { return false }
    return image.end &- address <= Self.arenaReach
      && image.path.split(separator: "/").last?.hasPrefix("libc.so") == true
  }

  /// .data and .bss of glibc 2.36 are 60 KiB; constants end 72 KiB before the end.
  private static let arenaReach: UInt64 = 64 << 10

  private func mayBeMetadata(_ address: UInt64) -> Bool {
    heap.range.contains(address) || images.contains { $0.start <= address && address < $0.end }
  }
}
