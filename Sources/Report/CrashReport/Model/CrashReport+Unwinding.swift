extension CrashReport {
  /// The unwind cross-check of a crashed thread.
  ///
  /// The handler unwinds the stack while the thread dies, and `crash-analyse` unwinds it again with libunwind, from the
  /// registers and the copy of the stack.
  public struct Unwinding: Codable, Sendable, Equatable {
    /// The thread.
    public var tid: Int
    /// How far the two stacks agree.
    public var agreement: Agreement
    /// Whose frames the report shows from the first difference on; the earlier ones are equal.
    public var shown: Source
    /// The number of equal frames, from the innermost.
    public var common: Int
    /// The number of frames that the cross-check found.
    public var found: Int
    /// The hidden frames from the first difference on; at most 32.
    public var others: [OtherFrame]

    /// Makes a comparison from its parts.
    public init(
      tid: Int, agreement: Agreement, shown: Source, common: Int, found: Int, others: [OtherFrame] = []
    ) {
      self.tid = tid
      self.agreement = agreement
      self.shown = shown
      self.common = common
      self.found = found
      self.others = others
    }
  }
}

extension CrashReport.Unwinding {
  /// How two stacks compare.
  public struct Agreement: RawRepresentable, Codable, Sendable, Hashable {
    /// The word in JSON.
    public var rawValue: String

    /// Makes an agreement from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Equal frame by frame.
    public static let equal = Agreement(rawValue: "equal")
    /// Equal as far as the second one goes; the copy of the stack has a limit.
    public static let shorter = Agreement(rawValue: "shorter")
    /// Equal as far as the handler's goes.
    public static let longer = Agreement(rawValue: "longer")
    /// Two callers for one frame.
    public static let different = Agreement(rawValue: "different")
  }

  /// The unwinder.
  public struct Source: RawRepresentable, Codable, Sendable, Hashable {
    /// The word in JSON.
    public var rawValue: String

    /// Makes a source from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The handler, in the dying process.
    public static let handler = Source(rawValue: "handler")
    /// libunwind, outside of it.
    public static let snapshot = Source(rawValue: "snapshot")
  }

  /// A frame that the report does not show in the thread.
  public struct OtherFrame: Codable, Sendable, Equatable {
    /// The pc.
    public var address: Address
    /// How it was found.
    public var trust: CrashReport.Trust

    /// Makes a frame from its parts.
    public init(address: Address, trust: CrashReport.Trust) {
      self.address = address
      self.trust = trust
    }
  }
}

extension TextRenderer {
  /// A paragraph for each thread in the verbose form, and always for a doubtful stack.
  func unwindingSection(_ report: CrashReport) -> [String] {
    let shown = (report.unwinding ?? []).filter { verbose || $0.agreement == .different }
    guard !shown.isEmpty else { return [] }
    let isDoubtful = shown.contains { $0.agreement == .different }
    let title = "Unwound again outside of the process"
    return [isDoubtful ? style.warning(title) : style.strong(title)] + shown.flatMap(lines)
  }

  private func lines(_ unwinding: CrashReport.Unwinding) -> [String] {
    let name = "Thread \(unwinding.tid)"
    let same = counted(unwinding.common, "frame")
    let text =
      switch unwinding.agreement {
      case .equal: "\(name): the same \(same)."
      case .shorter: "\(name): the same \(same), then the copy of the stack leads no further."
      case .longer: "\(name): the same \(same), then \(unwinding.found - unwinding.common) more; \(choice(unwinding))."
      default: "\(name): the same \(same), then another caller; \(choice(unwinding))."
      }
    return text.wrapped(to: width - 2).map { "  " + $0 }
      + unwinding.others.map { "    \($0.address)  \(style.faint(CleanText.line($0.trust.rawValue)))" }
  }

  private func choice(_ unwinding: CrashReport.Unwinding) -> String {
    let others = unwinding.others.isEmpty ? "" : ", and these are the others"
    return (unwinding.shown == .snapshot ? "the new ones are shown above" : "the handler's are shown above") + others
  }
}
