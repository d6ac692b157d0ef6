import CrashReport
import CrashRing
import CrashSymbols

/// A class that the object at an address should have, according to the code.
///
/// The class is the type of a variable in scope, or a class to which a function's code refers.
struct ExpectedClass: Sendable, Equatable {
  /// The name of the class without its module.
  var name: String
  /// The size of an instance in bytes.
  var bytes: UInt64
  /// Whether `bytes` is the size of a class that is derived from the named class.
  var isDerived = false
  /// Whether a variable that contains the object's address has the class as its type.
  ///
  /// If false, no variable has this class as its type: only the code of the faulting function refers to the class.
  var isOfVariable = false

  /// The size of the block that glibc allocates for an instance, including the header; 0 if `bytes` is invalid.
  var blockBytes: UInt64 { (16..<1 << 30).contains(bytes) ? max(32, (bytes + 8 + 15) & ~15) : 0 }

  /// Whether a block of the given size can have contained an instance of the class before another allocation reused the
  /// block.
  ///
  /// malloc returns a block that is 16 bytes larger than `blockBytes` if the rest of a free block would be too small
  /// for another block. This function does not accept the larger size, because more blocks would then match by chance.
  func fits(_ block: UInt64) -> Bool { blockBytes != 0 && block == blockBytes }
}

extension CrashFacts {
  /// The block that the program used as a Swift object although the block is not an object.
  ///
  /// The code followed the first words of the block, which are neither a class nor a reference count. The words around
  /// the block exclude two other causes. An overrun of the preceding block would have overwritten glibc's header of
  /// this block. After a stray write to a live object, the object would still have its reference count. The remaining
  /// causes are that the memory was reused, or that the memory was never an object.
  var blockWithoutObject: FreedBlock? { useWithoutObject?.block }

  private var useWithoutObject: (block: FreedBlock, evidence: DanglingEvidence)? {
    guard isMemoryFault || isGeneralProtection, isInObjectFunction || isSwiftCaller else { return nil }
    // Check the register of self first, because it contains the object of the called method.
    let others = record.pointerNumbers.map { record.registers[$0] }
    let pointers = [swiftSelfValue].compactMap { $0 } + others
    var tried: Set<UInt64> = []
    for pointer in pointers {
      for offset in [0, 8, 16] as [UInt64] {
        let address = pointer &- offset
        guard address % 16 == 0, address >= DiagnosisRule.nullPage, isCanonical(address),
          tried.insert(address).inserted,
          let block = block(withoutObjectAt: address, what: "a block of the heap, not an object"), isWholeBehind(block),
          let evidence = use(of: block)
        else { continue }
        return (block, evidence)
      }
    }
    return nil
  }

  /// Whether the allocator's header that follows the block is intact.
  ///
  /// An overrun of this block would have overwritten the header of the next block. The record has at most 128 bytes near
  /// the address in a register, so it contains that header only if the block is short. Otherwise, the result is true.
  private func isWholeBehind(_ block: FreedBlock) -> Bool {
    guard let next = memory.word(at: block.address &+ block.bytes) else { return true }
    return Self.isBlockSize(next)
  }

  /// Returns the evidence that the code used the block as an object, because the fault occurred when the code followed
  /// its first words.
  ///
  /// The runtime reads the first and the second word of an object. The second word is the reference count or refers to
  /// a side table. The program's own code reads only the first word, and uses it unchanged as a base address.
  private func use(of block: FreedBlock) -> DanglingEvidence? {
    if isInObjectFunction { return operandEvidence(in: [block]) ?? callEvidence(in: [block]) }
    guard !isInSwiftRuntime else { return nil }
    var object = block
    object.isObject = true
    if isLoadByClass, let evidence = operandEvidence(in: [object]) { return evidence }
    guard isCall, block.address == swiftSelfValue else { return nil }
    return operandEvidence(in: [object]) ?? callEvidence(in: [object]) ?? selfEvidence(in: [object])
  }

