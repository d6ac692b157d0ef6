internal import CShimRing

/// The state of a ring's records, without their contents.
///
/// If two stamps are equal, the same records and threads were complete at both times and at every time in between.
/// Annotations, breadcrumbs and counts of incidents are not included.
public struct RingStamp: Sendable, Equatable {
  /// The states of slots and threads, and the loss counters of the header.
  let words: [UInt64]
  /// Whether no part of a crash was being written.
  public let isSettled: Bool
}

extension RingReader {
  /// The current stamp.
  func stamp() -> RingStamp {
    let header = unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)
    var words = [
      header[\.slot_overwritten], header[\.slot_lost], header[\.record_minimal], header[\.annotation_lost],
      header[\.incident_lost], UInt64(header[\.image_total]), UInt64(header[\.image_count]),
      UInt64(header[\.class_total]), UInt64(header[\.class_count]), UInt64(header[\.thread_count]),
      UInt64(header[\.thread_total]), UInt64(header[\.sweep]), UInt64(header[\.survived]),
    ]
    var isSettled = true
    // Tickets are numbered in order, and each is taken before its slot has a state. If there is no ticket, all slots
    // are read, because the program may have overwritten the header before it crashed.
    let tickets = Int(clamping: header[\.slot_head])
    words.append(header[\.slot_head])
    for index in 0..<(tickets == 0 ? RingLayout.slotLimit : min(tickets, RingLayout.slotLimit)) {
      let offset = RingLayout.slot(index)
      // The layout's assertions put slot `index` inside the ring, aligned.
      guard mayBeUsed(offset),
        let slot = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_slot.self)
      else { continue }
      let state = unsafe cs_ring_slot_state_acquire(slot)
      // Skips slots that were never used, because `used` skips them too.
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
