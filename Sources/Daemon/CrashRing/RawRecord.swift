internal import CShimRing
internal import CrashReport

/// A committed record that was copied out of the ring but was not decoded yet.
struct RawRecord {
  let slot: Int
  let generation: UInt64
  let commit_ns: UInt64
  let record: PrivateCopy<cs_ring_record>
  let stack: [UInt8]
  /// The request in which the thread crashed, and the request's CRC, which is not checked yet; nil if there was no
  /// request.
  let request: (copy: PrivateCopy<cs_ring_request>, crc: UInt32)?

  /// Whether the record is complete and unchanged: the CRC is correct and no length is above its limit.
  func isWhole(crc: UInt32) -> Bool {
    checksum == crc
      && record[\.stack_bytes] == stack.count
      && record[\.frame_count] <= CS_RING_FRAME_LIMIT
      && record[\.frame_head] <= record[\.frame_count]
      && record[\.registers.general_count] <= CS_RING_REGISTER_LIMIT
      && record[\.instruction_bytes] <= CS_RING_INSTRUCTION_LIMIT_BYTES
      && record[\.message_bytes] <= CS_RING_MESSAGE_LIMIT_BYTES
      && record[\.abort_bytes] <= CS_RING_ABORT_LIMIT_BYTES
      && record[\.exception_bytes] <= CS_RING_EXCEPTION_LIMIT_BYTES
      && record[\.exception_text_bytes] <= CS_RING_EXCEPTION_TEXT_LIMIT_BYTES
      && record[\.task_name_bytes] <= CS_RING_TASK_NAME_LIMIT_BYTES
      && record[\.memory_count] <= CS_RING_MEMORY_LIMIT
      && (1...64).contains(record[\.signal])
  }

  /// The request, if its CRC is correct; nil if there is none, or if it is damaged.
  private var checkedRequest: RingContents.Request? {
    guard let (copy, crc) = request else { return nil }
    // The pointer is valid only during the call, and is passed together with the size of its array.
    let found = unsafe copy.bytes.withUnsafeBytes { unsafe cs_ring_crc32c(0, $0.baseAddress, $0.count) }
    return found == crc ? RingContents.Request(copy) : nil
  }

  /// Whether the request in the slot has changed since the signal handler committed it.
  var hasDamagedRequest: Bool { request != nil && checkedRequest == nil }

  private var checksum: UInt32 {
    // Each pointer is used only during the call, and is passed together with the size of its array.
    let crc = unsafe record.bytes.withUnsafeBytes { unsafe cs_ring_crc32c(0, $0.baseAddress, $0.count) }
    return unsafe stack.withUnsafeBytes { unsafe cs_ring_crc32c(crc, $0.baseAddress, $0.count) }
  }

  /// Decodes the record into Swift values, and finds the image of each frame.
  func decoded(images: ImageTable, architecture: Architecture) -> CrashRecord {
    let frames = record.elements(\.frames, of: cs_ring_frame.self, count: record[\.frame_count])
      .map { $0.decoded(images: images) }
    return CrashRecord(
      slot: slot, generation: generation, sequence: record[\.sequence], time_ns: record[\.time_ns],
      entry_ns: record[\.entry_ns], commit_ns: commit_ns, tid: record[\.tid],
      threadName: CleanText.line(record.text(zeroTerminated: \.thread_name)), signal: record[\.signal],
      code: record[\.code], address: record[\.address], senderPid: record[\.sender_pid],
      senderUid: record[\.sender_uid], systemCall: systemCall,
      isMinimal: record[\.flags] & CS_RING_RECORD_MINIMAL != 0,
      registers: record.numbers(\.registers.general, count: record[\.registers.general_count]),
      flags: record[\.registers.flags], errorCode: record[\.registers.error_code],
      trapNumber: record[\.registers.trap_number], faultAddress: record[\.registers.fault_address],
      instruction: Array(record.bytes(\.instruction, count: record[\.instruction_bytes])),
      message: trimmed(record.text(\.message, count: record[\.message_bytes])),
      abortMessage: trimmed(record.text(\.abort_message, count: record[\.abort_bytes])),
      exceptionType: CleanText.line(record.text(\.exception, count: record[\.exception_bytes])),
      frames: frames, frameHead: Int(clamping: record[\.frame_head]),
      // Do not count the frames of async callers, because these callers are not on the stack.
      frameTotal: max(Int(clamping: record[\.frame_total]), frames.count { !$0.isAsync }),
      unwindStop: record[\.unwind_stop], stackStart: record[\.stack_start], stack: stack,
      isLate: record[\.flags] & CS_RING_RECORD_LATE != 0,
      exceptionText: isOfFile || isOfClass ? "" : exceptionText, mappedFile: isOfFile ? mappedFile : nil,
      objectClass: isOfClass ? CleanText.line(exceptionText) : "",
      task: record.task, request: checkedRequest, verdict: record.verdict,
      verdictReason: .init(number: Int(record[\.verdict_reason])), memory: memory, heapEnd: record[\.heap_end],
      exceedsIsolationBudget: record[\.flags] & CS_RING_RECORD_BUDGET != 0,
      isBare: record[\.flags] & CS_RING_RECORD_BARE != 0, architecture: architecture)
  }

