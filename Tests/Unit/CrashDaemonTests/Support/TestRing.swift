import CLinux
import CShimRing
import CrashRing
import Glibc
import LinuxSystem

@testable import CrashDaemon

/// A ring as a program with the shield writes it.
///
/// The test assembles its bytes.
struct TestRing {
  private(set) var bytes = [UInt8](repeating: 0, count: MemoryLayout<cs_ring>.size)

  /// Creates a ring with a valid header, the test process's own executable, and no crash.
  ///
  /// `architecture` is the number of an architecture; nil means that of this machine.
  init(id: UInt8 = 0, name: String = "shop", pid: Int32 = 4711, architecture: UInt32? = nil) {
    put(UInt64(0x0000_474e_4952_5343), at: offset(\cs_ring_header.magic))
    put(CS_RING_VERSION, at: offset(\cs_ring_header.version))
    #if arch(x86_64)
      put(UInt32(1), at: offset(\cs_ring_header.architecture))
    #else
      put(UInt32(2), at: offset(\cs_ring_header.architecture))
    #endif
    if let architecture { put(architecture, at: offset(\cs_ring_header.architecture)) }
    put(UInt64(bytes.count), at: offset(\cs_ring_header.total_bytes))
    put([id] + Array(1...15), at: offset(\cs_ring_header.ring_id))
    put(pid, at: offset(\cs_ring_header.pid))
    put(UInt64(1_700_000_000_000_000_000), at: offset(\cs_ring_header.start_time_ns))
    put(Array(name.utf8), at: offset(\cs_ring_header.name))
    put(Array("/srv/shop".utf8), at: offset(\cs_ring_header.executable))
  }

  /// The id of the ring.
  ///
  /// The report that crashd makes from the ring has the same id.
  var id: String {
    bytes[offset(\cs_ring_header.ring_id)..<offset(\cs_ring_header.ring_id) + 16].map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// Marks the program's library as one that supports the message about the last crash.
  mutating func takeLastCrash() { put(UInt32(1), at: offset(\cs_ring_header.takes_last_crash)) }

  mutating func addImage(
    _ index: Int, start: UInt64 = 0x10000, path: String = "/srv/shop", buildID: [UInt8] = [0xab, 0xcd],
    flags: UInt32 = 1
  ) {
    let base = offset(\cs_ring.images) + index * MemoryLayout<cs_ring_image>.stride
    put(start, at: base + offset(\cs_ring_image.bias))
    put(start, at: base + offset(\cs_ring_image.start))
    put(start + 0x1000, at: base + offset(\cs_ring_image.end))
    put(flags, at: base + offset(\cs_ring_image.flags))
    put(UInt32(buildID.count), at: base + offset(\cs_ring_image.build_id_bytes))
    put(buildID, at: base + offset(\cs_ring_image.build_id))
    put(Array(path.utf8), at: base + offset(\cs_ring_image.path))
    put(UInt32(index + 1), at: offset(\cs_ring_header.image_count))
    put(UInt32(index + 1), at: offset(\cs_ring_header.image_total))
  }

  /// Adds a complete incident.
  ///
  /// The incident is a call at 0x400010 of an object that was released at 0x400030, 2 ms earlier.
  mutating func addIncident(
    _ index: Int, key: UInt64, subject: String, count: UInt64, mode: UInt32, source: UInt32 = 1,
    first_ns: UInt64 = 1_700_000_002_000_000_000
  ) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(key, at: base + offset(\cs_ring_incident.key))
    put(UInt64(1), at: base + offset(\cs_ring_incident.sequence))
    put(count, at: base + offset(\cs_ring_incident.count))
    put(first_ns, at: base + offset(\cs_ring_incident.first_ns))
    put(UInt64(1_700_000_003_000_000_000), at: base + offset(\cs_ring_incident.last_ns))
    put(UInt64(2_000_000), at: base + offset(\cs_ring_incident.age_ns))
    put(source, at: base + offset(\cs_ring_incident.source))
    put(UInt32(1), at: base + offset(\cs_ring_incident.kind))
    put(mode, at: base + offset(\cs_ring_incident.mode))
    put(UInt32(1), at: base + offset(\cs_ring_incident.flags))
    put(UInt32(77), at: base + offset(\cs_ring_incident.id))
    put(Int32(12), at: base + offset(\cs_ring_incident.use_tid))
    put(Int32(13), at: base + offset(\cs_ring_incident.free_tid))
    put(UInt32(2), at: base + offset(\cs_ring_incident.use_count))
    put(UInt32(1), at: base + offset(\cs_ring_incident.free_count))
    put(UInt32(subject.utf8.count), at: base + offset(\cs_ring_incident.subject_bytes))
    put(Array(subject.utf8), at: base + offset(\cs_ring_incident.subject))
    put(UInt64(0x40_0010), at: base + offset(\cs_ring_incident.use))
    put(UInt64(0x40_0020), at: base + offset(\cs_ring_incident.use) + 8)
    put(UInt64(0x40_0030), at: base + offset(\cs_ring_incident.detail) + offset(\cs_ring_object_stacks.free))
  }

