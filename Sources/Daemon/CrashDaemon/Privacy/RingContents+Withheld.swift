import CrashRing
import Glibc

extension RingContents {
  /// Removes the program's memory from the contents, as `cs_ring_slot_withhold` does in the ring beside the report.
  mutating func withholdMemory() {
    if memory.mode != .none { memory.mode = .withheld }
    (memory.heapKey, memory.heapStart) = (nil, nil)
    for index in records.indices {
      (records[index].stack, records[index].memory, records[index].heapEnd) = ([], [], 0)
      if records[index].isBadFetch { records[index].instruction = [] }
    }
  }
}

extension CrashRecord {
  /// The processor could not fetch the instruction at pc, so only data can be there.
  fileprivate var isBadFetch: Bool {
    guard [SIGSEGV, SIGBUS].contains(signal) else { return false }
    return frames.first.map { $0.pc == faultAddress || $0.pc == address } ?? true
  }
}
