import CShimRing
import CrashRing
import Glibc

/// A ring in memory, which a test fills with valid contents like those of a program, or with hostile contents.
@safe
final class TestRing {
  /// The memory of the ring.
  ///
  /// It contains only zeros at first.
  ///
  /// calloc() does not write to the pages of such a large block, so unused pages take no memory.
  let memory: UnsafeMutableRawBufferPointer

  /// Creates a ring with a valid header and no other contents.
  init(_ version: RingVersion = .current) {
    guard let start = unsafe calloc(1, version.bytes) else { fatalError("no memory for a ring") }
    unsafe memory = UnsafeMutableRawBufferPointer(start: start, count: version.bytes)
    set(\cs_ring_header.magic, 0x0000_474e_4952_5343)
    set(\cs_ring_header.version, version.number)
    #if arch(x86_64)
      set(\cs_ring_header.architecture, 1)
    #else
      set(\cs_ring_header.architecture, 2)
    #endif
    set(\cs_ring_header.total_bytes, UInt64(version.bytes))
    set(\cs_ring_header.pid, 4711)
    set(\cs_ring_header.uid, 1000)
    set(\cs_ring_header.start_time_ns, 1_000_000_000)
    setBytes(\cs_ring_header.ring_id, Array(0..<16))
    setBytes(\cs_ring_header.name, Array("server".utf8))
    setBytes(\cs_ring_header.executable, Array("/srv/server".utf8))
  }

  deinit { unsafe free(memory.baseAddress) }

  /// A copy of the ring's bytes.
  var bytes: [UInt8] { unsafe Array(memory) }

  /// Reads the ring.
  func contents() throws -> RingContents {
    // Invariant: the ring outlives the reader.
    defer { withExtendedLifetime(self) {} }
    return try unsafe RingReader(bytes: UnsafeRawBufferPointer(memory)).contents()
  }

  /// Writes a value at any offset.
  func put<Value: BitwiseCopyable>(_ value: Value, at offset: Int) {
    precondition(unsafe offset >= 0 && offset + MemoryLayout<Value>.size <= memory.count)
    // Invariant: the value lies inside the ring, as the line above has checked.
    unsafe memory.storeBytes(of: value, toByteOffset: offset, as: Value.self)
  }

  /// Writes bytes at any offset.
  func put(_ bytes: some Sequence<UInt8>, at offset: Int) {
    let bytes = Array(bytes)
    precondition(unsafe offset >= 0 && offset + bytes.count <= memory.count)
    var index = 0
    // Invariant: the bytes lie inside the ring, as the check above ensures. In a debug build, an iterator would take ten
    // times as long.
    while index < bytes.count {
      unsafe memory[offset + index] = bytes[index]
      index += 1
    }
  }

  /// Sets a field of the struct at `base`.
  func set<Layout, Value: BitwiseCopyable>(_ field: KeyPath<Layout, Value>, at base: Int = 0, _ value: Value) {
    put(value, at: base + fieldOffset(field))
  }

  /// Sets the first bytes of a field that is an array.
  func setBytes<Layout>(_ field: PartialKeyPath<Layout>, at base: Int = 0, _ bytes: some Sequence<UInt8>) {
    put(bytes, at: base + fieldOffset(field))
  }
}

/// The offset of a stored field.
func fieldOffset<Layout>(_ field: PartialKeyPath<Layout>) -> Int {
  guard let offset = MemoryLayout<Layout>.offset(of: field) else { preconditionFailure("\(field) has no offset") }
  return offset
}

