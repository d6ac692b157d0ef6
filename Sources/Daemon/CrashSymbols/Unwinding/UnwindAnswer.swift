/// The output of `crash-analyse unwind`.
///
/// The output contains one stack for each thread of the request. The output consists of the bytes `CSUNWAN1`, the
/// number of stacks (8 bytes), and the stacks. Each stack consists of the reason why it ends, the number of frames, and
/// three words for each frame. All numbers are little-endian.
public struct UnwindAnswer: Sendable, Equatable {
  /// The maximum number of frames of one stack.
  public static let frameLimit = 512
  /// The maximum size of an answer, in bytes.
  public static let limitBytes = (2 + UnwindRequest.threadLimit * (2 + frameLimit * 3)) * 8

  /// The method with which the unwinder found a frame.
  public enum Found: UInt64, Sendable {
    /// The frame is the innermost frame; its pc comes from the thread's registers.
    case context = 1
    /// The frame was found with the unwind tables.
    case cfi = 2
    /// The frame was found with the saved frame pointer.
    case framePointer = 3
    /// The frame was found with the return address that a call to an invalid address pushed on the stack.
    case scan = 4
  }

  /// The reason why the unwinder stopped.
  public enum Stop: UInt64, Sendable {
    /// The unwind tables mark the last frame as the outermost frame.
    case end = 0
    /// The maximum number of frames was reached.
    case limit = 1
    /// A word of the stack or an unwind table is missing, or the tables lead to an invalid caller.
    case noCaller = 2
    /// The stack pointer did not increase from one frame to the next.
    case loop = 3
  }

  /// One frame of a stack.
  public struct Frame: Sendable, Equatable {
    /// The program counter of the frame.
    public var pc: UInt64
    /// The start address of the function; nil if it is unknown.
    public var functionStart: UInt64?
    /// The method with which the unwinder found the frame.
    public var found: Found

    /// Creates a frame from its parts.
    public init(pc: UInt64, functionStart: UInt64?, found: Found) {
      self.pc = pc
      self.functionStart = functionStart
      self.found = found
    }
  }

  /// The stack of a thread.
  public struct Stack: Sendable, Equatable {
    /// The frames, innermost first.
    public var frames: [Frame]
    /// The reason why the unwinder stopped after the last frame.
    public var stop: Stop

    /// Creates a stack from its parts.
    public init(frames: [Frame], stop: Stop) {
      self.frames = frames
      self.stop = stop
    }
  }

  private static let magic = Array("CSUNWAN1".utf8)

  /// The stacks, in the same order as the threads in the request.
  public var stacks: [Stack]

  /// Creates an answer from its stacks.
  public init(stacks: [Stack]) { self.stacks = stacks }

  /// The answer as bytes.
  public var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(word: UInt64(stacks.count))
    for stack in stacks {
      bytes.append(word: stack.stop.rawValue)
      bytes.append(word: UInt64(stack.frames.count))
      for frame in stack.frames {
        for word in [frame.pc, frame.functionStart ?? 0, frame.found.rawValue] { bytes.append(word: word) }
      }
    }
    return bytes
  }

  /// Parses the answer to a request that has `threads` threads.
  ///
  /// Returns nil if the answer is invalid.
  public init?(_ bytes: [UInt8], threads: Int) {
    guard bytes.starts(with: Self.magic) else { return nil }
    var words = WordReader(bytes, from: Self.magic.count)
    guard let count = words.next(), count == UInt64(threads) else { return nil }
    stacks = []
    for _ in 0..<count {
      guard let stop = words.next().flatMap(Stop.init), let frames = words.next(), frames <= UInt64(Self.frameLimit)
      else { return nil }
      var stack = Stack(frames: [], stop: stop)
      for _ in 0..<frames {
        guard let pc = words.next(), let start = words.next(), let found = words.next().flatMap(Found.init) else {
          return nil
        }
        stack.frames.append(Frame(pc: pc, functionStart: start == 0 ? nil : start, found: found))
      }
      stacks.append(stack)
    }
  }
}
