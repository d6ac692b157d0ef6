import CLibdw
import CLibunwind
public import CrashSymbolBuilder
import CrashUnwinding
import Glibc

/// `crash-analyse unwind`: a request on stdin, its answer on stdout, one line on stderr when there is none.
public enum UnwindJob: Sendable {
  /// A forged table can keep libunwind busy for ever; a real request takes milliseconds.
  private static let processorTime_s: UInt = 2

  /// Confines the process, then does the job.
  public static func run() -> BuildCacheJob.Status {
    cs_snapshot_prepare()
    var limit = rlimit(rlim_cur: processorTime_s, rlim_max: processorTime_s)
    // setrlimit reads one struct rlimit.
    guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit) == 0, cs_confine() == 0 else {
      return BuildCacheJob.fail(.inputOutput, "cannot confine itself: errno \(errno)")
    }
    guard let input = RequestMemory(descriptor: STDIN_FILENO) else {
      return BuildCacheJob.fail(.badImage, "the request cannot be read")
    }
    guard let request = UnwindRequest(input.header, size: input.size) else {
      return BuildCacheJob.fail(.badImage, "not a request")
    }
    let images = ImageList(request.images, in: input)
    let stacks = request.threads.map { unwind($0, images, input) }
    let written = Output.write(UnwindAnswer(stacks: stacks).encoded, to: STDOUT_FILENO)
    return written == 0 ? .good : BuildCacheJob.fail(.inputOutput, "cannot write the answer: errno \(written)")
  }

  private static func unwind(
    _ thread: UnwindRequest.Thread, _ images: ImageList, _ input: RequestMemory
  ) -> UnwindAnswer.Stack {
    var snapshot = unsafe cs_snapshot()
    // The tuple has as many words as there are registers.
    unsafe withUnsafeMutableBytes(of: &snapshot.registers) {
      unsafe $0.copyBytes(from: thread.registers.flatMap(bytes))
    }
    unsafe snapshot.stack = input.piece(thread.stack, at: thread.stackStart)
    unsafe snapshot.is_bad_fetch = thread.isBadFetch ? 1 : 0
    unsafe snapshot.is_past_fault = thread.isPastFault ? 1 : 0
    var frames = [cs_snapshot_frame](repeating: cs_snapshot_frame(), count: UnwindAnswer.frameLimit)
    var count = 0
    // The images and the frames live during the call, which writes at most as many frames as there are.
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