/// The offsets of the parts of the ring.
extension TestRing {
  static func image(_ index: Int) -> Int {
    fieldOffset(\cs_ring.images) + index * MemoryLayout<cs_ring_image>.stride
  }
  static func annotation(_ index: Int) -> Int {
    fieldOffset(\cs_ring.annotations) + index * MemoryLayout<cs_ring_annotation>.stride
  }
  static func breadcrumb(_ index: Int) -> Int {
    fieldOffset(\cs_ring.breadcrumbs) + index * MemoryLayout<cs_ring_breadcrumb>.stride
  }
  static func incident(_ index: Int) -> Int {
    fieldOffset(\cs_ring.incidents) + index * MemoryLayout<cs_ring_incident>.stride
  }
  static func protectedClass(_ index: Int) -> Int {
    fieldOffset(\cs_ring.classes) + index * MemoryLayout<cs_ring_class>.stride
  }
  static func slot(_ index: Int) -> Int {
    fieldOffset(\cs_ring.slots) + index * MemoryLayout<cs_ring_slot>.stride
  }
  static func record(_ slot: Int) -> Int { Self.slot(slot) + fieldOffset(\cs_ring_slot.record) }
  static func stack(_ slot: Int) -> Int {
    Self.slot(slot + 1) - Int(CS_RING_STACK_LIMIT_BYTES)
  }
}

/// Adds complete entries of each kind.
extension TestRing {
  /// Adds an image of 0x1000 bytes to the ring.
  func addImage(
    _ index: Int, start: UInt64, path: String = "/lib/a.so", buildID: [UInt8] = [0xab, 0xcd], flags: UInt32 = 0
  ) {
    let base = Self.image(index)
    set(\cs_ring_image.bias, at: base, start)
    set(\cs_ring_image.start, at: base, start)
    set(\cs_ring_image.end, at: base, start + 0x1000)
    set(\cs_ring_image.flags, at: base, flags)
    set(\cs_ring_image.build_id_bytes, at: base, UInt32(buildID.count))
    setBytes(\cs_ring_image.build_id, at: base, buildID)
    setBytes(\cs_ring_image.path, at: base, Array(path.utf8))
    set(\cs_ring_header.image_count, UInt32(index + 1))
    set(\cs_ring_header.image_total, UInt32(index + 1))
  }

  /// Adds an annotation.
  ///
  /// By default the sequence number marks the annotation as completely written.
  func addAnnotation(_ index: Int, _ key: String, _ value: String, sequence: UInt32 = 2) {
    let base = Self.annotation(index)
    set(\cs_ring_annotation.sequence, at: base, sequence)
    set(\cs_ring_annotation.key_bytes, at: base, UInt16(key.utf8.count))
    set(\cs_ring_annotation.value_bytes, at: base, UInt16(value.utf8.count))
    setBytes(\cs_ring_annotation.key, at: base, Array(key.utf8))
    setBytes(\cs_ring_annotation.value, at: base, Array(value.utf8))
  }

  /// Sets the state of a signal's handler.
  func addHandler(_ index: Int, signal: Int32, _ state: cs_ring_handler_state, address: UInt64 = 0) {
    let base = fieldOffset(\cs_ring_header.handlers) + index * MemoryLayout<cs_ring_handler>.stride
    set(\cs_ring_handler.signal, at: base, signal)
    set(\cs_ring_handler.state, at: base, state.rawValue)
    set(\cs_ring_handler.address, at: base, address)
  }

  /// Sets the result of a self-test of the guards.
  func setSelfTest(
    asked: UInt64, failing: UInt64, checks: UInt32, failures: UInt32, time_ns: UInt64 = 5, sequence: UInt64 = 2
  ) {
    let base = fieldOffset(\cs_ring_header.self_test)
    set(\cs_ring_self_test.sequence, at: base, sequence)
    set(\cs_ring_self_test.time_ns, at: base, time_ns)
    set(\cs_ring_self_test.asked, at: base, asked)
    set(\cs_ring_self_test.failing, at: base, failing)
    set(\cs_ring_self_test.checks, at: base, checks)
    set(\cs_ring_self_test.failures, at: base, failures)
  }

