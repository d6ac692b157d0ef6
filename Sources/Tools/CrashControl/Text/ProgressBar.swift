import Glibc

/// Shows the progress of long work on a terminal, while no other output goes to the terminal.
public struct ProgressBar: Sendable {
  private static let interval_ns: UInt64 = 100_000_000
  private static let barWidth = 30

  /// The total amount of work, or nil if it is unknown.
  public var total: Int?
  /// Whether the bar is shown, which requires a terminal.
  public let isShown: Bool

  private let verb: String
  private let width: Int
  private var last_ns: UInt64 = 0

  /// Creates a bar on standard error.
  ///
  /// The bar is hidden if standard error is not a terminal. The bar is also hidden if the command writes lines to a
  /// terminal on standard output during the work.
  public init(_ verb: String, total: Int? = nil, writesLines: Bool = false, environment: [String: String]) {
    let isBroken = writesLines && isatty(STDOUT_FILENO) == 1
    let width = isBroken ? nil : Terminal(descriptor: STDERR_FILENO, environment: environment).width
    self.init(verb, total: total, width: width)
  }

  /// Creates a bar for a terminal of `width` columns.
  ///
  /// If `width` is nil, the bar is hidden.
  public init(_ verb: String, total: Int? = nil, width: Int?) {
    self.verb = verb
    self.total = total
    self.width = width ?? 0
    isShown = width != nil
  }

  /// Shows the progress, a few times a second.
  public mutating func show(_ done: Int) {
    guard isShown else { return }
    var now = timespec()
    // Invariant: clock_gettime uses the pointer only during the call.
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    let now_ns = UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    guard last_ns == 0 || now_ns - last_ns >= Self.interval_ns else { return }
    last_ns = now_ns
    write("\r\u{1b}[K" + line(done))
  }

  /// Removes the bar.
  public mutating func end() {
    if isShown, last_ns != 0 { write("\r\u{1b}[K") }
  }

  /// Returns the line that shows the bar.
  public func line(_ done: Int) -> String {
    guard let total, total > 0 else { return "\(verb) \(Listings.grouped(done))" }
    let done = min(done, total)
    let percent = done * 100 / total
    let numbers = "\(Listings.grouped(done)) of \(Listings.grouped(total))"
    let words = "\(verb) \(numbers), \(percent) %"
    let room = width - words.count - 4
    guard room >= 10 else { return String(words.prefix(max(0, width - 1))) }
    let columns = min(room, Self.barWidth)
    let full = done * columns / total
    return "\(verb) [\(String(repeating: "=", count: full))\(String(repeating: " ", count: columns - full))] "
      + "\(numbers), \(percent) %"
  }

  private func write(_ text: String) {
    // Ignore a write error, because it means that the terminal is closed and cannot show the error.
    do throws(Failure) { try Output.write(text, to: STDERR_FILENO) } catch {}
  }
}
