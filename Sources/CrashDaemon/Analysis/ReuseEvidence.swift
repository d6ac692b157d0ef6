import CrashReport
import CrashRing
import CrashSymbols

/// A class that code expects an object to be of, by the types of its variables.
struct ExpectedClass: Sendable, Equatable {
  /// Without its module.
  var name: String
  /// Of an instance.
  var bytes: UInt64
  /// The object may be of a class that is derived from it, whose instances are as large as this.
  var isDerived = false

  /// What glibc takes for an instance, its own words with it.
  var blockBytes: UInt64 { bytes < 1 << 30 ? max(32, (bytes + 8 + 15) & ~15) : 0 }
}

extension CrashFacts {
  /// The block in which a method's object should be and is not: the call went by way of its first word, which is no
  /// class.
  ///
  /// The words around leave out two of the ways to come there: an overrun of the block before destroys what glibc keeps in
  /// front of this one, and a stray write over a living object leaves its reference count. What is left is that its memory
  /// was used again, or that it was never an object.
  var blockWithoutObject: FreedBlock? {
    guard let address = swiftSelfValue, address % 16 == 0, address >= DiagnosisRule.nullPage, address.isCanonical,
      isCall, let block = block(withoutObjectAt: address, what: "a block of the heap and no object"),
      callOfMethod(in: block) != nil
    else { return nil }
    // Of a short block the record has what glibc keeps behind it, too.
    if let next = memory.word(at: address &+ block.bytes), !Self.isBlockSize(next) || next & 1 == 0 { return nil }
    return block
  }

  /// How the call came about by way of the block's first word.
  func callOfMethod(in block: FreedBlock) -> DanglingEvidence? {
    operandEvidence(in: [block]) ?? callEvidence(in: [block]) ?? selfEvidence(in: [block])
  }

  /// The block and how it was used, where it is as large as an object of the class that the code expects there.
  ///
  /// A pointer that never was one to an object leads to a block of any size; one to an object that is gone to a block of
  /// that object's size, in which another one of about the same size is now.
  var danglingReuse: (evidence: DanglingEvidence, expected: ExpectedClass)? {
    guard isSwiftCaller, !isInSwiftRuntime, let block = blockWithoutObject, let evidence = callOfMethod(in: block),
      let expected = expectedClasses.first(where: { $0.blockBytes == block.bytes + 8 })
    else { return nil }
    return (evidence, expected)
  }

  /// The classes that variables with the object's address have, as the place of the crash sees them.
  func expectedClasses(in scope: ScopeDescription) -> [ExpectedClass] {
    guard let address = blockWithoutObject?.address else { return [] }
    return scope.variables.flatMap { variable -> [ExpectedClass] in
      guard let type = variable.type, scope.types.indices.contains(type), let bytes = scope.types[type].size,
        record.registers.indices.contains(variable.register)
      else { return [] }
      let place = record.registers[variable.register] &+ variable.offset
      guard (variable.isMemory ? memory.word(at: place) : place) == address else { return [] }
      let name = CleanText.line(scope.types[type].name)
      return [ExpectedClass(name: name, bytes: bytes)]
        + scope.types[type].derivedSizes.map { ExpectedClass(name: name, bytes: $0, isDerived: true) }
    }
  }
}
