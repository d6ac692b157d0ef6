internal import CShimRing

extension RingReader {
  /// Returns the complete records in the order of their slots, copied out of the ring.
  ///
  /// A record is pending while a handler of the program can still repair the fault. If the process has ended, a pending
  /// record that no later record follows is a crash, because this handler did not return.
  func records(hasEnded: Bool, losses: inout Losses) -> [RawRecord] {
    var records: [RawRecord] = []
    var pending: [RawRecord] = []
    for index in 0..<RingLayout.slotLimit {
      switch slot(index, hasEnded: hasEnded) {
      case .free: break
      case .torn: losses.add(.torn, 1)
      case .corrupt: losses.add(.corrupt, 1)
      case .committed(let record): records.append(record)
      case .pending(let record): pending.append(record)
      }
    }
    losses.add(.requests, (records + pending).count { $0.hasDamagedRequest })
    guard hasEnded, !pending.isEmpty else { return records }
    let survived = UInt64(unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)[\.survived])
    let last = records.map { $0.record[\.sequence] }.filter { $0 >= survived }.max()
    return records + pending.filter { pending in last.map { pending.record[\.sequence] > $0 } ?? true }
  }

  private enum Slot {
    case free
    case torn
    case corrupt
    case committed(RawRecord)
    case pending(RawRecord)
  }

  private func slot(_ index: Int, hasEnded: Bool) -> Slot {
    let offset = RingLayout.slot(index)
    // The static assertions on the ring layout ensure that slot `index` is inside the ring and aligned.
    guard mayBeUsed(offset),
      let slot = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_slot.self)
    else { return .free }
    for _ in 0..<readAttempts {
      let state = unsafe cs_ring_slot_state_acquire(slot)
      switch state & UInt64(CS_RING_STATE_MASK) {
      case UInt64(CS_RING_STATE_FREE): return .free
      case UInt64(CS_RING_STATE_WRITING): return .torn
      case UInt64(CS_RING_STATE_PENDING) where !hasEnded: return .free
      default: break
      }
      let crc: UInt32 = unsafe copyOut(of: shared, at: offset + RingLayout.crcInSlot)
      let commit_ns: UInt64 = unsafe copyOut(of: shared, at: offset + RingLayout.commitTimeInSlot)
      let record = unsafe PrivateCopy<cs_ring_record>(of: shared, at: offset + RingLayout.recordInSlot)
      let request = request(inSlotAt: offset)
      let stackBytes = min(record[\.stack_bytes], UInt32(CS_RING_STACK_LIMIT_BYTES))
      let stack = unsafe copyOut(of: shared, at: offset + RingLayout.stackInSlot, count: Int(stackBytes))
      guard unsafe cs_ring_slot_state_recheck(slot) == state else { continue }

      let raw = RawRecord(
        slot: index, generation: cs_ring_generation(state), commit_ns: commit_ns, record: record, stack: stack,
        request: request)
      guard raw.isWhole(crc: crc) else { return .corrupt }
      return state & UInt64(CS_RING_STATE_MASK) == UInt64(CS_RING_STATE_PENDING) ? .pending(raw) : .committed(raw)
    }
    return .torn
  }

  /// Returns a copy of the request in a slot, with the request's CRC; nil if the slot has no request.
  private func request(inSlotAt offset: Int) -> (copy: PrivateCopy<cs_ring_request>, crc: UInt32)? {
    guard version == .current else { return nil }
    let copy = unsafe PrivateCopy<cs_ring_request>(of: shared, at: offset + RingLayout.requestInSlot)
    let crc: UInt32 = unsafe copyOut(of: shared, at: offset + RingLayout.requestCRCInSlot)
    return copy[\.number] == 0 ? nil : (copy, crc)
  }
}
