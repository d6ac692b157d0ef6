extension CrashReport {
  /// The object whose use ended the process, as a guard page or the quarantine recorded it.
  ///
  /// From a guard page it is the proof of the diagnosis. The quarantine had released its memory, so it is the last
  /// known object at that address.
  public struct GuardedObject: Codable, Sendable, Equatable {
    /// The full name of its class; empty for memory that is no object of a protected class.
    public var className: String
    /// Its address.
    public var address: Address
    /// Its size.
    public var bytes: Int
    /// The time between the free and the crash, in nanoseconds; nil when it had not been freed.
    public var age_ns: Int?
    /// The thread that freed it; nil when it had not been freed.
    public var releaseThread: Int?
    /// The stack that freed it, innermost first.
    public var release: [Frame]
    /// The thread that allocated it.
    public var allocationThread: Int?
    /// The stack that allocated it, innermost first.
    public var allocation: [Frame]

    /// Makes an object from its parts.
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
  /// The stacks that freed and allocated the object.
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
    let thread = object.allocationThread.map { "thread \($0)" } ?? "a thread that is not known"
    return lines + ["", "  allocated by \(thread)"] + stackLines(object.allocation, in: report)
  }

  /// The in-app frames; all where there are none, and in the verbose form.
  private func stackLines(_ frames: [CrashReport.Frame], in report: CrashReport) -> [String] {
    let own = frames.filter(\.isOwn)
    let shown = verbose || own.isEmpty ? frames : own
    if shown.isEmpty { return ["    the stack is not known"] }
    return shown.flatMap { frame in
      let text = "\(FrameText.name(of: frame)) at \(FrameText.place(of: frame, in: report))"
      return text.wrapped(to: width - 4).map { "    " + $0 }
    }
  }
}