  /// Sets the field `word` of the added incident: a word of class metadata, or a source line.
  mutating func setWord(_ index: Int, _ word: UInt32) {
    put(
      word,
      at: offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride + offset(\cs_ring_incident.word))
  }

  /// Sets the kind of the added incident.
  ///
  /// Each source of incidents has its own numbers for kinds.
  mutating func setKind(_ index: Int, _ kind: UInt32) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(kind, at: base + offset(\cs_ring_incident.kind))
  }

  /// Makes the added incident a contained trap.
  ///
  /// The recorded value of each register is 0x100 plus the number of the register.
  mutating func makeTrap(_ index: Int, registers: Int, flags: UInt64) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(CS_RING_INCIDENT_TRAP | CS_RING_INCIDENT_EXACT, at: base + offset(\cs_ring_incident.flags))
    put(flags, at: base + offset(\cs_ring_incident.address))
    put(UInt32(registers), at: base + offset(\cs_ring_incident.free_count))
    for number in 0..<registers {
      put(
        UInt64(0x100 + number),
        at: base + offset(\cs_ring_incident.detail) + offset(\cs_ring_trap.registers) + number * 8)
    }
  }

  /// Makes the added incident one of a guard page, with an allocation at 0x400040.
  mutating func makePageIncident(_ index: Int, kind: UInt32, amount: Int64, method: UInt64 = 0) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(cs_ring_incident_source.CS_RING_INCIDENT_PAGES.rawValue, at: base + offset(\cs_ring_incident.source))
    put(kind, at: base + offset(\cs_ring_incident.kind))
    put(amount, at: base + offset(\cs_ring_incident.amount))
    put(method, at: base + offset(\cs_ring_incident.method))
    put(CS_RING_INCIDENT_RECORD | CS_RING_INCIDENT_EXACT, at: base + offset(\cs_ring_incident.flags))
    put(UInt32(1), at: base + offset(\cs_ring_incident.origin_count))
    put(Int32(14), at: base + offset(\cs_ring_incident.origin_tid))
    put(UInt64(0x40_0040), at: base + offset(\cs_ring_incident.detail) + offset(\cs_ring_object_stacks.origin))
  }

  /// Makes the added incident a freed-object record: the record of an object that left the quarantine before the given
  /// thread crashed.
  mutating func makeFreedRecord(_ index: Int, at address: UInt64, tid: Int32, sequence: Int64) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue, at: base + offset(\cs_ring_incident.kind))
    put(cs_mode.CS_MODE_CRASH.rawValue, at: base + offset(\cs_ring_incident.mode))
    put(UInt32(0), at: base + offset(\cs_ring_incident.use_count))
    put(address, at: base + offset(\cs_ring_incident.address))
    put(sequence, at: base + offset(\cs_ring_incident.amount))
    put(tid, at: base + offset(\cs_ring_incident.use_tid))
  }

  /// Sets the thread of the added incident.
  mutating func setUseThread(_ index: Int, _ tid: Int32) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(tid, at: base + offset(\cs_ring_incident.use_tid))
  }

  /// Adds a class that is protected with the policy `diagnose`.
  mutating func addClass(_ index: Int, _ name: String, admitted: UInt64, limit: UInt32 = 50) {
    let base = offset(\cs_ring.classes) + index * MemoryLayout<cs_ring_class>.stride
    put(admitted, at: base + offset(\cs_ring_class.admitted))
    put(UInt32(2), at: base + offset(\cs_ring_class.policy))
    put(UInt32(1), at: base + offset(\cs_ring_class.is_listed))
    put(limit, at: base + offset(\cs_ring_class.limit))
    put(UInt32(name.utf8.count), at: base + offset(\cs_ring_class.name_bytes))
    put(Array(name.utf8), at: base + offset(\cs_ring_class.name))
    put(UInt32(index + 1), at: offset(\cs_ring_header.class_count))
    put(UInt32(index + 1), at: offset(\cs_ring_header.class_total))
  }

  /// Adds a complete record of a trap at 0x10010, in image 0.
  mutating func addCrash(
    slot: Int = 0, message: String = "Fatal error: sold out\n", signal: Int32 = SIGILL, stack: [UInt8] = [],
    unwindStop: UInt32 = 0, memory: [UInt8] = [], address: UInt64 = 0x10010, instruction: [UInt8] = [],
    time_ns: UInt64 = 1_700_000_001_000_000_000, code: Int32 = 2, registers: [UInt64]? = nil,
    registerCount: UInt64? = nil, flags: UInt64 = 0, errorCode: UInt64 = 0
  ) {
    let base = record(slot)
    for (number, value) in (registers ?? []).enumerated() {
      put(value, at: base + offset(\cs_ring_record.registers.general) + 8 * number)
    }
    put(flags, at: base + offset(\cs_ring_record.registers.flags))
    put(errorCode, at: base + offset(\cs_ring_record.registers.error_code))
    put(errorCode == 0 ? 0 : address, at: base + offset(\cs_ring_record.registers.fault_address))
    let words = base + offset(\cs_ring_record.memory)
    put(UInt32(memory.isEmpty ? 0 : 1), at: base + offset(\cs_ring_record.memory_count))
    if !memory.isEmpty {
      put(UInt64(0x5000_0000), at: words + offset(\cs_ring_memory.start))
      put(UInt32(memory.count), at: words + offset(\cs_ring_memory.bytes))
      put(memory, at: words + offset(\cs_ring_memory.contents))
    }
    put(UInt32(instruction.count), at: base + offset(\cs_ring_record.instruction_bytes))
    put(instruction, at: base + offset(\cs_ring_record.instruction))
    put(UInt64(0x7fff_0000), at: base + offset(\cs_ring_record.stack_start))
    put(UInt32(stack.count), at: base + offset(\cs_ring_record.stack_bytes))
    put(unwindStop, at: base + offset(\cs_ring_record.unwind_stop))
    // Swift does not import the array of stack bytes. It is the last field of the slot, without padding, so its offset
    // follows from the end of the slot.
    let stackBase = self.slot(slot + 1) - Int(CS_RING_STACK_LIMIT_BYTES)
    put(stack, at: stackBase)
    put(UInt64(slot), at: base + offset(\cs_ring_record.sequence))
    put(time_ns, at: base + offset(\cs_ring_record.time_ns))
    put(address, at: base + offset(\cs_ring_record.address))
    put(Int32(4712 + slot), at: base + offset(\cs_ring_record.tid))
    put(signal, at: base + offset(\cs_ring_record.signal))
    put(code, at: base + offset(\cs_ring_record.code))
    put(Int32(-1), at: base + offset(\cs_ring_record.system_call))
    put(UInt32(message.utf8.count), at: base + offset(\cs_ring_record.message_bytes))
    put(Array(message.utf8), at: base + offset(\cs_ring_record.message))
    put(UInt32(1), at: base + offset(\cs_ring_record.frame_count))
    put(UInt32(1), at: base + offset(\cs_ring_record.frame_total))
    put(UInt32(1), at: base + offset(\cs_ring_record.frame_head))
    put(
      registerCount ?? UInt64(registers?.count ?? 17), at: base + offset(\cs_ring_record.registers.general_count))
    let frame = base + offset(\cs_ring_record.frames)
    put(UInt64(0x10010), at: frame + offset(\cs_ring_frame.pc))
    put(UInt8(1), at: frame + offset(\cs_ring_frame.trust))
    put(UInt8(CS_RING_FRAME_EXACT), at: frame + offset(\cs_ring_frame.flags))
    claim(slot)
    let crc = unsafe bytes.withUnsafeBytes { memory in
      // Invariant: the record and its stack lie inside the ring, so their pointers are valid.
      unsafe cs_ring_crc32c(
        cs_ring_crc32c(0, memory.baseAddress?.advanced(by: base), MemoryLayout<cs_ring_record>.size),
        memory.baseAddress?.advanced(by: stackBase), stack.count)
    }
    put(crc, at: self.slot(slot) + offset(\cs_ring_slot.crc))
    put(UInt64(1 << 2 | UInt64(CS_RING_STATE_COMMITTED)), at: self.slot(slot) + offset(\cs_ring_slot.state))
  }

  /// Sets a field of the header.
  mutating func set(_ field: PartialKeyPath<cs_ring_header>, _ value: UInt32) { put(value, at: offset(field)) }

  /// Writes the state of a drain of 230 ms.
  ///
  /// The drain is in progress if `end` is 0.
  mutating func setDrain(_ end: UInt32, finished: UInt32 = 0, lost: UInt32 = 0) {
    let begin_ns: UInt64 = 1_700_000_001_000_000_000
    set(\.containment_mode, 1)
    put(begin_ns, at: offset(\cs_ring_header.drain_begin_ns))
    put(end == 0 ? 0 : begin_ns + 230_000_000, at: offset(\cs_ring_header.drain_end_ns))
    set(\.drain_finished, finished)
    set(\.drain_lost, lost)
    set(\.drain_end, end)
  }

  /// Marks a request as ended by a trap.
  mutating func trapRequest(_ index: Int) { put(UInt64(0x103), at: request(index)) }

  /// Makes the added incident one of a contained request.
  mutating func makeRequestTrap(_ index: Int, number: Int64) {
    let base = offset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
    put(cs_ring_contained.CS_RING_CONTAINED_REQUEST.rawValue, at: base + offset(\cs_ring_incident.kind))
    put(number, at: base + offset(\cs_ring_incident.amount))
  }

  /// Adds a request.
  ///
  /// It is in flight, or has ended.
  mutating func addRequest(
    _ index: Int, number: UInt64, operation: String, started_ns: UInt64 = 1_700_000_000_000_000_000,
    isRunning: Bool = true
  ) {
    let base = request(index)
    put(UInt64(isRunning ? 0x102 : 0x100), at: base + offset(\cs_ring_request.state))
    put(number, at: base + offset(\cs_ring_request.number))
    put(started_ns, at: base + offset(\cs_ring_request.started_ns))
    put(UInt16(operation.utf8.count), at: base + offset(\cs_ring_request.operation_bytes))
    put(Array(operation.utf8), at: base + offset(\cs_ring_request.operation))
    put(UInt32(index + 1), at: offset(\cs_ring_header.request_high))
    put(number, at: offset(\cs_ring_header.request_begun))
  }

  /// Sets the numbers of requests since the start of the process.
  mutating func countRequests(begun: UInt64, finished: UInt64, failed: UInt64) {
    put(begun, at: offset(\cs_ring_header.request_begun))
    put(finished, at: offset(\cs_ring_header.request_finished))
    put(failed, at: offset(\cs_ring_header.request_failed))
  }

  func request(_ index: Int) -> Int {
    bytes.count - (Int(CS_RING_REQUEST_LIMIT) - index) * MemoryLayout<cs_ring_request>.stride
  }

  /// Sets the memory mode of the records (a `cs_ring_memory_mode`), and the key of the heap.
  mutating func setMemory(mode: UInt32, heapKey: UInt64) {
    put(mode, at: offset(\cs_ring_header.memory_mode))
    put(heapKey, at: offset(\cs_ring_header.heap_key))
  }

  /// Marks the library as one that sends crashd a wake-up for incidents.
  mutating func setAnnounces() { put(UInt32(1), at: offset(\cs_ring_header.announces_incidents)) }

  /// Marks the process as non-dumpable, as the handler does.
  mutating func setRestricted() { put(UInt32(1), at: offset(\cs_ring_header.is_restricted)) }

  /// Sets the result of a guard self-test.
  ///
  /// In a mask, each bit stands for a kind of guard.
  mutating func setSelfTest(asked: UInt64, failing: UInt64, checks: UInt32, failures: UInt32, time_ns: UInt64) {
    let base = offset(\cs_ring_header.self_test)
    put(UInt64(2), at: base + offset(\cs_ring_self_test.sequence))
    put(time_ns, at: base + offset(\cs_ring_self_test.time_ns))
    put(asked, at: base + offset(\cs_ring_self_test.asked))
    put(failing, at: base + offset(\cs_ring_self_test.failing))
    put(checks, at: base + offset(\cs_ring_self_test.checks))
    put(failures, at: base + offset(\cs_ring_self_test.failures))
  }

  /// Changes a byte of a record, but not its checksum.
  mutating func damage(slot: Int) {
    bytes[record(slot) + offset(\cs_ring_record.thread_name)] ^= 1
  }

  /// Marks a slot as claimed by a writer that has not finished.
  mutating func claim(_ slot: Int) {
    put(UInt64(1 << 2 | UInt64(CS_RING_STATE_WRITING)), at: self.slot(slot) + offset(\cs_ring_slot.state))
    put(UInt64(slot + 1), at: offset(\cs_ring_header.slot_head))
  }

  mutating func put<Value: BitwiseCopyable>(_ value: Value, at offset: Int) {
    precondition(offset >= 0 && offset + MemoryLayout<Value>.size <= bytes.count)
    // Invariant: the value lies inside the array, as the line above has checked.
    unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
  }

  mutating func put(_ values: [UInt8], at offset: Int) {
    bytes.replaceSubrange(offset..<offset + values.count, with: values)
  }

  private func slot(_ index: Int) -> Int { offset(\cs_ring.slots) + index * MemoryLayout<cs_ring_slot>.stride }
  private func record(_ index: Int) -> Int { slot(index) + offset(\cs_ring_slot.record) }

  private func offset<Layout>(_ field: PartialKeyPath<Layout>) -> Int {
    guard let offset = MemoryLayout<Layout>.offset(of: field) else { preconditionFailure("no offset") }
    return offset
  }
}

extension TestRing {
  /// A memfd that contains this ring.
  func memory(isSealed: Bool = true) throws -> Descriptor {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_memory_create(bytes.count, &number), "make a memfd")
    let descriptor = Descriptor(owning: number)
    try write(to: descriptor)
    if isSealed { try SystemError.check(cd_memory_seal(number, true), "seal a memfd") }
    return descriptor
  }

  /// Writes the ring again into its file, as a running process does.
  func write(to descriptor: Descriptor) throws {
    // Invariant: pwrite() reads as many bytes as the array has.
    guard unsafe pwrite(descriptor.number, bytes, bytes.count, 0) == bytes.count else {
      throw SystemError("write a ring")
    }
  }

  func contents() throws -> RingContents {
    try RingSource(memory: memory()).mapping.contents()
  }
}
