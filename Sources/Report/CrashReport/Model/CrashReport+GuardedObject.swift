extension CrashReport {
  /// The object whose access caused the crash, as a guard page or the quarantine recorded it.
  ///
  /// A record from a guard page proves the diagnosis. A record from the quarantine only describes the last known object
  /// at the address, because the quarantine had already released the memory.
  public struct GuardedObject: Codable, Sendable, Equatable {
    /// The full name of the class; empty if the memory is not an object of a protected class.
    public var className: String
    /// The address of the object.
    public var address: Address
    /// The size of the object in bytes.
    public var bytes: Int
    /// The time from the free to the crash, in nanoseconds.
    ///
    /// The value is nil if the memory was not freed.
    public var age_ns: Int?
    /// The thread that freed the memory.
    ///
    /// The value is nil if the memory was not freed.
    public var releaseThread: Int?
    /// The stack of the thread that freed the memory, innermost first.
    public var release: [Frame]
    /// The thread that allocated the memory.
    public var allocationThread: Int?
    /// The stack of the thread that allocated the memory, innermost first.
    public var allocation: [Frame]

    /// Creates an object from its parts.
    public init(
      className: String, address: Address, bytes: Int, age_ns: Int? = nil, releaseThread: Int? = nil,
      release: [Frame] = [], allocationThread: Int? = nil, allocation: [Frame] = []
    ) {
      self.className = className
      self.address = address
      self.bytes = bytes
      self.age_ns = age_ns
      self.releaseThread = releaseThread
      self.release = release
      self.allocationThread = allocationThread
      self.allocation = allocation
    }
  }
}

extension TextRenderer {
  /// Returns the stack that freed the object and the stack that allocated the object, as text.
  func guardedObjectSection(_ report: CrashReport) -> [String] {
    guard let object = report.guardedObject else { return [] }
    let what = object.className.isEmpty ? "a block" : object.className
    let title = "\(what), \(object.bytes) bytes at \(object.address)"
    var lines = CleanText.line(title).wrapped(to: width).map(style.strong)
    if let thread = object.releaseThread {
      lines += ["", "  freed by thread \(thread)"] + stackLines(object.release, in: report)
    } else {
      lines += ["", "  not freed"]
    }
    guard object.allocationThread != nil || !object.allocation.isEmpty else { return lines }
    let thread = object.allocationThread.map { "thread \($0)" } ?? "an unknown thread"
    return lines + ["", "  allocated by \(thread)"] + stackLines(object.allocation, in: report)
  }

  /// Returns the lines for the in-app frames of a stack.
  ///
  /// If no frame is in-app, or if the form is verbose, returns the lines for all frames.
  private func stackLines(_ frames: [CrashReport.Frame], in report: CrashReport) -> [String] {
    let own = frames.filter(\.isOwn)
    let shown = verbose || own.isEmpty ? frames : own
    if shown.isEmpty { return ["    the stack is unknown"] }
    return shown.flatMap { frame in
      let text = "\(FrameText.name(of: frame)) at \(FrameText.place(of: frame, in: report))"
      return text.wrapped(to: width - 4).map { "    " + $0 }
    }
  }
}
