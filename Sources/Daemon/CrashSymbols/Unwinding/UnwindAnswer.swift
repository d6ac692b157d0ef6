/// The answer of `crash-analyse unwind`: a stack for each requested thread.
///
/// Format: the text `CSUNWAN1`, the number of stacks (8 bytes), then for each the reason for its end, the number of
/// frames, and three words per frame. Numbers are little-endian.
public struct UnwindAnswer: Sendable, Equatable {
  /// The limit of frames in one stack.
  public static let frameLimit = 512
  /// The limit of an answer.
  public static let limitBytes = (2 + UnwindRequest.threadLimit * (2 + frameLimit * 3)) * 8

  /// How a frame was found.
  public enum Found: UInt64, Sendable {
    /// The registers' pc.
    case context = 1
    /// The unwind tables.
    case cfi = 2
    /// The saved frame pointer.
    case framePointer = 3
    /// The return address that a call through a bad pointer has pushed.
    case scan = 4
  }

  /// Why unwinding ended.
  public enum Stop: UInt64, Sendable {
    /// The tables mark the outermost frame.
    case end = 0
    /// The limit of frames was reached.
    case limit = 1
    /// A word or a table is missing, or they lead to an invalid caller.
    case noCaller = 2
    /// The stack pointer did not grow.
    case loop = 3
  }

  /// One frame.
  public struct Frame: Sendable, Equatable {
    /// The pc.
    public var pc: UInt64
    /// The start of its function; nil when unknown.
    public var functionStart: UInt64?
    /// How it was found.
    public var found: Found

    /// Makes a frame from its parts.
    public init(pc: UInt64, functionStart: UInt64?, found: Found) {
      self.pc = pc
      self.functionStart = functionStart
      self.found = found
    }
  }

  /// A thread's stack.
  public struct Stack: Sendable, Equatable {
    /// Innermost first.
    public var frames: [Frame]
    /// Why the stack ends.
    public var stop: Stop

    /// Makes a stack from its parts.
    public init(frames: [Frame], stop: Stop) {
      self.frames = frames
      self.stop = stop
    }
  }

  private static let magic = Array("CSUNWAN1".utf8)

  /// In the order of the request's threads.
  public var stacks: [Stack]

  /// Makes an answer from its stacks.
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

  /// Reads an answer to a request of `threads` threads; nil when it is invalid.
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
