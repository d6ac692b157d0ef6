extension CrashReport {
  /// A crash signal that other code took from the shield after its start.
  ///
  /// The shield saw the crash all the same where the other handler calls the one before it.
  public struct ReplacedHandler: Codable, Sendable, Equatable {
    /// Such as `SIGSEGV`.
    public var signal: String
    /// What stands in the place of the shield's handler.
    public var kind: Kind
    /// Where the other handler begins; nil for the other kinds.
    public var address: Address?
    /// The image that it lies in; nil when that is not known.
    public var image: String?
    /// Its name; empty when that is not known.
    public var function: String

    /// Makes one from its parts.
    public init(signal: String, kind: Kind, address: Address? = nil, image: String? = nil, function: String = "") {
      self.signal = signal
      self.kind = kind
      self.address = address
      self.image = image
      self.function = function
    }
  }
}

extension TextRenderer {
  func replacedHandlersSection(_ report: CrashReport) -> [String] {
    guard let handlers = report.replacedHandlers, !handlers.isEmpty else { return [] }
    return [style.warning("Signal handlers replaced after the start")]
      + handlers.flatMap { handler in
        CleanText.line("\(handler.signal): \(describe(handler))").wrapped(to: width - 2).map { "  " + $0 }
      }
  }

  private func describe(_ handler: CrashReport.ReplacedHandler) -> String {
    switch handler.kind {
    case .byDefault: return "back at its default action"
    case .ignored: return "ignored"
    default:
      let place = handler.image ?? handler.address.map { "\($0)" } ?? "unknown code"
      return "by \(place)" + (handler.function.isEmpty ? "" : ", \(handler.function)")
    }
  }
}
