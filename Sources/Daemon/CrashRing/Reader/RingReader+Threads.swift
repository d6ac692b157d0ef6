internal import CShimRing
internal import CrashReport

extension RingReader {
  /// Returns the threads with complete records that the thread sweep (the sampling of all threads at a crash) recorded,
  /// in the order of the sweep.
  ///
  /// - Parameters:
  ///   - header: A copy of the ring's header, which contains the counts.
  ///   - images: The images to which the frames of the threads can belong.
  ///   - losses: Receives the number of threads that did not fit, and of threads whose record changed after the commit.
  /// - Returns: The threads with complete records.
  func threads(_ header: PrivateCopy<cs_ring_header>, images: ImageTable, losses: inout Losses) -> [ThreadRecord] {
    let count = min(Int(clamping: header[\.thread_count]), RingLayout.threadLimit)
    losses.add(.threads, Int(clamping: header[\.thread_total]) - count)
    if header[\.sweep] == cs_ring_sweep.CS_RING_SWEEP_BLIND.rawValue { losses.add(.threadList, 1) }
    // The state field of a thread's entry contains the number of survived crashes, because the thread sweep of a later
    // crash reuses the entries.
    let committed = UInt64(header[\.survived]) << 2 | UInt64(CS_RING_STATE_COMMITTED)
    var threads: [ThreadRecord] = []
    for index in 0..<count {
      // The static assertions on the ring layout ensure that thread `index` is inside the ring and aligned.
      guard
        let thread = unsafe shared.baseAddress?.advanced(by: RingLayout.thread(index))
          .assumingMemoryBound(to: cs_ring_thread.self)
      else { break }
      // Skip an entry that the thread has not written yet, or that belongs to an earlier sweep.
      guard unsafe cs_ring_thread_state_acquire(thread) == committed else {
        losses.add(.silentThreads, 1)
        continue
      }
      let record = whole(index, images: images)
      if unsafe cs_ring_thread_state_recheck(thread) != committed {
        losses.add(.silentThreads, 1)
      } else if let record {
        threads.append(record)
      } else {
        losses.add(.corrupt, 1)
      }
    }
    return threads
  }

  /// Returns the record of a thread; nil if the record changed after the commit.
  private func whole(_ index: Int, images: ImageTable) -> ThreadRecord? {
    let offset = RingLayout.thread(index)
    let record = unsafe PrivateCopy<cs_ring_thread_record>(of: shared, at: offset + RingLayout.recordInThread)
    let crc: UInt32 = unsafe copyOut(of: shared, at: offset + RingLayout.crcInThread)
    // The pointer is used only during the call, and is passed together with the size of its array.
    let found = unsafe record.bytes.withUnsafeBytes { unsafe cs_ring_crc32c(0, $0.baseAddress, $0.count) }
    let isWhole =
      found == crc && record[\.frame_count] <= CS_RING_THREAD_FRAME_LIMIT
      && record[\.frame_head] <= record[\.frame_count]
      && record[\.registers.general_count] <= CS_RING_REGISTER_LIMIT
    return isWhole ? decoded(record, images: images) : nil
  }

  private func decoded(_ record: PrivateCopy<cs_ring_thread_record>, images: ImageTable) -> ThreadRecord {
    let frames = record.elements(\.frames, of: cs_ring_frame.self, count: record[\.frame_count])
      .map { $0.decoded(images: images) }
    return ThreadRecord(
      tid: record[\.tid], name: CleanText.line(record.text(zeroTerminated: \.name)),
      answer: ThreadRecord.Answer(record[\.answer]), runState: letter(record[\.run_state]),
      registers: record.numbers(\.registers.general, count: record[\.registers.general_count]),
      flags: record[\.registers.flags], frames: frames, frameHead: Int(clamping: record[\.frame_head]),
      frameTotal: max(Int(clamping: record[\.frame_total]), frames.count { !$0.isAsync }),
      unwindStop: record[\.unwind_stop], task: record.task)
  }

  /// Returns the letter by which the kernel denotes the state of a thread.
  ///
  /// The result is empty if the value is not a letter.
  private func letter(_ value: UInt32) -> String {
    guard let byte = UInt8(exactly: value), byte < 0x80 else { return "" }
    let scalar = Unicode.Scalar(byte)
    return scalar.properties.isAlphabetic ? String(Character(scalar)) : ""
  }
}

extension ThreadRecord.Answer {
  fileprivate init(_ value: UInt32) {
    switch cs_ring_answer(rawValue: value) {
    case .CS_RING_ANSWER_WHOLE: self = .whole
    case .CS_RING_ANSWER_BLOCKED: self = .blocked
    default: self = .none
    }
  }
}
