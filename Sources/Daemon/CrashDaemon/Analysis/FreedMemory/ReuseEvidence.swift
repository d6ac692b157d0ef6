import CrashReport
import CrashRing
import CrashSymbols

/// A class that code expects an object to be of, by the types of its variables, or by what its functions name.
struct ExpectedClass: Sendable, Equatable {
  /// Without its module.
  var name: String
  /// Of an instance.
  var bytes: UInt64
  /// The object may be of a class that is derived from it, whose instances are as large as this.
  var isDerived = false
  /// A variable with the object's address has this class; else the function only names it.
  var isOfVariable = false

  /// What glibc takes for an instance, its own message with it.
  ///
  /// 0 where that is no size of an object.
  var blockBytes: UInt64 { (16..<1 << 30).contains(bytes) ? max(32, (bytes + 8 + 15) & ~15) : 0 }

  /// Whether a block of this size may be one that an instance had, and another tenant has now.
  ///
  /// Where less than the smallest block would be left, malloc gives out all of a larger one, of 16 bytes more: that is
  /// rarer than a wrong one of such a size.
  func fits(_ block: UInt64) -> Bool { blockBytes != 0 && block == blockBytes }
}

extension CrashFacts {
  /// The block that Swift took for an object, and that is none: what the fault is about came by way of its first words,
  /// which are no class and no reference count.
  ///
  /// The words around leave out two of the ways to come there: an overrun of the block before destroys what glibc keeps in
  /// front of this one, and a stray write over a living object leaves its reference count. What is left is that its memory
  /// was used again, or that it was never an object.
  var blockWithoutObject: FreedBlock? { useWithoutObject?.block }

  private var useWithoutObject: (block: FreedBlock, evidence: DanglingEvidence)? {
    guard isMemoryFault || isGeneralProtection, isInObjectFunction || isSwiftCaller else { return nil }
    // The object of the method that is called comes first.
    let others = record.registers.prefix(16).enumerated().filter { $0.offset != 7 }.map(\.element)
    let pointers = [swiftSelfValue].compactMap { $0 } + others
    var tried: Set<UInt64> = []
    for pointer in pointers {
      for offset in [0, 8, 16] as [UInt64] {
        let address = pointer &- offset
        guard address % 16 == 0, address >= DiagnosisRule.nullPage, address.isCanonical,
          tried.insert(address).inserted,
          let block = block(withoutObjectAt: address, what: "a block of the heap and no object"), isWholeBehind(block),
          let evidence = use(of: block)
        else { continue }
        return (block, evidence)
      }
    }
    return nil
  }

  /// Of a short block the record has what glibc keeps behind it, too: an overrun of this one has destroyed that.
  private func isWholeBehind(_ block: FreedBlock) -> Bool {
    guard let next = memory.word(at: block.address &+ block.bytes) else { return true }
    return Self.isBlockSize(next)
  }

  /// How the fault came about by way of the block's first words.
  ///
  /// The runtime follows an object's second word, its count, too, which may lead to a side table. The program's own code does
  /// not, nor does it compute with its class.
  private func use(of block: FreedBlock) -> DanglingEvidence? {
    if isInObjectFunction { return operandEvidence(in: [block]) ?? callEvidence(in: [block]) }
    guard !isInSwiftRuntime else { return nil }
    var object = block
    object.isObject = true
    if isLoadByClass, let evidence = operandEvidence(in: [object]) { return evidence }
    guard isCall, block.address == swiftSelfValue else { return nil }
    return operandEvidence(in: [object]) ?? callEvidence(in: [object]) ?? selfEvidence(in: [object])
  }

  /// Whether what faulted is a function of the runtime that is given an object, and looks into it.
  ///
  /// Static functions of C++ are named alike in all images; the runtime's have its types in their names.
  private var isInObjectFunction: Bool {
    guard isInSwiftRuntime, let name = frames.first?.mangled, !name.hasPrefix("$s") else { return false }
    return !name.hasPrefix("_ZL") || name.contains("N5swift10HeapObject")
  }

