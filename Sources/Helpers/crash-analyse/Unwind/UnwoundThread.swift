import CLibunwind
import CrashSymbols

extension UnwindRequest.Thread {
  /// Returns the stack of this thread, unwound by libunwind, or by libdw for an architecture other than this machine's.
  ///
  /// The parameter `input` contains the copy of the thread's stack.
  func unwound(
    _ images: ImageList, _ input: RequestMemory, _ architecture: UnwindRequest.Architecture
  ) -> UnwindAnswer.Stack {
    var snapshot = unsafe cs_snapshot()
    unsafe snapshot.architecture = architecture.rawValue
    // Invariant: the tuple has at least as many words as an architecture has registers.
    unsafe withUnsafeMutableBytes(of: &snapshot.registers) {
      unsafe $0.copyBytes(from: registers.flatMap(Self.bytes))
    }
    unsafe snapshot.stack = input.piece(stack, at: stackStart)
    unsafe snapshot.is_bad_fetch = isBadFetch ? 1 : 0
    unsafe snapshot.is_past_fault = isPastFault ? 1 : 0
    var frames = [cs_snapshot_frame](repeating: cs_snapshot_frame(), count: UnwindAnswer.frameLimit)
    var count = 0
    // Invariant: the images and the frames outlive the call, which writes at most as many frames as the buffer has.
    let stop = unsafe images.images.withUnsafeBufferPointer { buffer in
      unsafe snapshot.images = buffer.baseAddress
      unsafe snapshot.image_count = buffer.count
      return unsafe cs_snapshot_unwind(&snapshot, &frames, frames.count, &count)
    }
    return UnwindAnswer.Stack(
      frames: frames.prefix(count).map { frame in
        UnwindAnswer.Frame(
          pc: frame.pc, functionStart: frame.function_start == 0 ? nil : frame.function_start,
          found: UnwindAnswer.Found(rawValue: frame.found) ?? .scan)
      }, stop: UnwindAnswer.Stop(rawValue: UInt64(stop.rawValue)) ?? .noCaller)
  }

  private static func bytes(_ word: UInt64) -> [UInt8] {
    stride(from: 0, to: 64, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
  }
}
