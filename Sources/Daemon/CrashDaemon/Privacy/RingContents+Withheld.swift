import CrashRing
import Glibc

extension RingContents {
  /// Removes all copies of the process's memory from the contents of a ring.
  ///
  /// `cs_ring_slot_withhold` removes the same data from the raw record (the copy of the ring) that is stored with the
  /// report.
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
  /// Whether the crash is a failed instruction fetch: pc does not point to executable memory.
  ///
  /// If so, the bytes at pc are not code and can only be data of the process.
  fileprivate var isBadFetch: Bool {
    guard [SIGSEGV, SIGBUS].contains(signal) else { return false }
    return frames.first.map { $0.pc == faultAddress || $0.pc == address } ?? true
  }
}
