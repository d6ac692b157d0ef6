import Glibc

/// When to use color.
public enum ColorUse: String, Sendable, CaseIterable {
  /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
  case auto
  /// Also in a pipe.
  case always
  /// Not at all.
  case never
}

/// The properties of standard output: width, color and the clock of its times.
public struct Terminal: Sendable {
  /// Columns; nil when the output is no terminal, and lines may be as long as they are.
  public var width: Int?
  /// Whether to use color.
  public var hasColor: Bool
  /// The clock of its times.
  public var clock: Clock
  /// Whether a person wants an overview: ages for times, repeats in one line, and no columns of details.
  public var isBrief: Bool

  /// Makes a terminal with what is known of it.
  public init(width: Int?, hasColor: Bool, clock: Clock = Clock()) {
    self.width = width
    self.hasColor = hasColor
    self.clock = clock
    isBrief = width != nil
  }

  /// Inspects a descriptor; by itself color is for terminals, unless `NO_COLOR` is set or `TERM` is `dumb`.
  public init(descriptor: Int32, environment: [String: String], color: ColorUse = .auto) {
    guard isatty(descriptor) == 1 else {
      self.init(width: nil, hasColor: color == .always)
      return
    }
    var size = winsize()
    // The pointer is used during the call only; TIOCGWINSZ fills a winsize.
    let known = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    let columns = environment["COLUMNS"].flatMap { Int($0) } ?? 0
    let dull = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
    self.init(
      width: max(40, known ? Int(size.ws_col) : columns > 0 ? columns : 80),
      hasColor: color == .always || color == .auto && !dull)
  }

  /// A time in a table: its age in an overview, else the whole time.
  func moment(_ rfc3339: String) -> String { isBrief ? clock.age(rfc3339) : clock.text(rfc3339) }

  /// The style of a piece of text.
  public enum Style: String, Sendable {
    /// Titles.
    case bold = "1"
    /// Secondary text.
    case dim = "2"
    /// Errors.
    case red = "31"
    /// Places in the source.
    case cyan = "36"
  }

  /// The text in a style, if color is on.
  public func styled(_ text: String, _ style: Style?) -> String {
    guard hasColor, let style, !text.isEmpty else { return text }
    return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
  }
}
