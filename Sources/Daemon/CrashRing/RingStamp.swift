internal import CShimRing

/// What the writers of a ring have done to its records so far, without the records.
///
/// Two that are equal: every record and thread that was whole at the first moment is so at the second, and no other, and
/// so it was at every moment between. Annotations, breadcrumbs and how often an incident happened are not in it.
public struct RingStamp: Sendable, Equatable {
  /// The states of slots and threads, and the counters of the header that tell of losses.
  let words: [UInt64]
  /// Whether nothing of a crash was being written.
  public let isSettled: Bool
}

extension RingReader {
  /// The stamp of now.
  func stamp() -> RingStamp {
    let header = unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)
    var words = [
      header[\.slot_overwritten], header[\.slot_lost], header[\.record_minimal], header[\.annotation_lost],
      header[\.incident_lost], UInt64(header[\.image_total]), UInt64(header[\.image_count]),
      UInt64(header[\.class_total]), UInt64(header[\.class_count]), UInt64(header[\.thread_count]),
      UInt64(header[\.thread_total]), UInt64(header[\.sweep]), UInt64(header[\.survived]),
    ]
    var isSettled = true
    // Tickets are drawn in their order, each before its slot says anything. Where none was, whoever wrote over the header
    // may have crashed.
    let tickets = Int(clamping: header[\.slot_head])
    words.append(header[\.slot_head])
    for index in 0..<(tickets == 0 ? RingLayout.slotLimit : min(tickets, RingLayout.slotLimit)) {
      let offset = RingLayout.slot(index)
      // The layout's assertions put slot `index` inside the ring, aligned.
      guard mayBeUsed(offset),
        let slot = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_slot.self)
      else { continue }
      let state = unsafe cs_ring_slot_state_acquire(slot)
      // Never used: not told when nobody asks which are.
      if state == 0 { continue }
      let kind = state & UInt64(CS_RING_STATE_MASK)
      if kind != UInt64(CS_RING_STATE_COMMITTED) && kind != UInt64(CS_RING_STATE_FREE) { isSettled = false }
      words += [UInt64(index), state]
    }
    let committed = UInt64(header[\.survived]) << 2 | UInt64(CS_RING_STATE_COMMITTED)
    for index in 0..<min(Int(clamping: header[\.thread_count]), RingLayout.threadLimit) {
      // The layout's assertions put thread `index` inside the ring, aligned.
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
