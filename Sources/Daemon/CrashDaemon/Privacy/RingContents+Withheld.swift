import CrashRing
import Glibc

extension RingContents {
  /// Removes the program's memory from the contents.
  ///
  /// `cs_ring_slot_withhold` does the same in the ring stored beside the report.
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
  /// Whether the processor could not fetch the instruction at pc.
  ///
  /// Then the bytes there can only be data.
  fileprivate var isBadFetch: Bool {
    guard [SIGSEGV, SIGBUS].contains(signal) else { return false }
    return frames.first.map { $0.pc == faultAddress || $0.pc == address } ?? true
  }
}
