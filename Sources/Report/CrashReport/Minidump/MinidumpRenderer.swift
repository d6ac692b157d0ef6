/// Renders a report as a minidump, for debuggers and services that read this format.
///
/// The structures come from Microsoft's `minidumpapiset.h`, with Breakpad's additions for Linux (`minidump_format.h`).
/// A minidump cannot contain the diagnosis, function names or line numbers. The debugger or service that reads the file
/// symbolicates by the build ids of the modules.
public struct MinidumpRenderer: Sendable {
  /// A range of memory of the crashed process.
  public struct Memory: Sendable {
    /// The lowest address of the range.
    public var start: Address
    /// The contents of the range.
    public var bytes: [UInt8]

    /// Creates a range from its parts.
    public init(start: Address, bytes: [UInt8]) {
      self.start = start
      self.bytes = bytes
    }
  }

  /// Creates a renderer.
  public init() {}

  /// Returns the bytes of the file.
  ///
  /// The parameter `stacks` contains the copies of stacks that are available, by thread id.
  public func render(_ report: CrashReport, stacks: [Int: Memory] = [:]) -> [UInt8] {
    let command = report.process.commandLine.map { Array(CleanText.line($0).utf8) }
    var file = MinidumpFile(streamCount: command == nil ? 6 : 7, time: 0)
    let architecture = report.architecture
    file.addStream(.systemInfo) { Self.systemInfo(&$0, architecture, report.machine) }
    file.addStream(.miscInfo) { Self.miscInfo(&$0, report) }
    file.addStream(.modules) { Self.modules(&$0, report.images) }
    let threads = report.threads.filter { !$0.registers.isEmpty }
    let contexts = threads.map { file.add(Self.context($0.registers, architecture)) }
    var memory: [Int: MinidumpFile.Location] = [:]
    for thread in threads { memory[thread.tid] = stacks[thread.tid].map { file.add($0.bytes) } }
    file.addStream(.threads) { stream in
      stream.append(UInt32(threads.count))
      for (thread, context) in zip(threads, contexts) {
        stream.append(UInt32(truncatingIfNeeded: thread.tid))
        // These zeros are the suspend count, the priority class, the priority, and the address of the thread
        // environment block.
        stream.append(zeros: 4 + 4 + 4 + 8)
        stream.append(stacks[thread.tid]?.start.rawValue ?? 0)
        stream.append(memory[thread.tid] ?? MinidumpFile.Location(size: 0, offset: 0))
        stream.append(context)
      }
    }
    file.addStream(.memory) { stream in
      let pieces = threads.compactMap { thread in
        stacks[thread.tid].flatMap { piece in memory[thread.tid].map { (piece.start, $0) } }
      }
      stream.append(UInt32(pieces.count))
      for (start, location) in pieces {
        stream.append(start.rawValue)
        stream.append(location)
      }
    }
    file.addStream(.exception) { stream in
      let crashed = threads.firstIndex(where: \.crashed)
      stream.append(UInt32(truncatingIfNeeded: crashed.map { threads[$0].tid } ?? 0))
      stream.append(zeros: 4)
      // As in Breakpad's dumps, the exception code is the signal number, and the exception flags are its si_code.
      stream.append(UInt32(truncatingIfNeeded: report.signal.number))
      stream.append(UInt32(truncatingIfNeeded: report.signal.code))
      stream.append(zeros: 8)
      stream.append(report.signal.address?.rawValue ?? 0)
      // The structure has 15 exception parameters, which are unused.
      stream.append(zeros: 4 + 4 + 15 * 8)
      stream.append(crashed.map { contexts[$0] } ?? MinidumpFile.Location(size: 0, offset: 0))
    }
    // In Breakpad's dumps, this stream is the file /proc/PID/cmdline, in which a NUL byte ends each argument. In the
    // minidump of this renderer, the stream is one string with all arguments.
    if let command { file.addStream(.linuxCommandLine) { $0.append(command + [0]) } }
    return file.bytes
  }

  /// Returns the context of a thread; empty for an architecture that this version does not know.
  private static func context(_ registers: [String: Address], _ architecture: Architecture?) -> [UInt8] {
    switch architecture {
    case .x86_64: MinidumpContext_x86_64.bytes(registers)
    case .aarch64: MinidumpContext_aarch64.bytes(registers)
    case nil: []
    }
  }

  /// The processor architecture PROCESSOR_ARCHITECTURE_UNKNOWN.
  private static let unknownProcessor: UInt16 = 0xffff

  private static func systemInfo(
    _ stream: inout MinidumpFile, _ architecture: Architecture?, _ machine: CrashReport.Machine?
  ) {
    let processor =
      switch architecture {
      case .x86_64: MinidumpContext_x86_64.processor
      case .aarch64: MinidumpContext_aarch64.processor
      case nil: unknownProcessor
      }
    // The level, the revision and the product type are zero, because they are unknown.
    stream.append(processor)
    stream.append(zeros: 2 + 2)
    stream.append(UInt8(clamping: machine?.processors ?? 0))
    stream.append(zeros: 1 + 4 + 4 + 4)
    // The value is the platform MD_OS_LINUX.
    stream.append(UInt32(0x8201))
    // As in Breakpad's dumps, the string consists of the names from uname(2), beginning with the name of the kernel.
    let version = stream.reserveString(CleanText.line(machine?.kernel ?? "Linux"))
    stream.append(version)
    stream.append(zeros: 2 + 2 + 24)
  }

  private static func miscInfo(_ stream: inout MinidumpFile, _ report: CrashReport) {
    stream.append(UInt32(24))
    // The value is the flag MINIDUMP_MISC1_PROCESS_ID.
    stream.append(UInt32(1))
    stream.append(UInt32(truncatingIfNeeded: report.process.pid))
    stream.append(zeros: 12)
  }

  private static func modules(_ stream: inout MinidumpFile, _ images: [CrashReport.Image]) {
    // Skip invalid images, whose end precedes their start.
    let images = images.filter { $0.base < $0.end }
    stream.append(UInt32(images.count))
    for image in images {
      stream.append(image.base.rawValue)
      stream.append(UInt32(clamping: image.end.rawValue - image.base.rawValue))
      stream.append(zeros: 4 + 4)
      stream.append(stream.reserveString(image.path))
      stream.append(zeros: 52)
      // Breakpad's structure MDCVInfoELF consists of "BpEL" and the build id.
      stream.append(stream.reserve([0x4c, 0x45, 0x70, 0x42] + hexadecimal(image.buildID)))
      stream.append(zeros: 8 + 16)
    }
  }

  private static func hexadecimal(_ digits: String) -> [UInt8] {
    let values = digits.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
