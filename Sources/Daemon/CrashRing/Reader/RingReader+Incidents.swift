internal import CShimRing
internal import CrashReport

/// Reads incidents and protected classes.
extension RingReader {
  /// Returns the incidents that were written completely, in the order of their first occurrence.
  func incidents(_ header: PrivateCopy<cs_ring_header>, losses: inout Losses) -> [Incident] {
    losses.add(.incidents, header[\.incident_lost])
    var incidents: [Incident] = []
    for index in 0..<RingLayout.incidentLimit {
      let offset = RingLayout.incident(index)
      // The static assertions on the ring layout ensure that entry `index` is inside the ring and aligned.
      guard mayBeUsed(offset + RingLayout.sequenceInIncident),
        let entry = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_incident.self),
        unsafe cs_ring_incident_sequence_acquire(entry) != 0
      else { continue }
      // After an entry is complete, the library changes only its two counters. Even if the process changes other
      // fields, the reader uses only the bytes that it copied.
      let copy = unsafe PrivateCopy<cs_ring_incident>(of: shared, at: offset)
      if let incident = Incident(copy) {
        incidents.append(incident)
      } else {
        losses.add(.incidents, 1)
      }
    }
    return incidents.sorted { ($0.first_ns, $0.key) < ($1.first_ns, $1.key) }
  }

  /// Returns the classes that are or were protected, in the order in which their protection began.
  func protectedClasses(_ header: PrivateCopy<cs_ring_header>, losses: inout Losses) -> [ProtectedClass] {
    let shownHeader = unsafe shared.baseAddress?.assumingMemoryBound(to: cs_ring_header.self)
    // The size of the ring was checked, and the header is at offset 0, so the header is within the ring.
    guard let shownHeader = unsafe shownHeader else { return [] }
    let count = unsafe min(Int(clamping: cs_ring_class_count_acquire(shownHeader)), RingLayout.classLimit)
    let classes = (0..<count).compactMap { index in
      ProtectedClass(unsafe PrivateCopy<cs_ring_class>(of: shared, at: RingLayout.protectedClass(index)))
    }
    losses.add(.classes, max(Int(clamping: header[\.class_total]), count) - classes.count)
    return classes
  }
}

extension Incident {
  fileprivate init?(_ copy: PrivateCopy<cs_ring_incident>) {
    let limit = UInt32(CS_RING_INCIDENT_FRAME_LIMIT)
    guard copy[\.key] != 0, copy[\.count] != 0, copy[\.use_count] <= limit, copy[\.free_count] <= limit,
      copy[\.origin_count] <= limit, copy[\.subject_bytes] <= CS_RING_SUBJECT_LIMIT_BYTES
    else { return nil }
    let flags = copy[\.flags]
    let hasRecord = flags & CS_RING_INCIDENT_RECORD != 0
    let method = copy[\.method]
    let useTid = copy[\.use_tid]
    let originTid = copy[\.origin_tid]
    let source = Source(copy[\.source])
    let isTrap = flags & CS_RING_INCIDENT_TRAP != 0 && !hasRecord && source == .isolated
    let stacks = copy.member(\.detail, as: cs_ring_object_stacks.self)
    let trap = copy.member(\.detail, as: cs_ring_trap.self)
    let use = copy.numbers(\.use, count: copy[\.use_count])
    self.init(
      key: copy[\.key], source: source, kind: copy[\.kind], mode: Mode(copy[\.mode]),
      subject: CleanText.line(copy.text(\.subject, count: copy[\.subject_bytes])), count: copy[\.count],
      first_ns: copy[\.first_ns], last_ns: copy[\.last_ns], method: method == 0 ? nil : method, word: copy[\.word],
      amount: copy[\.amount],
      record: hasRecord
        ? Record(
          id: copy[\.id], address: copy[\.address], age_ns: copy[\.age_ns],
          isExplorer: flags & CS_RING_INCIDENT_EXPLORER != 0, tid: copy[\.free_tid],
          stack: stacks.numbers(\.free, count: copy[\.free_count]), bytes: copy[\.object_bytes],
          originTid: originTid == 0 ? nil : originTid,
          origin: stacks.numbers(\.origin, count: copy[\.origin_count])) : nil,
      useTid: useTid == 0 ? nil : useTid,
      use: isTrap ? use + trap.numbers(\.frames, count: copy[\.origin_count]) : use,
      isExact: flags & CS_RING_INCIDENT_EXACT != 0,
      trap: isTrap ? Trap(registers: trap.numbers(\.registers, count: copy[\.free_count]), flags: copy[\.address]) : nil
    )
  }
}

extension Incident.Source {
  fileprivate init(_ code: UInt32) {
    switch cs_ring_incident_source(rawValue: code) {
    case .CS_RING_INCIDENT_QUARANTINE: self = .quarantine
    case .CS_RING_INCIDENT_GUARD: self = .guarding
    case .CS_RING_INCIDENT_PAGES: self = .pages
    case .CS_RING_INCIDENT_CONTAINED: self = .isolated
    default: self = .other(code)
    }
  }
}

extension Incident.Mode {
  fileprivate init(_ code: UInt32) {
    switch cs_mode(rawValue: code) {
    case .CS_MODE_ABSORB: self = .absorb
    case .CS_MODE_ZERO: self = .zero
    case .CS_MODE_DIAGNOSE: self = .diagnose
    case .CS_MODE_OBSERVE: self = .observe
    case .CS_MODE_CRASH: self = .crash
    default: self = .other(code)
    }
  }
}

extension ProtectedClass {
  fileprivate init?(_ copy: PrivateCopy<cs_ring_class>) {
    guard copy[\.name_bytes] > 0, copy[\.name_bytes] <= CS_RING_SUBJECT_LIMIT_BYTES else { return nil }
    self.init(
      name: CleanText.line(copy.text(\.name, count: copy[\.name_bytes])), isProtected: copy[\.is_listed] != 0,
      mode: Incident.Mode(copy[\.policy]), limit: copy[\.limit], instanceBytes: copy[\.instance_bytes],
      admitted: copy[\.admitted], evicted: copy[\.evicted], hits: copy[\.hits],
      skipped: Skipped(
        budget: copy[\.skipped_budget], busy: copy[\.skipped_busy], unowned: copy[\.skipped_unowned],
        isolated: copy[\.skipped_isolated]))
  }
}