  /// Writes a request as the library does, into an entry of the table or into a slot.
  func addRequest(
    at base: Int, number: UInt64, started_ns: UInt64 = 1_000, operation: String = "GET /", id: String = "",
    trace: [UInt8] = [], span: [UInt8] = [], tags: String = "", state: UInt64 = 0x102
  ) {
    set(\cs_ring_request.state, at: base, state)
    set(\cs_ring_request.number, at: base, number)
    set(\cs_ring_request.started_ns, at: base, started_ns)
    setBytes(\cs_ring_request.trace_id, at: base, trace)
    setBytes(\cs_ring_request.span_id, at: base, span)
    set(\cs_ring_request.operation_bytes, at: base, UInt16(operation.utf8.count))
    set(\cs_ring_request.id_bytes, at: base, UInt16(id.utf8.count))
    set(\cs_ring_request.tag_bytes, at: base, UInt16(tags.utf8.count))
    setBytes(\cs_ring_request.operation, at: base, Array(operation.utf8))
    setBytes(\cs_ring_request.id, at: base, Array(id.utf8))
    setBytes(\cs_ring_request.tags, at: base, Array(tags.utf8))
  }

  /// Adds a request in flight.
  func addRequest(_ index: Int, number: UInt64, started_ns: UInt64 = 1_000, operation: String = "GET /") {
    addRequest(at: Self.request(index), number: number, started_ns: started_ns, operation: operation)
    useRequests(index + 1)
  }

  /// Sets the number of request entries that were ever used, and the number of requests that began.
  func useRequests(_ count: Int) {
    set(\cs_ring_header.request_high, UInt32(count))
    set(\cs_ring_header.request_begun, UInt64(count))
  }

  /// Switches containment on, as the shield does when it starts.
  func setContainment(_ mode: UInt32, obstacle: UInt32 = 0, budget: UInt32 = 0, count: UInt32 = 0) {
    set(\cs_ring_header.containment_mode, mode)
    set(\cs_ring_header.containment_obstacle, obstacle)
    set(\cs_ring_header.containment_budget, budget)
    set(\cs_ring_header.containment_count, count)
  }

  /// Writes the state of a drain.
  ///
  /// The drain is in progress if `end` is 0.
  func setDrain(_ end: UInt32, finished: UInt32 = 0, lost: UInt32 = 0, begin_ns: UInt64 = 1_000, end_ns: UInt64 = 0) {
    set(\cs_ring_header.drain_begin_ns, begin_ns)
    set(\cs_ring_header.drain_end_ns, end_ns)
    set(\cs_ring_header.drain_finished, finished)
    set(\cs_ring_header.drain_lost, lost)
    set(\cs_ring_header.drain_end, end)
  }

  /// Sets the CRC of the request in a slot to that of its current bytes.
  func commitRequest(slot: Int) {
    let base = Self.slot(slot) + fieldOffset(\cs_ring_slot.request)
    // Invariant: the request of the slot lies inside the ring.
    let crc = unsafe cs_ring_crc32c(0, memory.baseAddress?.advanced(by: base), MemoryLayout<cs_ring_request>.size)
    set(\cs_ring_slot.request_crc, at: Self.slot(slot), crc)
  }

  /// Adds a breadcrumb as the library does: it overwrites the one whose ticket (sequence number) is lower by 128.
  func addBreadcrumb(ticket: UInt64, _ text: String, level: UInt8 = 0, category: String = "", metadata: String = "") {
    let base = Self.breadcrumb(Int(ticket % UInt64(CS_RING_BREADCRUMB_LIMIT)))
    set(\cs_ring_breadcrumb.sequence, at: base, ticket + 1)
    set(\cs_ring_breadcrumb.time_ns, at: base, ticket * 1_000)
    set(\cs_ring_breadcrumb.text_bytes, at: base, UInt32(text.utf8.count))
    set(\cs_ring_breadcrumb.level, at: base, level)
    set(\cs_ring_breadcrumb.category_bytes, at: base, UInt8(category.utf8.count))
    set(\cs_ring_breadcrumb.metadata_bytes, at: base, UInt16(metadata.utf8.count))
    setBytes(\cs_ring_breadcrumb.text, at: base, Array((text + category + metadata).utf8))
  }