  /// Whether the fault is in a function of the Swift runtime that has an object as a parameter and reads the object's
  /// words.
  ///
  /// Other images can have static C++ functions with the same name. Only the runtime's own functions have mangled names
  /// that contain types of the runtime.
  private var isInObjectFunction: Bool {
    guard isInSwiftRuntime, let name = frames.first?.mangled, !name.hasPrefix("$s") else { return false }
    return !name.hasPrefix("_ZL") || name.contains("N5swift10HeapObject")
  }

  /// Whether the faulting instruction reads a method or the value witness table from a class.
  ///
  /// The offsets 0, 8 and 16 from the register are excluded. At these offsets, an object has its class, its reference
  /// count and its first field, so the instruction can have read an object to which the block points. A read at these
  /// offsets does not show that the block itself should be an object.
  private var isLoadByClass: Bool {
    guard let operand, operand.base != nil, operand.index == nil, !isFetch, instruction?.kind != .call,
      instruction?.kind != .jump
    else { return false }
    let distance = Int64(bitPattern: operand.displacement)
    return distance > Self.headerBytes || distance == Self.valueWitnesses
  }

  /// The size of the header in front of the first method of a class and in front of the first field of an object.
  private static let headerBytes: Int64 = 16
  /// The offset from a class to the pointer to its value witness table.
  private static let valueWitnesses: Int64 = -8

  /// The evidence that the code used a reused block whose size matches an expected class.
  ///
  /// A dangling pointer points to a block of the former object's size, because malloc reuses freed blocks for
  /// allocations of about the same size. A pointer that never pointed to an object can point to a block of any size.
  var danglingReuse: (evidence: DanglingEvidence, expected: ExpectedClass)? {
    guard !expectedClasses.isEmpty, let (block, evidence) = useWithoutObject,
      let expected = expectedClasses.first(where: { $0.fits(block.bytes + 8) })
    else { return nil }
    return (evidence, expected)
  }

  /// The address at which the code expected an object, and at which the record shows freed memory or a reused block.
  var objectInQuestion: UInt64? { freedObject?.block ?? blockWithoutObject?.address }

  /// The evidence about the freed block that explains the fault.
  ///
  /// If several rules found evidence, the evidence of the first rule is used.
  private var freedObject: DanglingEvidence? { danglingOperand ?? danglingCall ?? danglingSelf ?? danglingField }

  /// The class whose instance the code expects in the freed block.
  ///
  /// The value is nil if the code refers to no class whose instances have the block's size, or to several such classes.
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

  /// Returns the class whose instance the code expects in the block that the given rule found; nil if the class is
  /// unknown.
  func expectedClass(by rule: String) -> String? {
    switch rule {
    case DiagnosisRule.reuse, DiagnosisRule.reuseByCode: danglingReuse?.expected.name
    default: freedClass?.name
    }
  }

  /// The end of a sentence, such as `; the code expects an instance of Session`.
  var freedClassText: String {
    guard let expected = freedClass else { return "" }
    let name = expected.isDerived ? "\(expected.name), or one derived from it" : expected.name
    return expected.isOfVariable ? "; the code expects an instance of \(name)" : "; the code names \(name)"
  }

  /// Returns the classes of the variables in scope that contain the object's address.
  ///
  /// If no variable contains the address, the result is the classes that the function's code refers to.
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
    // Return no classes if they have many different sizes, because almost any block would then match one of them.
    return Set(classes.map(\.blockBytes)).count > Self.sizeLimit ? [] : classes
  }

  /// The maximum number of different instance sizes of the expected classes.
  ///
  /// With more sizes, a match is weak evidence. For example, the main function of a program refers to most of the
  /// program's classes.
  private static let sizeLimit = 4

  private static func classes(
    _ name: String, _ bytes: UInt64, derived: [UInt64], isOfVariable: Bool
  ) -> [ExpectedClass] {
    let name = CleanText.line(name)
    return [ExpectedClass(name: name, bytes: bytes, isOfVariable: isOfVariable)]
      + derived.map { ExpectedClass(name: name, bytes: $0, isDerived: true, isOfVariable: isOfVariable) }
  }
}
