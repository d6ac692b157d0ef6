/// The input of `crash-analyse unwind`.
///
/// The input contains the threads to unwind, and the images into which the stacks of these threads point. The input
/// begins with the bytes `CSUNWRQ2`, the number of threads, the number of images and the number of the architecture (8
/// bytes each), the threads, and the images. The copies of the stacks and the files with unwind tables follow, at the
/// offsets that the threads and images contain. All numbers are little-endian.
public struct UnwindRequest: Sendable, Equatable {
  /// The maximum number of threads in one request.
  public static let threadLimit = 8
  /// The maximum number of images in one request.
  ///
  /// A ring has at most the same number of images.
  public static let imageLimit = 512
  /// The maximum size of a request, in bytes.
  public static let limitBytes = 256 << 20

  /// The architecture of the threads.
  public enum Architecture: UInt64, Sendable, CaseIterable {
    case x86_64 = 1
    case aarch64 = 2

    /// The number of registers that are stored for a thread.
    ///
    /// The registers are stored in the order of their DWARF numbers.
    public var registerCount: Int {
      switch self {
      case .x86_64: 17
      case .aarch64: 33
      }
    }
  }

  /// A range of bytes in a request.
  public struct Place: Sendable, Equatable {
    /// The offset of the range from the first byte of the request.
    public var offset: UInt64
    /// The number of bytes in the range.
    public var size: UInt64

    /// Creates a place from its parts.
    public init(offset: UInt64, size: UInt64) {
      self.offset = offset
      self.size = size
    }
  }

  /// A thread to unwind.
  public struct Thread: Sendable, Equatable {
    /// The values of the registers, indexed by DWARF number.
    public var registers: [UInt64]
    /// Whether the fault occurred because the processor could not fetch the instruction at the pc.
    public var isBadFetch: Bool
    /// Whether the pc points after the instruction that caused the fault, and not to this instruction.
    public var isPastFault: Bool
    /// The address in the process of the first byte in the copy of the stack.
    public var stackStart: UInt64
    /// The range in the request that contains the copy of the stack.
    public var stack: Place

    /// Creates a thread from its parts.
    public init(registers: [UInt64], isBadFetch: Bool, isPastFault: Bool, stackStart: UInt64, stack: Place) {
      self.registers = registers
      self.isBadFetch = isBadFetch
      self.isPastFault = isPastFault
      self.stackStart = stackStart
      self.stack = stack
    }
  }

  /// An image whose unwind tables the unwinder possibly needs.
  public struct Image: Sendable, Equatable {
    /// The address of the first mapped byte of the image.
    public var start: UInt64
    /// The address after the last mapped byte of the image.
    public var end: UInt64
    /// The difference between an address in memory and its link address: link address = pc − bias.
    public var bias: UInt64
    /// The range in the request that contains the image's unwind tables; empty if there are none.
    public var tables: Place

    /// Creates an image from its parts.
    public init(start: UInt64, end: UInt64, bias: UInt64, tables: Place) {
      self.start = start
      self.end = end
      self.bias = bias
      self.tables = tables
    }
  }

  /// The architecture of the process.
  public var architecture: Architecture
  /// The threads to unwind.
  ///
  /// The answer contains the stacks of the threads in the same order.
  public var threads: [Thread]
  /// The images whose unwind tables the unwinder possibly needs.
  public var images: [Image]

  /// Creates a request from its parts.
  public init(architecture: Architecture = .x86_64, threads: [Thread], images: [Image]) {
    self.architecture = architecture
    self.threads = threads
    self.images = images
  }

  private static let magic = Array("CSUNWRQ2".utf8)
  private static let imageWords = 5

  /// Returns the size of a request's header: the number of bytes before the first copy of a stack.
  public static func headerBytes(threads: Int, images: Int, architecture: Architecture = .x86_64) -> Int {
    (4 + threads * (architecture.registerCount + 4) + images * imageWords) * 8
  }

  /// The maximum size of a request's header.
  public static let headerLimitBytes = headerBytes(
    threads: threadLimit, images: imageLimit, architecture: .aarch64)

  /// The header as bytes.
  public var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(word: UInt64(threads.count))
    bytes.append(word: UInt64(images.count))
    bytes.append(word: architecture.rawValue)
    for thread in threads {
      for index in 0..<architecture.registerCount {
        bytes.append(word: thread.registers.indices.contains(index) ? thread.registers[index] : 0)
      }
      bytes.append(word: (thread.isBadFetch ? 1 : 0) | (thread.isPastFault ? 2 : 0))
      for word in [thread.stackStart, thread.stack.offset, thread.stack.size] { bytes.append(word: word) }
    }
    for image in images {
      for word in [image.start, image.end, image.bias, image.tables.offset, image.tables.size] {
        bytes.append(word: word)
      }
    }
    return bytes
  }

  /// Parses the header of a request that has `size` bytes in total.
  ///
  /// Returns nil if the header is invalid or refers to bytes outside of the request.
  public init?(_ bytes: [UInt8], size: UInt64) {
    guard bytes.starts(with: Self.magic), size <= UInt64(Self.limitBytes) else { return nil }
    var words = WordReader(bytes, from: Self.magic.count)
    guard let threadCount = words.next(), threadCount <= UInt64(Self.threadLimit),
      let imageCount = words.next(), imageCount <= UInt64(Self.imageLimit),
      let architecture = words.next().flatMap(Architecture.init)
    else { return nil }
    self.init(architecture: architecture, threads: [], images: [])
    for _ in 0..<threadCount {
      guard let thread = Thread(&words, architecture), thread.stack.isWithin(size) else { return nil }
      threads.append(thread)
    }
    for _ in 0..<imageCount {
      guard let image = Image(&words), image.tables.isWithin(size) else { return nil }
      images.append(image)
    }
  }
}

extension UnwindRequest.Place {
  init?(_ words: inout WordReader) {
    guard let offset = words.next(), let size = words.next() else { return nil }
    self.init(offset: offset, size: size)
  }

  fileprivate func isWithin(_ whole: UInt64) -> Bool { offset <= whole && size <= whole - offset }
}

extension UnwindRequest.Thread {
  init?(_ words: inout WordReader, _ architecture: UnwindRequest.Architecture) {
    var registers: [UInt64] = []
    for _ in 0..<architecture.registerCount {
      guard let word = words.next() else { return nil }
      registers.append(word)
    }
    guard let flags = words.next(), let start = words.next(), let stack = UnwindRequest.Place(&words) else {
      return nil
    }
    self.init(
      registers: registers, isBadFetch: flags & 1 != 0, isPastFault: flags & 2 != 0, stackStart: start, stack: stack)
  }
}

extension UnwindRequest.Image {
  init?(_ words: inout WordReader) {
    guard let start = words.next(), let end = words.next(), let bias = words.next(),
      let tables = UnwindRequest.Place(&words)
    else { return nil }
    self.init(start: start, end: end, bias: bias, tables: tables)
  }
}