  /// Adds an incident of the quarantine with the access kind `call`.
  ///
  /// If `free` is not empty, the incident also describes the object.
  func addIncident(
    _ index: Int, key: UInt64, subject: String, first_ns: UInt64, use: [UInt64], free: [UInt64] = []
  ) {
    let base = Self.incident(index)
    set(\cs_ring_incident.key, at: base, key)
    set(\cs_ring_incident.sequence, at: base, 1)
    set(\cs_ring_incident.count, at: base, 3)
    set(\cs_ring_incident.first_ns, at: base, first_ns)
    set(\cs_ring_incident.last_ns, at: base, first_ns + 1)
    set(\cs_ring_incident.address, at: base, 0x5000)
    set(\cs_ring_incident.method, at: base, 0x4010)
    set(\cs_ring_incident.age_ns, at: base, 9)
    set(\cs_ring_incident.source, at: base, 1)
    set(\cs_ring_incident.kind, at: base, 1)
    set(\cs_ring_incident.mode, at: base, 1)
    set(\cs_ring_incident.flags, at: base, free.isEmpty ? 0 : 3)
    set(\cs_ring_incident.id, at: base, 77)
    set(\cs_ring_incident.use_tid, at: base, 12)
    set(\cs_ring_incident.free_tid, at: base, 13)
    set(\cs_ring_incident.use_count, at: base, UInt32(use.count))
    set(\cs_ring_incident.free_count, at: base, UInt32(free.count))
    set(\cs_ring_incident.subject_bytes, at: base, UInt32(subject.utf8.count))
    setBytes(\cs_ring_incident.subject, at: base, Array(subject.utf8))
    for (number, pc) in use.enumerated() { put(pc, at: base + fieldOffset(\cs_ring_incident.use) + number * 8) }
    let stack = base + fieldOffset(\cs_ring_incident.detail) + fieldOffset(\cs_ring_object_stacks.free)
    for (number, pc) in free.enumerated() { put(pc, at: stack + number * 8) }
  }

  /// Adds a protected class.
  func addClass(_ index: Int, _ name: String, admitted: UInt64) {
    let base = Self.protectedClass(index)
    set(\cs_ring_class.admitted, at: base, admitted)
    set(\cs_ring_class.policy, at: base, 2)
    set(\cs_ring_class.limit, at: base, 50)
    set(\cs_ring_class.is_listed, at: base, 1)
    set(\cs_ring_class.name_bytes, at: base, UInt32(name.utf8.count))
    setBytes(\cs_ring_class.name, at: base, Array(name.utf8))
    set(\cs_ring_header.class_count, UInt32(index + 1))
    set(\cs_ring_header.class_total, UInt32(index + 1))
  }

  /// Fills a record and its stack, and commits it.
  func addRecord(
    slot: Int, sequence: UInt64 = 0, message: String = "", frames: [cs_ring_frame] = [], stack: [UInt8] = []
  ) {
    let base = Self.record(slot)
    set(\cs_ring_record.sequence, at: base, sequence)
    set(\cs_ring_record.tid, at: base, 4712)
    set(\cs_ring_record.signal, at: base, 4)
    set(\cs_ring_record.code, at: base, 2)
    set(\cs_ring_record.address, at: base, 0x1234)
    set(\cs_ring_record.system_call, at: base, -1)
    set(\cs_ring_record.frame_count, at: base, UInt32(frames.count))
    set(\cs_ring_record.frame_total, at: base, UInt32(frames.count))
    set(\cs_ring_record.frame_head, at: base, UInt32(frames.count))
    set(\cs_ring_record.message_bytes, at: base, UInt32(message.utf8.count))
    set(\cs_ring_record.stack_start, at: base, 0x7fff_0000)
    set(\cs_ring_record.stack_bytes, at: base, UInt32(stack.count))
    set(\cs_ring_record.registers.general_count, at: base, 17)
    set(\cs_ring_record.registers.flags, at: base, 0x246)
    setBytes(\cs_ring_record.thread_name, at: base, Array("worker".utf8))
    setBytes(\cs_ring_record.message, at: base, Array(message.utf8))
    for (index, frame) in frames.enumerated() {
      put(frame, at: base + fieldOffset(\cs_ring_record.frames) + index * MemoryLayout<cs_ring_frame>.stride)
    }
    put(stack, at: Self.stack(slot))
    commit(slot: slot, stackBytes: stack.count)
  }

