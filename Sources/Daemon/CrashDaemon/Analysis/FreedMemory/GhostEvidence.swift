import CrashReport
import CrashRing

/// An object that had left the quarantine before a crash, and whose address a register had then.
///
/// By itself that says nothing: its memory may have been given to others since, and the crash may be theirs.
struct Ghost: Sendable {
  var incident: Incident
  /// Who released it last, innermost first.
  var release: [CrashReport.Frame]

  var address: UInt64 { incident.record?.address ?? 0 }
  var bytes: UInt64 { UInt64(incident.record?.bytes ?? 0) }

  /// Such as `memory that was a App.Session until 3 ms before`.
  var text: String {
    let age_ns = Int(clamping: incident.record?.age_ns ?? 0)
    return "memory that was a \(incident.subject) until \(IncidentBuilder.duration(age_ns)) before"
  }

  /// For the report.
  var object: CrashReport.GuardedObject? {
    incident.record.map { record in
      CrashReport.GuardedObject(
        className: incident.subject, address: Address(record.address), bytes: Int(record.bytes),
        age_ns: Int(clamping: record.age_ns), releaseThread: Int(record.tid), release: release)
    }
  }
}

extension RingContents {
  /// More are not read; a process of ours writes fewer.
  private static let ghostLimit = 8

  /// What the quarantine knew of addresses in a crash's registers.
  func ghosts(of record: CrashRecord) -> [Incident] {
    let sequence = Int64(bitPattern: record.sequence)
    let own = incidents.lazy.filter {
      $0.isGhost && $0.useTid == record.tid && $0.amount == sequence && $0.record != nil && !$0.subject.isEmpty
    }
    return Array(own.prefix(Self.ghostLimit))
  }

  /// The frames that those name.
  var framesOfGhosts: [CrashRecord.Frame] {
    records.flatMap { ghosts(of: $0) + heldObjects(of: $0) }.flatMap { IncidentBuilder.frames(of: $0, images: images) }
  }
}

extension CrashFacts {
  /// The object that the evidence of a dangling rule leads to, as far as the quarantine had it.
  ///
  /// The rules are asked in this order.
  var ghost: Ghost? {
    guard !ghosts.isEmpty,
      let evidence = danglingOperand ?? danglingCall ?? danglingSelf ?? danglingGhost ?? danglingField
    else { return nil }
    return ghosts.first { $0.address == evidence.block }
  }

  /// Memory that was an object of a protected class, belongs to other code by now, and was used as an object.
  ///
  /// An address has many tenants, so that one of them was such an object is no evidence. What the fault is about must be
  /// that Swift took what stands there for an object, which it can be none of:
  /// - the call of a method, with the object in r13, went by way of a first word that is no class;
  /// - or the runtime, which retained, released or destroyed it, went by way of such a word.
  ///
  /// The words around tell a use of freed memory from an overrun of a living object: its reference count would look like
  /// one, and glibc's size in front of it would have been overwritten first.
  var danglingGhost: DanglingEvidence? {
    let blocks = ghostBlocks
    guard !blocks.isEmpty else { return nil }
    if isInSwiftRuntime { return operandEvidence(in: blocks) ?? callEvidence(in: blocks) }
    let own = blocks.filter { $0.address == swiftSelfValue }
    guard !own.isEmpty, isCall, isSwiftCaller else { return nil }
    return operandEvidence(in: own) ?? callEvidence(in: own) ?? selfEvidence(in: own)
  }

  private var ghostBlocks: [FreedBlock] {
    ghosts.compactMap { block(withoutObjectAt: $0.address, what: $0.text) }
  }

  /// A block in use whose words are none of an object's, living or gone; nil where they may be, or the record lacks them.
  func block(withoutObjectAt address: UInt64, what: String) -> FreedBlock? {
    guard let first = memory.word(at: address), let second = memory.word(at: address &+ 8),
      let size = memory.word(at: address &- 8), Self.isBlockSize(size), !isAlive(second),
      !images.contains(where: { $0.start <= first && first < $0.end }),
      let register = record.registers.prefix(16).lastIndex(where: { $0 &- address <= 16 })
    else { return nil }
    return FreedBlock(
      address: address, register: register, state: .taken(what), words: (first, second), bytes: (size & ~7) - 8)
  }

  /// What glibc writes in front of a block: its size, and three flags.
  static func isBlockSize(_ word: UInt64) -> Bool {
    let bytes = word & ~7
    return bytes % 16 == 0 && (32...1 << 30).contains(bytes)
  }

  /// Whether a second word is that of an object that lives: not in deinit, some references, or a side table.
  private func isAlive(_ counts: UInt64) -> Bool {
    if counts & 0xffff_ffff == 0xffff_ffff { return true }
    if counts >> 62 == 3 { return HeapFacts.sideTable(counts) >> 47 == 0 }
    let (unowned, strong) = (counts >> 1 & 0x7fff_ffff, counts >> 33 & 0x3fff_ffff)
    return counts >> 63 == 0 && counts & (1 << 32) == 0 && (1...1_024).contains(unowned) && strong < 1 << 20
  }

  var isCall: Bool {
    if wildTarget != nil || instruction?.kind == .call || instruction?.kind == .jump { return true }
    #if arch(x86_64)
      return MethodLoad_x86_64.begins(record.instruction) || isAsyncCall
    #else
      return false
    #endif
  }

  /// Whether what cannot be read is to tell where an async method's code is.
  var isAsyncCall: Bool {
    #if arch(x86_64)
      return operand?.base != nil && !isFetch && MethodLoad_x86_64.beginsAsync(record.instruction)
    #else
      return false
    #endif
  }

  /// Whether what faulted is a function of Swift's runtime that gets objects.
  var isInSwiftRuntime: Bool {
    guard let frame = frames.first, frame.address.rawValue == pc else { return false }
    return ["swift_", "_swift_", "_ZN5swift", "_ZNK5swift", "_ZL"].contains { frame.mangled.hasPrefix($0) }
      || frame.image?.split(separator: "/").last?.hasPrefix("libswiftCore.so") == true
  }
}
