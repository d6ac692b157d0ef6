import CrashReport
import CrashRing
import CrashSymbols

/// A class that code expects an object to have, by the types of its variables, or by the classes that its functions
/// name.
struct ExpectedClass: Sendable, Equatable {
  /// The name without its module.
  var name: String
  /// The size of an instance.
  var bytes: UInt64
  /// The object may be of a derived class, whose instances are as large as this.
  var isDerived = false
  /// A variable with the object's address has this class; else the function only names it.
  var isOfVariable = false

  /// The block size that glibc uses for an instance, with its header.
  ///
  /// 0 where that is no size of an object.
  var blockBytes: UInt64 { (16..<1 << 30).contains(bytes) ? max(32, (bytes + 8 + 15) & ~15) : 0 }

  /// Whether a block of this size may have held an instance, and holds another allocation now.
  ///
  /// malloc uses a block that is 16 bytes larger where the rest would be below the smallest size. That is rarer than a
  /// wrong match of that size, so it does not count.
  func fits(_ block: UInt64) -> Bool { blockBytes != 0 && block == blockBytes }
}

extension CrashFacts {
  /// The block that Swift used as an object although it is none: the fault came through its first words, which are
  /// neither class nor reference count.
  ///
  /// The words around it exclude two other causes. An overrun of the block before destroys glibc's header of this one,
  /// and a stray write to a live object leaves its reference count. What remains is that the memory was reused, or that
  /// it was never an object.
  var blockWithoutObject: FreedBlock? { useWithoutObject?.block }

  private var useWithoutObject: (block: FreedBlock, evidence: DanglingEvidence)? {
    guard isMemoryFault || isGeneralProtection, isInObjectFunction || isSwiftCaller else { return nil }
    // The object of the called method comes first.
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

  /// For a short block the record includes glibc's header after it: an overrun of this block would have destroyed that.
  private func isWholeBehind(_ block: FreedBlock) -> Bool {
    guard let next = memory.word(at: block.address &+ block.bytes) else { return true }
    return Self.isBlockSize(next)
  }

  /// How the block's first words led to the fault.
  ///
  /// The runtime also follows an object's second word, its reference count, which may lead to a side table. The
  /// program's own code does not, nor does it compute with the class.
  private func use(of block: FreedBlock) -> DanglingEvidence? {
    if isInObjectFunction { return operandEvidence(in: [block]) ?? callEvidence(in: [block]) }
    guard !isInSwiftRuntime else { return nil }
    var object = block
    object.isObject = true
    if isLoadByClass, let evidence = operandEvidence(in: [object]) { return evidence }
    guard isCall, block.address == swiftSelfValue else { return nil }
    return operandEvidence(in: [object]) ?? callEvidence(in: [object]) ?? selfEvidence(in: [object])
  }

  /// Whether a function of the runtime faulted that takes an object and reads it.
  ///
  /// Static functions of C++ have the same names in all images; the runtime's have its types in their names.
  private var isInObjectFunction: Bool {
    guard isInSwiftRuntime, let name = frames.first?.mangled, !name.hasPrefix("$s") else { return false }
    return !name.hasPrefix("_ZL") || name.contains("N5swift10HeapObject")
  }

  /// Whether the failed read was for a method or the value witnesses of a class.
  ///
  /// At 0 and 8 an object has its class and its count. A failed read there is of the object itself: the block holds a
  /// pointer to it, and nothing shows that the block should be an object.
  private var isLoadByClass: Bool {
    guard let operand, operand.base != nil, operand.index == nil, !isFetch, instruction?.kind != .call,
      instruction?.kind != .jump
    else { return false }
    let distance = Int64(bitPattern: operand.displacement)
    return distance > Self.headerBytes || distance == Self.valueWitnesses
  }

  /// A class has its first method after this; an object its first field.
  private static let headerBytes: Int64 = 16
  /// The offset of a class's value witness table.
  private static let valueWitnesses: Int64 = -8

  /// The block and its use, where it is as large as an object of a class that the code expects.
  ///
  /// A pointer that was never one to an object leads to a block of any size. A dangling pointer leads to a block of its
  /// former object's size, which holds another allocation of about that size now.
  var danglingReuse: (evidence: DanglingEvidence, expected: ExpectedClass)? {
    guard !expectedClasses.isEmpty, let (block, evidence) = useWithoutObject,
      let expected = expectedClasses.first(where: { $0.fits(block.bytes + 8) })
    else { return nil }
    return (evidence, expected)
  }

  /// The address where the code expected an object and the fault shows none: freed memory, or a reused block.
  var objectInQuestion: UInt64? { freedObject?.block ?? blockWithoutObject?.address }

  /// The freed block that explains the fault.
  ///
  /// The order is that of the rules.
  private var freedObject: DanglingEvidence? { danglingOperand ?? danglingCall ?? danglingSelf ?? danglingField }

  /// The class that the code expects where the fault found freed memory; nil where it names none, or several of that
  /// size.
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

  /// The class that the code expects where a rule found freed memory, for the report; nil when unknown.
  func expectedClass(by rule: String) -> String? {
    switch rule {
    case DiagnosisRule.reuse, DiagnosisRule.reuseByCode: danglingReuse?.expected.name
    default: freedClass?.name
    }
  }

  /// Such as `; the code expects an instance of Session`, for a sentence.
  var freedClassText: String {
    guard let expected = freedClass else { return "" }
    let name = expected.isDerived ? "\(expected.name), or one derived from it" : expected.name
    return expected.isOfVariable ? "; the code expects an instance of \(name)" : "; the code there names \(name)"
  }

  /// The classes of variables in scope at the crash with the object's address; where there are none, the classes that
  /// the function names.
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

  /// A higher number proves little: a program's main function names most of its classes.
  private static let sizeLimit = 4

  private static func classes(
    _ name: String, _ bytes: UInt64, derived: [UInt64], isOfVariable: Bool
  ) -> [ExpectedClass] {
    let name = CleanText.line(name)
    return [ExpectedClass(name: name, bytes: bytes, isOfVariable: isOfVariable)]
      + derived.map { ExpectedClass(name: name, bytes: $0, isDerived: true, isOfVariable: isOfVariable) }
  }
}
