import CrashReport
import CrashRing

/// The record of an object whose address is in a register, and that had left the quarantine before the crash.
///
/// The quarantine keeps the deallocated objects of protected classes for a while.
///
/// The record alone is not evidence. The program could have reused the memory, and the new use could have caused the
/// crash.
struct FreedRecord: Sendable {
  var incident: Incident
  /// The stack of the last release, innermost first.
  var release: [CrashReport.Frame]

  var address: UInt64 { incident.record?.address ?? 0 }
  var bytes: UInt64 { UInt64(incident.record?.bytes ?? 0) }

  /// The phrase that describes the freed object in a sentence, such as `memory that was a App.Session until 3 ms
  /// before`.
  var text: String {
    let age_ns = Int(clamping: incident.record?.age_ns ?? 0)
    return "memory that was a \(incident.subject) until \(IncidentBuilder.duration(age_ns)) before"
  }

  /// The object as the report shows it; nil if the incident has no quarantine record.
  var object: CrashReport.GuardedObject? {
    incident.record.map { record in
      CrashReport.GuardedObject(
        className: incident.subject, address: Address(record.address), bytes: Int(record.bytes),
        age_ns: Int(clamping: record.age_ns), releaseThread: Int(record.tid), release: release)
    }
  }
}

extension RingContents {
  /// The maximum number of freed-object records in one ring.
  ///
  /// The shield writes at most this number of freed-object records.
  private static let freedRecordLimit = 8

  /// Returns the quarantine's freed-object records for the addresses that are in the registers of a crash.
  func freedRecords(of record: CrashRecord) -> [Incident] {
    let sequence = Int64(bitPattern: record.sequence)
    let own = incidents.lazy.filter {
      $0.isFreedRecord && $0.useTid == record.tid && $0.amount == sequence && $0.record != nil && !$0.subject.isEmpty
    }
    return Array(own.prefix(Self.freedRecordLimit))
  }

  /// The stack frames in the records of freed objects and in the records of objects that are still in quarantine.
  var framesOfFreedRecords: [CrashRecord.Frame] {
    records.flatMap { freedRecords(of: $0) + heldObjects(of: $0) }.flatMap {
      IncidentBuilder.frames(of: $0, images: images)
    }
  }
}

extension CrashFacts {
  /// The freed-object record for the block that a use-after-free rule found; nil if the quarantine has no record of
  /// this block.
  ///
  /// If several rules found a block, this property uses the block of the first rule.
  var freedRecord: FreedRecord? {
    guard !freedRecords.isEmpty,
      let evidence = danglingOperand ?? danglingCall ?? danglingSelf ?? danglingFreedRecord ?? danglingField
    else { return nil }
    return freedRecords.first { $0.address == evidence.block }
  }

  /// The evidence that the program used memory as a Swift object after the memory was reused for other data.
  ///
  /// Before the reuse, the memory contained an object of a protected class. Over time, many objects have the same
  /// address, so the fact that an object was at the address is not sufficient evidence. The fault must show that the
  /// program used the memory as an object although the memory is not an object. One of two cases shows this use:
  /// - A method call with the object in the register of self read the first word of the memory, and this word is not a
  ///   class.
  /// - The runtime retained, released or destroyed an object at this address and read that first word.
  ///
  /// The words around the address must also show that no buffer overrun damaged a live object. After an overrun, a live
  /// object would still have a plausible reference count. An overrun would also have overwritten the block size that
  /// glibc stores in front of the block.
  var danglingFreedRecord: DanglingEvidence? {
    let blocks = freedRecordBlocks
    guard !blocks.isEmpty else { return nil }
    if isInSwiftRuntime { return operandEvidence(in: blocks) ?? callEvidence(in: blocks) }
    let own = blocks.filter { $0.address == swiftSelfValue }
    guard !own.isEmpty, isCall, isSwiftCaller else { return nil }
    return operandEvidence(in: own) ?? callEvidence(in: own) ?? selfEvidence(in: own)
  }

  private var freedRecordBlocks: [FreedBlock] {
    freedRecords.compactMap { block(withoutObjectAt: $0.address, what: $0.text) }
  }

  /// Returns a block that is in use and whose words cannot belong to a live or freed object.
  ///
  /// Returns nil if the words could belong to an object, or if the record does not contain them.
  func block(withoutObjectAt address: UInt64, what: String) -> FreedBlock? {
    guard let first = memory.word(at: address), let second = memory.word(at: address &+ 8),
      let size = memory.word(at: address &- 8), Self.isBlockSize(size), !isAlive(second),
      !images.contains(where: { $0.start <= first && first < $0.end }),
      let register = record.generalRegisters.lastIndex(where: { $0 &- address <= 16 })
    else { return nil }
    return FreedBlock(
      address: address, register: register, state: .taken(what), words: (first, second), bytes: (size & ~7) - 8)
  }

  /// Whether a word is glibc's header of a block, which consists of the size and three flags.
  static func isBlockSize(_ word: UInt64) -> Bool {
    let bytes = word & ~7
    return bytes % 16 == 0 && (32...1 << 30).contains(bytes)
  }

  /// Whether the word is the reference count of a live object: the object is not in deinit, and has references or a
  /// side table.
  private func isAlive(_ counts: UInt64) -> Bool {
    if counts & 0xffff_ffff == 0xffff_ffff { return true }
    if counts >> 62 == 3 { return HeapFacts.sideTable(counts) >> architecture.addressBits == 0 }
    let (unowned, strong) = (counts >> 1 & 0x7fff_ffff, counts >> 33 & 0x3fff_ffff)
    return counts >> 63 == 0 && counts & (1 << 32) == 0 && (1...1_024).contains(unowned) && strong < 1 << 20
  }

  var isCall: Bool {
    if wildTarget != nil || instruction?.kind == .call || instruction?.kind == .jump { return true }
    let isLoad =
      switch architecture {
      case .x86_64: MethodLoad_x86_64.begins(record.instruction)
      case .aarch64: MethodLoad_aarch64.begins(record.instruction)
      }
    return isLoad || isAsyncCall
  }

  /// Whether the read that failed was the load of an async method's code address.
  var isAsyncCall: Bool {
    guard operand?.base != nil, !isFetch else { return false }
    switch architecture {
    case .x86_64: return MethodLoad_x86_64.beginsAsync(record.instruction)
    case .aarch64: return MethodLoad_aarch64.beginsAsync(record.instruction)
    }
  }

  /// Whether the fault is in a function of the Swift runtime.
  var isInSwiftRuntime: Bool {
    guard let frame = frames.first, frame.address.rawValue == pc else { return false }
    return ["swift_", "_swift_", "_ZN5swift", "_ZNK5swift", "_ZL"].contains { frame.mangled.hasPrefix($0) }
      || frame.image?.split(separator: "/").last?.hasPrefix("libswiftCore.so") == true
  }
}
