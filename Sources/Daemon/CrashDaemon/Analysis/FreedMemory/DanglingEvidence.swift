import CrashReport
import CrashRing
import Glibc

/// A freed block that explains a fault: the value that the fault is about was read from it.
struct DanglingEvidence: Sendable, Equatable {
  /// Where the block begins.
  var block: UInt64
  /// The register that pointed at it.
  var register: Int
  var state: BlockState
  /// What of it the fault used, for the sentence.
  var tie: String

  var text: String { "\(RegisterNames.name(register)) points at \(Address(block)), which is \(state.text), and \(tie)" }
}

// That a register points at a freed block is no evidence: stale registers do so in a third of all crashes (measured, 168
// of 504 that had nothing to do with freed memory). Each rule below ties the block to the faulting operand.
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

  /// Whether a value stands where generic code looks in a class, which a freed block has none of, for what values are like.
  private func isOfClass(_ value: UInt64, of block: FreedBlock) -> Bool {
    !block.state.isTaken && block.state != .deinitialized && value >= DiagnosisRule.nullPage
      && memory.word(at: block.words.0 &- 8) == value
  }

  /// The target of a call to an impossible address was loaded from a freed block, or by way of its first word.
  ///
  /// Such a call has no operand that faults: what ties is the register by which the target was loaded.
  var danglingCall: DanglingEvidence? { callEvidence(in: freedBlocks) }

  func callEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    callThroughOperand(in: blocks) ?? callOfWord(in: blocks)
  }

  /// The call's own operand says by which register the target was loaded, also where the target was not recorded.
  private func callThroughOperand(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard isGeneralProtection, let instruction, instruction.kind == .call || instruction.kind == .jump,
      let operand = instruction.operands.first, operand.base != 7,
      // With an address that is none the fault is the operand's, and no call's.
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
    // Null is not distinguished from the many zeros of any memory; other small numbers are, by way of a block's word.
    guard let target = wildTarget, target != 0 else { return nil }
    for number in 0..<16 where number != 7 && record.registers.indices.contains(number) {
      let value = record.registers[number]
      guard value >= DiagnosisRule.nullPage, let distance = distance(to: target, from: value) else { continue }
      for block in blocks {
        let name = RegisterNames.name(number)
        // What is only deinitialized was not written over; what others have written is theirs.
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

  /// The call that failed was to be of a method of a freed object: Swift passes the object in r13.
  ///
  /// Where its target came from is not known any more. In other languages r13 is a register as any.
  var danglingSelf: DanglingEvidence? { selfEvidence(in: freedBlocks) }

  func selfEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard let object = swiftSelfValue, isSwiftCaller, let tie = callOfSelf else { return nil }
    // In a deinit the object is deinitialized, and what is called has another cause.
    guard let block = blocks.first(where: { $0.address == object && $0.state != .deinitialized }) else {
      return nil
    }
    return DanglingEvidence(
      block: block.address, register: Self.swiftSelf, state: block.state, tie: tie)
  }

  /// A call that failed, and would have got what r13 holds.
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

  /// No register points at the block any more, but the faulting operand's holds what glibc writes into freed blocks, or
  /// the program went there.
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
      // Functions that copy text go on from where they began, or begin at a multiple of a vector's size.
      if value &- key < 256 || key &- value < 64 { return "beside the mark of a freed block" }
    }
    // A good pointer to a large heap is also a moved one.
    if heap.range.contains(value) || isArena(value) { return nil }
    if heap.isLink(value) || isArenaLink(value), !isUnwritten(value) {
      return "how a freed block leads to the next one"
    }
    // A stray retain or release has moved a pointer that glibc keeps in a binned block. Elsewhere than in Swift it is a
    // flipped bit.
    guard hasSwift else { return nil }
    for stray in -8...8 as ClosedRange<Int64> where stray != 0 {
      let pointer = value &+ UInt64(bitPattern: stray) &* HeapFacts.strongReference
      if heap.range.contains(pointer) || isArena(pointer) {
        return "a pointer of the heap moved by \(abs(stray)) × 2³³, as a stray \(stray > 0 ? "release" : "retain") does"
      }
    }
    return nil
  }

  /// Whether there is a runtime in the process that counts references: as a library, or in the thread's functions.
  private var hasSwift: Bool {
    images.contains { $0.path.split(separator: "/").last?.hasPrefix("libswiftCore.so") == true }
      || frames.contains { frame in
        ["$s", "swift_", "_swift_", "_ZN5swift"].contains { frame.mangled.hasPrefix($0) }
      }
  }

  /// Whether the target of a method's call was read from another block: the first word of the one in r13 leads there.
  ///
  /// Then that is no object, and what lies behind the other block, freed or not, has nothing to do with the call.
  private var isOfOtherBlock: Bool {
    guard isSwiftCaller, let object = swiftSelfValue, let first = memory.word(at: object) else { return false }
    return heap.range.contains(first) && first % 16 == 0 && !isLink(of: object, first)
  }

  /// What glibc writes into a freed block may look like a pointer to the heap where that is large.
  private func isLink(of block: UInt64, _ word: UInt64) -> Bool {
    guard let second = memory.word(at: block &+ 8) else { return false }
    return BlockState.of(block, (word, second), heap: heap, isArena: isArena, isMetadata: mayBeMetadata) != nil
  }

  /// Whether a link of a freed block was read from one that is in use again: malloc has cleared the mark behind it, and
  /// the program has not written anything.
  private func isUnwritten(_ link: UInt64) -> Bool {
    record.registers.prefix(16).contains { pointer in
      [0, 8, 16].contains { memory.word(at: pointer &- $0) == link && memory.word(at: pointer &- $0 &+ 8) == 0 }
    }
  }

  /// Where the program went, or tried to go, that can be no code.
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

  /// How far behind a pointer the record has a word of this value, if that is a method's or a field's distance.
  private func distance(to word: UInt64, from pointer: UInt64) -> UInt64? {
    (0..<64 as Range<UInt64>).lazy.map { 8 &* $0 }.first { memory.word(at: pointer &+ $0) == word }
  }

  struct FreedBlock {
    var address: UInt64
    var register: Int
    var state: BlockState
    var words: (UInt64, UInt64)
    /// What belongs to it, and not to the block behind it.
    var bytes: UInt64
    /// Only its first word is followed, and not computed with: as code does with objects.
    var isObject = false

    /// Smaller values are not taken for a word of it.
    ///
    /// Small numbers stand in many places. What stands where an object's class should be may be small.
    var leastValue: UInt64 { state.isTaken ? 1 : DiagnosisRule.nullPage }

    /// What of the block a value is.
    func place(of value: UInt64) -> String? {
      // What is only deinitialized still has its class there: a fault by way of it has another cause.
      if value == words.0, state != .deinitialized { return "first word" }
      if isObject { return nil }
      if value == words.1 { return "second word" }
      return value == HeapFacts.sideTable(words.1) ? "second word, taken for a side table" : nil
    }
  }

  /// Freed blocks that registers point at: their begin, or what stands 8 or 16 bytes into them.
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

  /// Freed blocks that a value may point at, which a register has or had.
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

  /// What a block's first words and, of one in a bin, its neighbours in the list tell.
  ///
  /// Where these do not lead back, malloc has given the block out, and it was not written to. Two pointers alone may be
  /// those of any list: of glibc's each leads 16 bytes in front of the other block.
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

  /// By the size that glibc keeps in front of each block; of one whose size the record does not have, the first words.
  private func blockBytes(_ address: UInt64) -> UInt64 {
    guard let size = memory.word(at: address &- 8).map({ $0 & ~15 }), (32...1 << 32).contains(size) else { return 24 }
    return size - 8
  }

  /// glibc's own data hold its main arena; its code stands far before.
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