  /// Computes the CRC over the current bytes, and marks the slot as committed.
  func commit(slot: Int, stackBytes: Int = 0, generation: UInt64 = 1) {
    // Invariant: the record and the stack of a slot lie inside the ring's memory.
    let crc = unsafe cs_ring_crc32c(
      cs_ring_crc32c(0, memory.baseAddress?.advanced(by: Self.record(slot)), MemoryLayout<cs_ring_record>.size),
      memory.baseAddress?.advanced(by: Self.stack(slot)), stackBytes)
    set(\cs_ring_slot.crc, at: Self.slot(slot), crc)
    set(\cs_ring_slot.commit_ns, at: Self.slot(slot), 77)
    set(\cs_ring_slot.state, at: Self.slot(slot), generation << 2 | UInt64(CS_RING_STATE_COMMITTED))
  }
}

extension TestRing {
  /// The offset of the entry of a thread.
  ///
  /// These entries precede the requests.
  static func thread(_ index: Int) -> Int {
    request(0) - (Int(CS_RING_THREAD_LIMIT) - index) * MemoryLayout<cs_ring_thread>.stride
  }

  /// The offset of a request.
  ///
  /// The requests are the last part of the ring.
  static func request(_ index: Int) -> Int {
    MemoryLayout<cs_ring>.size - (Int(CS_RING_REQUEST_LIMIT) - index) * MemoryLayout<cs_ring_request>.stride
  }

  static func threadRecord(_ index: Int) -> Int { thread(index) + fieldOffset(\cs_ring_thread.record) }

  /// Writes the entry of a thread in the thread sweep, in which the handler asks the other threads for their stacks.
  ///
  /// `answer` states whether and how the thread answered.
  func addThread(
    _ index: Int, tid: Int32, name: String = "", answer: cs_ring_answer = .CS_RING_ANSWER_WHOLE,
    runState: Character? = nil, frames: [cs_ring_frame] = []
  ) {
    let at = Self.threadRecord(index)
    set(\cs_ring_thread_record.tid, at: at, tid)
    set(\cs_ring_thread_record.answer, at: at, answer.rawValue)
    set(\cs_ring_thread_record.run_state, at: at, UInt32(runState?.asciiValue ?? 0))
    put(Array(name.utf8), at: at + fieldOffset(\cs_ring_thread_record.name))
    set(\cs_ring_thread_record.frame_count, at: at, UInt32(frames.count))
    set(\cs_ring_thread_record.frame_total, at: at, UInt32(frames.count))
    set(\cs_ring_thread_record.frame_head, at: at, UInt32(frames.count))
    for (number, frame) in frames.enumerated() {
      let offset = at + fieldOffset(\cs_ring_thread_record.frames) + number * MemoryLayout<cs_ring_frame>.stride
      unsafe withUnsafeBytes(of: frame) { unsafe put(Array($0), at: offset) }
    }
    commit(thread: index)
    set(\cs_ring_header.thread_count, at: 0, UInt32(index + 1))
    set(\cs_ring_header.thread_total, at: 0, UInt32(index + 1))
  }

  /// Computes the CRC over the current bytes, and marks the entry as committed.
  func commit(thread index: Int) {
    // Invariant: the record lies inside the ring's memory.
    let crc = unsafe cs_ring_crc32c(
      0, memory.baseAddress?.advanced(by: Self.threadRecord(index)), MemoryLayout<cs_ring_thread_record>.size)
    set(\cs_ring_thread.crc, at: Self.thread(index), crc)
    set(\cs_ring_thread.state, at: Self.thread(index), UInt64(CS_RING_STATE_COMMITTED))
  }
}

extension cs_ring_frame {
  /// Creates a frame that the unwinder found by call frame information (CFI).
  init(_ pc: UInt64, image: UInt16 = UInt16(CS_RING_NO_IMAGE), flags: UInt8 = 0, trust: UInt8 = 2) {
    self.init(pc: pc, function_start: 0, trust: trust, flags: flags, image: image, reserved: 0)
  }
}
