internal import CShimRing

/// Identifies the state of a ring's records.
///
/// crashd compares stamps to detect changes without reading the records.
///
/// If two stamps are equal, the same records and threads were complete when both stamps were read, and nothing changed
/// in between. A stamp covers the drain, but not annotations, breadcrumbs and the counts of incidents.
public struct RingStamp: Sendable, Equatable {
  /// The states of the slots and threads, and the loss counters of the header.
  let words: [UInt64]
  /// Whether all crash records, and the records of all sampled threads, were committed when the stamp was read.
  public let isSettled: Bool
}

extension RingReader {
  /// Reads the current stamp of the ring.
  func stamp() -> RingStamp {
    let header = unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)
    var words = [
      header[\.slot_overwritten], header[\.slot_lost], header[\.record_minimal], header[\.annotation_lost],
      header[\.incident_lost], UInt64(header[\.image_total]), UInt64(header[\.image_count]),
      UInt64(header[\.class_total]), UInt64(header[\.class_count]), UInt64(header[\.thread_count]),
      UInt64(header[\.thread_total]), UInt64(header[\.sweep]), UInt64(header[\.survived]),
    ]
    if version == .current {
      words += [header[\.drain_begin_ns], header[\.drain_end_ns]]
      words += [header[\.drain_end], header[\.drain_finished], header[\.drain_lost]].map { UInt64($0) }
    }
    var isSettled = true
    // A signal handler takes a ticket before it changes the state of its slot, and tickets are numbered in order.
    // Therefore, only as many slots as there are tickets can be in use. If the number of tickets is 0, read all slots,
    // because the program could have overwritten the header before the crash.
    let tickets = Int(clamping: header[\.slot_head])
    words.append(header[\.slot_head])
    for index in 0..<(tickets == 0 ? RingLayout.slotLimit : min(tickets, RingLayout.slotLimit)) {
      let offset = RingLayout.slot(index)
      // The static assertions on the ring layout ensure that slot `index` is inside the ring and aligned.
      guard mayBeUsed(offset),
        let slot = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_slot.self)
      else { continue }
      let state = unsafe cs_ring_slot_state_acquire(slot)
      // Skip slots that were never used. With `used`, `mayBeUsed` skips them, too, and the stamp must be the same with
      // and without `used`.
      if state == 0 { continue }
      let kind = state & UInt64(CS_RING_STATE_MASK)
      if kind != UInt64(CS_RING_STATE_COMMITTED) && kind != UInt64(CS_RING_STATE_FREE) { isSettled = false }
      words += [UInt64(index), state]
    }
    let committed = UInt64(header[\.survived]) << 2 | UInt64(CS_RING_STATE_COMMITTED)
    for index in 0..<min(Int(clamping: header[\.thread_count]), RingLayout.threadLimit) {
      // The static assertions on the ring layout ensure that thread `index` is inside the ring and aligned.
      guard
        let thread = unsafe shared.baseAddress?.advanced(by: RingLayout.thread(index))
          .assumingMemoryBound(to: cs_ring_thread.self)
      else { break }
      let state = unsafe cs_ring_thread_state_acquire(thread)
      if state != committed { isSettled = false }
      words.append(state)
    }
    return RingStamp(words: words, isSettled: isSettled)
  }
}
