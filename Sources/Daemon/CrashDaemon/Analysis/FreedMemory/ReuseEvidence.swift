import CrashReport
import CrashRing
import CrashSymbols

/// A class that code expects an object to have.
///
/// The types of variables show it, or the classes that the functions name.
struct ExpectedClass: Sendable, Equatable {
  /// The name without its module.
  var name: String
  /// The size of an instance.
  var bytes: UInt64
  /// Whether the object may be of a derived class, whose instances have this size.
  var isDerived = false
  /// Whether a variable with the object's address has this class.
  ///
  /// Otherwise, the function only names the class.
  var isOfVariable = false

  /// The size of the block that glibc uses for an instance, including the header.
  ///
  /// The size is 0 if `bytes` is not a valid size of an object.
  var blockBytes: UInt64 { (16..<1 << 30).contains(bytes) ? max(32, (bytes + 8 + 15) & ~15) : 0 }

  /// Whether a block of this size may have held an instance before another allocation reused it.
  ///
  /// malloc uses a block that is 16 bytes larger if the remainder would be below the smallest size. That is rarer than
  /// a wrong match of the larger size, so the larger size does not count.
  func fits(_ block: UInt64) -> Bool { blockBytes != 0 && block == blockBytes }
}

extension CrashFacts {
  /// The block that Swift used as an object although it is not an object.
  ///
  /// The fault came through the first words of the block, which are neither a class nor a reference count.
  ///
  /// The words around the address exclude two other causes. An overrun of the preceding block would have destroyed
  /// glibc's header of this block, and a stray write to a live object would have left its reference count. The
  /// remaining explanations are that the memory was reused, or that it was never an object.
  var blockWithoutObject: FreedBlock? { useWithoutObject?.block }

  private var useWithoutObject: (block: FreedBlock, evidence: DanglingEvidence)? {
    guard isMemoryFault || isGeneralProtection, isInObjectFunction || isSwiftCaller else { return nil }
    // Try the object of the called method first.
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

  /// Whether the header after the block is intact.
  ///
  /// The record contains that header only for a short block. An overrun of this block would have destroyed it.
  private func isWholeBehind(_ block: FreedBlock) -> Bool {
    guard let next = memory.word(at: block.address &+ block.bytes) else { return true }
    return Self.isBlockSize(next)
  }

  /// How the block's first words led to the fault.
  ///
  /// The runtime also follows the second word of an object, which is the reference count and may lead to a side table.
  /// The program's code follows only the first word, and does not compute with it.
  private func use(of block: FreedBlock) -> DanglingEvidence? {
    if isInObjectFunction { return operandEvidence(in: [block]) ?? callEvidence(in: [block]) }
    guard !isInSwiftRuntime else { return nil }
    var object = block
    object.isObject = true
    if isLoadByClass, let evidence = operandEvidence(in: [object]) { return evidence }
    guard isCall, block.address == swiftSelfValue else { return nil }
    return operandEvidence(in: [object]) ?? callEvidence(in: [object]) ?? selfEvidence(in: [object])
  }

  /// Whether the fault is in a function of the runtime that takes an object and reads it.
  ///
  /// Static C++ functions of other images may have the same name. The functions of the runtime have its types in their
  /// names.
  private var isInObjectFunction: Bool {
    guard isInSwiftRuntime, let name = frames.first?.mangled, !name.hasPrefix("$s") else { return false }
    return !name.hasPrefix("_ZL") || name.contains("N5swift10HeapObject")
  }

  /// Whether the failed read was the read of a method or of the value witnesses from a class.
  ///
  /// Reads at offsets 0 and 8 are excluded, because an object has its class and its reference count there. Such a
  /// failed read reads an object to which the block points. It does not show that the block should be an object.
  private var isLoadByClass: Bool {
    guard let operand, operand.base != nil, operand.index == nil, !isFetch, instruction?.kind != .call,
      instruction?.kind != .jump
    else { return false }
    let distance = Int64(bitPattern: operand.displacement)
    return distance > Self.headerBytes || distance == Self.valueWitnesses
  }

  /// The size of the header.
  ///
  /// The first method of a class and the first field of an object follow it.
  private static let headerBytes: Int64 = 16
  /// The offset of a class's value witness table.
  private static let valueWitnesses: Int64 = -8

  /// The use of a reused block, if the block has the size of an object of a class that the code expects.
  ///
  /// A pointer that never pointed to an object leads to a block of any size. A dangling pointer leads to a block with
  /// the size of the former object, which another allocation of about that size now uses.
  var danglingReuse: (evidence: DanglingEvidence, expected: ExpectedClass)? {
    guard !expectedClasses.isEmpty, let (block, evidence) = useWithoutObject,
      let expected = expectedClasses.first(where: { $0.fits(block.bytes + 8) })
    else { return nil }
    return (evidence, expected)
  }

  /// The address where the code expected an object, and where the fault found freed memory or a reused block.
  var objectInQuestion: UInt64? { freedObject?.block ?? blockWithoutObject?.address }

  /// The freed block that explains the fault.
  ///
  /// The evidence is tried in the order of the rules.
  private var freedObject: DanglingEvidence? { danglingOperand ?? danglingCall ?? danglingSelf ?? danglingField }

  /// The class that the code expects where the fault found freed memory; nil if the code names no class, or several
  /// classes of that size.
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

  /// The class that the code expects where a rule found freed memory, for the report; nil if it is unknown.
  func expectedClass(by rule: String) -> String? {
    switch rule {
    case DiagnosisRule.reuse, DiagnosisRule.reuseByCode: danglingReuse?.expected.name
    default: freedClass?.name
    }
  }

  /// The text for a sentence, such as `; the code expects an instance of Session`.
  var freedClassText: String {
    guard let expected = freedClass else { return "" }
    let name = expected.isDerived ? "\(expected.name), or one derived from it" : expected.name
    return expected.isOfVariable ? "; the code expects an instance of \(name)" : "; the code there names \(name)"
  }

  /// The classes of the variables in scope that hold the object's address.
  ///
  /// Without such variables, these are the classes that the function names.
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
    // With many different sizes, any block would match one of them.
    return Set(classes.map(\.blockBytes)).count > Self.sizeLimit ? [] : classes
  }

  /// The limit of different sizes.
  ///
  /// More sizes prove little, because the main function of a program names most of its classes.
  private static let sizeLimit = 4

  private static func classes(
    _ name: String, _ bytes: UInt64, derived: [UInt64], isOfVariable: Bool
  ) -> [ExpectedClass] {
    let name = CleanText.line(name)
    return [ExpectedClass(name: name, bytes: bytes, isOfVariable: isOfVariable)]
      + derived.map { ExpectedClass(name: name, bytes: $0, isDerived: true, isOfVariable: isOfVariable) }
  }
}
