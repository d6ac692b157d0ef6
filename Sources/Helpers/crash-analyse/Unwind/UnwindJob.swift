import CConfine
import CLibunwind
import CrashSymbolBuilder
import CrashSymbols
import Glibc

/// Implements `crash-analyse unwind`: reads a request on stdin, and writes the answer to stdout.
///
/// If the job fails, it writes one line to stderr.
enum UnwindJob: Sendable {
  /// The limit of the CPU time, which a forged request can reach.
  ///
  /// A genuine request takes milliseconds.
  private static let processorTime_s: UInt = 2

  /// Sets a limit of the resource that is lower than the limit of the sandbox.
  private static func limit(_ resource: __rlimit_resource, to value: UInt) -> Bool {
    var limit = rlimit(rlim_cur: value, rlim_max: value)
    // Invariant: setrlimit reads the structure only during the call.
    return unsafe setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
  }

  /// Confines the process, then unwinds the threads.
  static func run() -> BuildCacheJob.Status {
    cs_snapshot_prepare()
    guard limit(RLIMIT_CPU, to: processorTime_s), limit(RLIMIT_FSIZE, to: UInt(UnwindAnswer.limitBytes)),
      cs_confine() == 0
    else {
      return BuildCacheJob.fail(.inputOutput, "cannot confine itself: errno \(errno)")
    }
    guard let input = RequestMemory(descriptor: STDIN_FILENO) else {
      return BuildCacheJob.fail(.badImage, "the request cannot be read")
    }
    guard let request = UnwindRequest(input.header, size: input.size) else {
      return BuildCacheJob.fail(.badImage, "not a request")
    }
    let images = ImageList(request.images, in: input)
    let stacks = request.threads.map { $0.unwound(images, input, request.architecture) }
    let written = Output.write(UnwindAnswer(stacks: stacks).encoded, to: STDOUT_FILENO)
    return written == 0 ? .good : BuildCacheJob.fail(.inputOutput, "cannot write the answer: errno \(written)")
  }
}
