extension CrashReport {
  /// One of the program's handlers that caught a crash's signal and re-raised it, as faulthandler and glog do.
  ///
  /// The report is about the original fault.
  public struct RaisedAgain: Codable, Sendable, Equatable {
    /// The signal that it raised.
    public var signal: Signal
    /// The handler; nil when it has no name.
    public var function: String?
    /// Its source file; nil when unknown.
    public var file: String?
    /// The line that raised the signal; nil when unknown.
    public var line: Int?

    /// Makes one from its parts.
    public init(signal: Signal, function: String? = nil, file: String? = nil, line: Int? = nil) {
      self.signal = signal
      self.function = function
      self.file = file
      self.line = line
    }

    /// Such as `SIGSEGV by on (chain.c:8)`.
    var text: String {
      let name = file?.split(separator: "/").last.map(String.init)
      let place = [name, line.map(String.init)].compactMap { $0 }.joined(separator: ":")
      return signal.name + (function.map { " by \($0)" } ?? "") + (place.isEmpty ? "" : " (\(place))")
    }
  }
}