  /// Whether what could not be read is what a class has for its methods, or of what its values are like.
  ///
  /// At 0 and 8 an object has its class and its count: one that could not be read is itself the object, a pointer to it stands
  /// in the block, and nothing says that the block should be one.
  private var isLoadByClass: Bool {
    guard let operand, operand.base != nil, operand.index == nil, !isFetch, instruction?.kind != .call,
      instruction?.kind != .jump
    else { return false }
    let distance = Int64(bitPattern: operand.displacement)
    return distance > Self.headerBytes || distance == Self.valueWitnesses
  }

  /// A class has its first method behind this; an object its first field.
  private static let headerBytes: Int64 = 16
  /// Where generic code finds in a class what its values are like.
  private static let valueWitnesses: Int64 = -8

  /// The block and how it was used, where it is as large as an object of a class that the code expects.
  ///
  /// A pointer that never was one to an object leads to a block of any size; one to an object that is gone to a block of
  /// that object's size, in which another one of about the same size is now.
  var danglingReuse: (evidence: DanglingEvidence, expected: ExpectedClass)? {
    guard !expectedClasses.isEmpty, let (block, evidence) = useWithoutObject,
      let expected = expectedClasses.first(where: { $0.fits(block.bytes + 8) })
    else { return nil }
    return (evidence, expected)
  }

  /// Where an object was expected that the fault shows to be none: freed memory, or a block that others have.
  var objectInQuestion: UInt64? { freedObject?.block ?? blockWithoutObject?.address }

  /// The freed block that the fault is tied to.
  ///
  /// The rules are asked in this order.
  private var freedObject: DanglingEvidence? { danglingOperand ?? danglingCall ?? danglingSelf ?? danglingField }

  /// The class that the code expects where the fault found freed memory; nil where it names none, or several of that size.
  var freedClass: ExpectedClass? {
    guard let block = freedObject?.block else { return nil }
    let size = memory.word(at: block &- 8)
    let fitting = expectedClasses.filter { expected in
      guard let size, Self.isBlockSize(size) else { return expected.isOfVariable }
      return expected.fits(size & ~7)
    }
    guard let first = fitting.first, fitting.allSatisfy({ $0.name == first.name }) else { return nil }
    return first
  }

  /// The name of the class that the code expects where a rule found freed memory, for the report; nil where none is known.
  func expectedClass(by rule: String) -> String? {
    switch rule {
    case DiagnosisRule.reuse, DiagnosisRule.reuseByCode: danglingReuse?.expected.name
    default: freedClass?.name
    }
  }

  /// Such as `; the code expects a Session`, for a sentence.
  var freedClassText: String {
    guard let expected = freedClass else { return "" }
    let name = expected.isDerived ? "\(expected.name), or one derived from it" : expected.name
    return expected.isOfVariable ? "; the code expects a \(name)" : "; the code there names a \(name)"
  }

  /// The classes that variables with the object's address have, as the place of the crash sees them; where there are none,
  /// those that the function names.
  func expectedClasses(in scope: ScopeDescription) -> [ExpectedClass] {
    guard let address = objectInQuestion else { return [] }
    let known = scope.variables.flatMap { variable -> [ExpectedClass] in
      guard let type = variable.type, scope.types.indices.contains(type), let bytes = scope.types[type].size,
        record.registers.indices.contains(variable.register)
      else { return [] }
      let place = record.registers[variable.register] &+ variable.offset
      guard (variable.isMemory ? memory.word(at: place) : place) == address else { return [] }
      return Self.classes(
        scope.types[type].name, bytes, derived: scope.types[type].derivedSizes, isOfVariable: true)
    }
    let classes =
      known.isEmpty
      ? scope.namedClasses.flatMap { named in
        Self.classes(named.name, named.size, derived: named.derivedSizes, isOfVariable: false)
      } : known
    // Among many sizes there is one for any block.
    return Set(classes.map(\.blockBytes)).count > Self.sizeLimit ? [] : classes
  }

  /// More different ones tell little: a program's main function names most of its classes.
  private static let sizeLimit = 4

  private static func classes(
    _ name: String, _ bytes: UInt64, derived: [UInt64], isOfVariable: Bool
  ) -> [ExpectedClass] {
    let name = CleanText.line(name)
    return [ExpectedClass(name: name, bytes: bytes, isOfVariable: isOfVariable)]
      + derived.map { ExpectedClass(name: name, bytes: $0, isDerived: true, isOfVariable: isOfVariable) }
  }
}
