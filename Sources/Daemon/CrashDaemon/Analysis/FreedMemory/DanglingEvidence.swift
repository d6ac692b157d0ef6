import CrashReport
import CrashRing
import Glibc

/// Evidence that a fault used a freed block, because the faulting value was read from the block.
struct DanglingEvidence: Sendable, Equatable {
  /// The address of the freed block.
  var block: UInt64
  /// The register that contains a pointer to the block.
  var register: Int
  var state: BlockState
  /// The part of the diagnosis sentence that states the connection between the faulting operation and the block.
  var tie: String
  var architecture: Architecture

  var text: String {
    "\(architecture.registerName(register)) points at \(Address(block)), which is \(state.text), and \(tie)"
  }
}

// A register that points to a freed block is not sufficient evidence. In a measurement of 504 crashes that had not used
// freed memory, a stale register pointed to a freed block in 168 crashes (a third). Therefore, each of the following
// rules must show a connection between the faulting operation and the block.
extension CrashFacts {
  /// The evidence that the register of the faulting operand contains a word that is stored in a freed block.
  var danglingOperand: DanglingEvidence? { operandEvidence(in: freedBlocks) }

  func operandEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand else { return nil }
    for number in [operand.base, operand.index].compactMap({ $0 }) where record.isPointerRegister(number) {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      for block in blocks where value >= block.leastValue && (!block.isObject || number == operand.base) {
        let place = block.place(of: value).map { "is its \($0)" }
        guard let tie = place ?? (isOfClass(value, of: block) ? "was loaded through its first word" : nil) else {
          continue
        }
        return DanglingEvidence(
          block: block.address, register: block.register, state: block.state,
          tie: "\(architecture.registerName(number)) of the faulting \(operand.text) \(tie)", architecture: architecture
        )
      }
    }
    return nil
  }

  /// Whether the code read the value through the block's first word, at the offset where the value witness table would
  /// be if the first word were a class.
  ///
  /// The first word of a freed block is no longer a class, so the value is not a value witness table.
  private func isOfClass(_ value: UInt64, of block: FreedBlock) -> Bool {
    !block.state.isTaken && block.state != .deinitialized && value >= DiagnosisRule.nullPage
      && memory.word(at: block.words.0 &- 8) == value
  }

  /// The evidence that a call jumped to an impossible address that was loaded from a freed block or through its first
  /// word.
  ///
  /// The fault of a call to an impossible address has no faulting operand. Therefore, the rule uses the register
  /// through which the address was loaded.
  var danglingCall: DanglingEvidence? { callEvidence(in: freedBlocks) }

  func callEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    callThroughOperand(in: blocks) ?? callOfWord(in: blocks)
  }

  /// Finds the evidence by the operand of the call, which names the register through which the call's target was
  /// loaded.
  ///
  /// The search also works if the record does not contain the target.
  private func callThroughOperand(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard isGeneralProtection, let instruction, instruction.kind == .call || instruction.kind == .jump,
      let operand = instruction.operands.first, operand.base != architecture.stackPointer,
      // Require that the operand's address is canonical. If the address is not canonical, the processor faulted when it
      // read the operand, and not at the call.
      isCanonical(operand.address(record.registers))
    else { return nil }
    for number in [operand.base, operand.index].compactMap({ $0 }) where number != architecture.programCounter {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      for block in blocks where value >= block.leastValue && (!block.isObject || number == operand.base) {
        guard let place = block.place(of: value) else { continue }
        return DanglingEvidence(
          block: block.address, register: block.register, state: block.state,
          tie:
            "the call's target was loaded from \(operand.text), where \(architecture.registerName(number)) is its \(place)",
          architecture: architecture)
      }
    }
    return nil
  }

  private func callOfWord(in blocks: [FreedBlock]) -> DanglingEvidence? {
    // A null target is not evidence, because zeros are common in memory. A small number other than zero is evidence if
    // the call loaded the number through a word of the block.
    guard let target = wildTarget, target != 0 else { return nil }
    for number in record.pointerNumbers {
      let value = record.registers[number]
      guard value >= DiagnosisRule.nullPage, let distance = distance(to: target, from: value) else { continue }
      for block in blocks {
        let name = architecture.registerName(number)
        // A deinitialized object still has its contents, and a reused block contains the data of its current user. In
        // both cases, a target that was loaded from the block is not evidence of a use of freed memory.
        if block.address == value, block.state != .deinitialized, !block.state.isTaken,
          target >= DiagnosisRule.nullPage, distance < block.bytes
        {
          return DanglingEvidence(
            block: block.address, register: number, state: block.state,
            tie: "the call's target \(Address(target)) is stored in it", architecture: architecture)
        }
        if let place = block.place(of: value) {
          return DanglingEvidence(
            block: block.address, register: block.register, state: block.state,
            tie: "the call's target was loaded through \(name), which is its \(place)", architecture: architecture)
        }
      }
    }
    return nil
  }

  /// The evidence that the failed call was a method call on a freed object.
  ///
  /// Swift passes the object in the register of self (r13, x20). The rule requires a Swift caller, because other
  /// languages use this register for any value. The rule uses the register, because the record no longer shows from
  /// where the code loaded the call target.
  var danglingSelf: DanglingEvidence? { selfEvidence(in: freedBlocks) }

  func selfEvidence(in blocks: [FreedBlock]) -> DanglingEvidence? {
    guard let object = swiftSelfValue, isSwiftCaller, let tie = callOfSelf else { return nil }
    // Exclude deinitialized objects. While a deinit runs, its object is already marked as deinitialized, and a failed
    // call in the deinit has another cause.
    guard let block = blocks.first(where: { $0.address == object && $0.state != .deinitialized }) else {
      return nil
    }
    return DanglingEvidence(
      block: block.address, register: architecture.swiftSelf, state: block.state, tie: tie, architecture: architecture)
  }

  /// The part of the diagnosis sentence that describes a failed call with the object in the register of self.
  private var callOfSelf: String? {
    if let target = wildTarget {
      return target >= DiagnosisRule.nullPage ? "the call to \(Address(target)) passed it as self" : nil
    }
    guard isMemoryFault || isGeneralProtection, isAsyncCall, let operand,
      operand.address(record.registers).map({ $0 >= DiagnosisRule.nullPage }) ?? false
    else { return nil }
    return "the async call through \(operand.text) passed it as self"
  }

  /// The value of the register in which Swift passes self.
  var swiftSelfValue: UInt64? {
    record.registers.indices.contains(architecture.swiftSelf) ? record.registers[architecture.swiftSelf] : nil
  }

  var isSwiftCaller: Bool { frames.first { !$0.mangled.isEmpty }?.mangled.hasPrefix("$s") == true }

  /// Evidence of a use-after-free that does not need a register that points to the freed block.
  ///
  /// The evidence is that the register of the faulting operand, or the target of a jump, has a value that glibc writes
  /// into freed blocks.
  var danglingRemains: String? {
    if let target = wildTarget, target >= DiagnosisRule.nullPage, !isOfOtherBlock, let remains = remains(target) {
      return "the call's target \(Address(target)) is \(remains)"
    }
    guard isMemoryFault || isGeneralProtection, !isFetch, let operand else { return nil }
    for number in [operand.base, operand.index].compactMap({ $0 }) where record.isPointerRegister(number) {
      guard record.registers.indices.contains(number) else { continue }
      let value = record.registers[number]
      guard value >= DiagnosisRule.nullPage, let remains = remains(value) else { continue }
      return "\(architecture.registerName(number)) of the faulting \(operand.text) is \(remains)"
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
        if value == HeapFacts.sideTable(word) { return "the mark of a freed block, interpreted as a side table" }
      }
      // Accept values near the mark that glibc writes, because string functions advance a pointer from the start of a
      // string, or round the pointer down to a multiple of the vector size.
      if value &- key < 256 || key &- value < 64 { return "beside the mark of a freed block" }
    }
    // Exclude values that are valid pointers into the heap, because in a large heap, a valid pointer can by chance
    // equal a link between freed blocks, or a pointer that a retain or release changed.
    if heap.range.contains(value) || isArena(value) { return nil }
    if heap.isLink(value) || isArenaLink(value), !isUnwritten(value) {
      return "the link from a freed block to the next one"
    }
    // glibc stores pointers in a block that is in a bin. Check whether a stray retain or release has changed one of
    // these pointers. In a process without Swift, a bit flip is a more probable cause of such a value.
    guard hasSwift else { return nil }
    for stray in -8...8 as ClosedRange<Int64> where stray != 0 {
      let pointer = value &+ UInt64(bitPattern: stray) &* HeapFacts.strongReference
      if heap.range.contains(pointer) || isArena(pointer) {
        return "a pointer of the heap moved by \(abs(stray)) × 2³³, as a stray \(stray > 0 ? "release" : "retain") does"
      }
    }
    return nil
  }

  /// Whether the process has Swift's runtime, either as a library or statically linked.
  ///
  /// If it is statically linked, names of functions in the thread's frames show this.
  private var hasSwift: Bool {
    images.contains { $0.path.split(separator: "/").last?.hasPrefix("libswiftCore.so") == true }
      || frames.contains { frame in
        ["$s", "swift_", "_swift_", "_ZN5swift"].contains { frame.mangled.hasPrefix($0) }
      }
  }

  /// Whether the code read the target of a method call from a second block, to which the first word of the block in r13
  /// (the register of self) points.
  ///
  /// In this case, the register of self does not contain an object, and the state of the second block has no relation
  /// to the call.
  private var isOfOtherBlock: Bool {
    guard isSwiftCaller, let object = swiftSelfValue, let first = memory.word(at: object) else { return false }
    return heap.range.contains(first) && first % 16 == 0 && !isLink(of: object, first)
  }

  /// Whether the block is freed and the word is the block's link to the next freed block.
  ///
  /// The function checks the words of the block, because in a large heap a valid pointer can by chance equal a link.
  private func isLink(of block: UInt64, _ word: UInt64) -> Bool {
    guard let second = memory.word(at: block &+ 8) else { return false }
    return BlockState.of(block, (word, second), heap: heap, isArena: isArena, isMetadata: mayBeMetadata) != nil
  }

  /// Whether the value is an old link from a block that is in use again, but to which the program has not written yet.
  ///
  /// When malloc allocates a block from a tcache, it clears the second word but keeps the link in the first word.
  private func isUnwritten(_ link: UInt64) -> Bool {
    record.generalRegisters.contains { pointer in
      [0, 8, 16].contains { memory.word(at: pointer &- $0) == link && memory.word(at: pointer &- $0 &+ 8) == 0 }
    }
  }

  /// The invalid address to which the program jumped, or tried to jump.
  var wildTarget: UInt64? {
    if isMemoryFault && isFetch || isMisalignedFetch { return jumpTarget }
    guard isGeneralProtection, let instruction, instruction.kind == .call || instruction.kind == .jump else {
      return nil
    }
    if let address = instruction.operands.first.flatMap({
      $0.base == architecture.stackPointer ? nil : $0.address(record.registers)
    }) {
      return memory.word(at: address).flatMap { isCanonical($0) ? nil : $0 }
    }
    return instruction.targetRegister.flatMap { number in
      guard record.registers.indices.contains(number), !isCanonical(record.registers[number]) else { return nil }
      return record.registers[number]
    }
  }

  /// The value that the program used as the address of the code at pc.
  ///
  /// AArch64 ignores the top byte of the target of a jump, so pc may lack this byte. The register of the jump still
  /// contains the whole value.
  private var jumpTarget: UInt64 {
    let address = architecture.untagged(pc)
    // Do not search for the tag of a null pointer: words that end in 56 zero bits, such as the second word of an empty
    // string, are common.
    guard address >= DiagnosisRule.nullPage else { return pc }
    return record.generalRegisters.first { architecture.untagged($0) == address } ?? pc
  }

  /// Returns the offset from `pointer` to the recorded memory word with the value `word`; nil if no word near the
  /// pointer has this value.
  ///
  /// The search ends at the largest offset that a method or field is expected to have.
  private func distance(to word: UInt64, from pointer: UInt64) -> UInt64? {
    (0..<64 as Range<UInt64>).lazy.map { 8 &* $0 }.first { memory.word(at: pointer &+ $0) == word }
  }

  struct FreedBlock {
    var address: UInt64
    var register: Int
    var state: BlockState
    var words: (UInt64, UInt64)
    /// The size of the block in bytes.
    var bytes: UInt64
    /// Whether the code used the block as an object: the code read only the block's first word, and used this word
    /// unchanged as a base address.
    var isObject = false

    /// The smallest register value that can count as equal to a word of the block.
    ///
    /// Small numbers are common in memory, so a match is usually not evidence. The code accepts small numbers only for
    /// a reused block. The first word of this block contained the class of the former object, and can contain a small
    /// number after the reuse.
    var leastValue: UInt64 { state.isTaken ? 1 : DiagnosisRule.nullPage }

    /// Returns the name of the word of the block that has the given value; nil if no word of the block has the value.
    func place(of value: UInt64) -> String? {
      // A deinitialized object still has its class, so a fault through its first word has another cause.
      if value == words.0, state != .deinitialized { return "first word" }
      if isObject { return nil }
      if value == words.1 { return "second word" }
      return value == HeapFacts.sideTable(words.1) ? "second word, interpreted as a side table" : nil
    }
  }

  /// The freed blocks to which registers point.
  ///
  /// A register can point to the start of the block, or to the word 8 or 16 bytes after it.
  var freedBlocks: [FreedBlock] {
    var blocks: [FreedBlock] = []
    for number in record.pointerNumbers {
      let value = record.registers[number]
      for block in freedBlocks(around: value, in: number) where !blocks.contains(where: { $0.address == block.address })
      {
        blocks.append(block)
      }
    }
    return blocks
  }

  /// Returns the freed blocks to which a register points, or pointed before the code changed the register.
  func freedBlocks(around value: UInt64, in register: Int) -> [FreedBlock] {
    ([0, 8, 16] as [UInt64]).compactMap { offset in
      let address = value &- offset
      guard address % 16 == 0, address >= DiagnosisRule.nullPage, isCanonical(address),
        let first = memory.word(at: address), let second = memory.word(at: address &+ 8),
        let state = state(of: address, (first, second))
      else { return nil }
      return FreedBlock(
        address: address, register: register, state: state, words: (first, second), bytes: blockBytes(address))
    }
  }

  /// Returns the state of a block, from its first words and, if the block is in a bin, from its neighbors in the bin's
  /// list.
  ///
  /// If the neighbors do not point back to the block, malloc has allocated the block again, and the program has not
  /// written to it yet. Two pointers alone are not evidence, because they can belong to any linked list. In glibc's
  /// lists, a pointer points to the header of a block, 16 bytes before the contents of this block.
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

  /// Returns the size of a block, which glibc stores in front of the block.
  ///
  /// If the record does not contain the size, the result is the size of the first three words.
  private func blockBytes(_ address: UInt64) -> UInt64 {
    guard let size = memory.word(at: address &- 8).map({ $0 & ~15 }), (32...1 << 32).contains(size) else { return 24 }
    return size - 8
  }

  /// Whether an address is in the last part of glibc's image.
  ///
  /// The last part contains the main arena of malloc. The code of glibc is at much lower addresses.
  private func isArena(_ address: UInt64) -> Bool {
    guard let image = images.first(where: { $0.start <= address && address < $0.end }) else { return false }
    return image.end &- address <= Self.arenaReach
      && image.path.split(separator: "/").last?.hasPrefix("libc.so") == true
  }

  /// The size in bytes of the part at the end of glibc's image in which `isArena` accepts addresses.
  ///
  /// In glibc 2.36, .data and .bss take the last 60 KiB of the image, and the read-only constants end 72 KiB before its
  /// end. The limit of 64 KiB is between these two distances.
  private static let arenaReach: UInt64 = 64 << 10

  private func mayBeMetadata(_ address: UInt64) -> Bool {
    heap.range.contains(address) || images.contains { $0.start <= address && address < $0.end }
  }
}
