/// The request of `crash-analyse unwind`.
///
/// It has the threads to unwind, and the images that these threads may refer to. A request consists of the bytes
/// `CSUNWRQ1`, the numbers of threads and of images (8 bytes each), the threads and the images. Copies of stacks and
/// unwind files follow, at the offsets that the threads and images contain. All numbers are little-endian.
public struct UnwindRequest: Sendable, Equatable {
  /// The maximum number of threads in one request.
  public static let threadLimit = 8
  /// The maximum number of images in one request, which is also the maximum number in a ring.
  public static let imageLimit = 512
  /// The maximum size of a request, in bytes.
  public static let limitBytes = 256 << 20
  /// The number of registers of a thread.
  ///
  /// They are stored by DWARF number.
  public static let registerCount = 17

  /// A range of bytes in a request.
  public struct Place: Sendable, Equatable {
    /// The offset from the first byte of the request.
    public var offset: UInt64
    /// The number of bytes.
    public var size: UInt64

    /// Creates a place from its parts.
    public init(offset: UInt64, size: UInt64) {
      self.offset = offset
      self.size = size
    }
  }

  /// A thread to unwind.
  public struct Thread: Sendable, Equatable {
    /// The values of the registers, by DWARF number.
    public var registers: [UInt64]
    /// Whether the processor could not fetch the instruction at the pc.
    public var isBadFetch: Bool
    /// Whether the pc is after the instruction that caused the fault.
    public var isPastFault: Bool
    /// The address of the first byte that the copy of the stack contains.
    public var stackStart: UInt64
    /// The range of the stack copy in the request.
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

  /// An image that may be needed to unwind.
  public struct Image: Sendable, Equatable {
    /// The address of the first mapped byte.
    public var start: UInt64
    /// The end address of the mapped bytes, exclusive.
    public var end: UInt64
    /// The difference between an address in memory and the link address: link address = pc - bias.
    public var bias: UInt64
    /// The range of the unwind file in the request; empty if there is none.
    public var tables: Place

    /// Creates an image from its parts.
    public init(start: UInt64, end: UInt64, bias: UInt64, tables: Place) {
      self.start = start
      self.end = end
      self.bias = bias
      self.tables = tables
    }
  }

  /// The threads to unwind.
  ///
  /// The answer has their stacks in the same order.
  public var threads: [Thread]
  /// The images that may be needed to unwind.
  public var images: [Image]

  /// Creates a request from its parts.
  public init(threads: [Thread], images: [Image]) {
    self.threads = threads
    self.images = images
  }

  private static let magic = Array("CSUNWRQ1".utf8)
  private static let threadWords = registerCount + 4
  private static let imageWords = 5

  /// Returns the size of the header, that is, the number of bytes before the first stack.
  public static func headerBytes(threads: Int, images: Int) -> Int {
    (3 + threads * threadWords + images * imageWords) * 8
  }

  /// The maximum size of a request's header.
  public static let headerLimitBytes = headerBytes(threads: threadLimit, images: imageLimit)

  /// The header as bytes.
  public var encoded: [UInt8] {
    var bytes = Self.magic
    bytes.append(word: UInt64(threads.count))
    bytes.append(word: UInt64(images.count))
    for thread in threads {
      for index in 0..<Self.registerCount {
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

  /// Parses the header of a request of `size` bytes.
  ///
  /// Returns nil if it is invalid or refers to bytes beyond the request.
  public init?(_ bytes: [UInt8], size: UInt64) {
    guard bytes.starts(with: Self.magic), size <= UInt64(Self.limitBytes) else { return nil }
    var words = WordReader(bytes, from: Self.magic.count)
    guard let threadCount = words.next(), threadCount <= UInt64(Self.threadLimit),
      let imageCount = words.next(), imageCount <= UInt64(Self.imageLimit)
    else { return nil }
    self.init(threads: [], images: [])
    for _ in 0..<threadCount {
      guard let thread = Thread(&words), thread.stack.isWithin(size) else { return nil }
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
  init?(_ words: inout WordReader) {
    var registers: [UInt64] = []
    for _ in 0..<UnwindRequest.registerCount {
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