  private var memory: [CrashRecord.Memory] {
    record.elements(\.memory, of: cs_ring_memory.self, count: record[\.memory_count]).map { memory in
      // Copy only whole words. `bytes(_:count:)` reduces a count that is above the size of the array.
      CrashRecord.Memory(
        start: memory[\.start], bytes: Array(memory.bytes(\.contents, count: memory[\.bytes] & ~7)))
    }
  }

  private var isOfFile: Bool { record[\.flags] & CS_RING_RECORD_FILE != 0 }

  private var isOfClass: Bool { record[\.flags] & CS_RING_RECORD_CLASS != 0 }

  private var exceptionText: String { trimmed(record.text(\.exception_text, count: record[\.exception_text_bytes])) }

  /// Parses the text of a mapped file, which has the form `OFFSET PATH`.
  ///
  /// Returns nil for a string of any other form.
  private var mappedFile: CrashRecord.MappedFile? {
    let parts = exceptionText.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let offset = UInt64(parts[0]), parts[1].hasPrefix("/") else { return nil }
    return CrashRecord.MappedFile(path: CleanText.line(String(parts[1])), offset: offset)
  }

  private var systemCall: Int32? {
    record[\.signal] == signalSystemCall && record[\.system_call] >= 0 ? record[\.system_call] : nil
  }

  /// Removes white space and newlines at the end of a string.
  private func trimmed(_ text: String) -> String {
    var text = text[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}

extension PrivateCopy<cs_ring_record> {
  /// The Swift task that the thread was running; nil if there was none.
  var task: CrashRecord.TaskFacts? {
    guard self[\.flags] & CS_RING_RECORD_TASK != 0 else { return nil }
    let name = text(\.task_name, count: self[\.task_name_bytes])
    return CrashRecord.TaskFacts(
      id: self[\.task_id], priority: UInt8(truncatingIfNeeded: self[\.task_priority]), name: CleanText.line(name))
  }
}

extension PrivateCopy<cs_ring_thread_record> {
  /// The Swift task that the thread was running; nil if there was none.
  var task: CrashRecord.TaskFacts? {
    guard self[\.flags] & CS_RING_RECORD_TASK != 0 else { return nil }
    let name = text(\.task_name, count: self[\.task_name_bytes])
    return CrashRecord.TaskFacts(
      id: self[\.task_id], priority: UInt8(truncatingIfNeeded: self[\.task_priority]), name: CleanText.line(name))
  }
}

extension PrivateCopy<cs_ring_frame> {
  /// Decodes the frame into Swift values, and finds its image.
  func decoded(images: ImageTable) -> CrashRecord.Frame {
    let pc = self[\.pc]
    let flags = UInt32(self[\.flags])
    let isExact = flags & CS_RING_FRAME_EXACT != 0
    let start = self[\.function_start]
    // For a return address, look up the image one byte before this address: if the called function never returns, the
    // return address can be the first byte after the image.
    let lookup = isExact ? pc : pc.subtractingOrZero(1)
    return CrashRecord.Frame(
      pc: pc, functionStart: start == 0 ? nil : start, trust: trust(self[\.trust]), isExact: isExact,
      isAsync: flags & CS_RING_FRAME_ASYNC != 0, image: images.index(of: lookup, hint: self[\.image]))
  }

  /// Returns the trust level of a frame; `unknown` if this version of crashd does not define the value.
  private func trust(_ value: UInt8) -> CrashReport.Trust {
    switch cs_ring_trust(rawValue: value) {
    case .CS_RING_TRUST_CONTEXT: .context
    case .CS_RING_TRUST_CFI: .cfi
    case .CS_RING_TRUST_FRAME_POINTER: .framePointer
    case .CS_RING_TRUST_SCAN: .scan
    case .CS_RING_TRUST_ASYNC: .async
    default: .unknown
    }
  }
}

/// The signal number of SIGSYS on x86-64 and AArch64.
private let signalSystemCall: Int32 = 31
