import Glibc

/// The progress of long work, on a terminal without other output.
public struct ProgressBar: Sendable {
  private static let interval_ns: UInt64 = 100_000_000
  private static let barWidth = 30

  /// The total; nil if it is unknown.
  public var total: Int?
  /// Whether there is a terminal to show it on.
  public let isShown: Bool

  private let verb: String
  private let width: Int
  private var last_ns: UInt64 = 0

  /// Makes a bar on standard error; it is not shown where that is no terminal, or where standard output is one and gets
  /// lines meanwhile.
  public init(_ verb: String, total: Int? = nil, writesLines: Bool = false, environment: [String: String]) {
    let isBroken = writesLines && isatty(STDOUT_FILENO) == 1
    let width = isBroken ? nil : Terminal(descriptor: STDERR_FILENO, environment: environment).width
    self.init(verb, total: total, width: width)
  }

  /// Makes a bar for a terminal of so many columns; nil: there is none.
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
    // The pointer is used during the call only.
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

  /// The bar's text.
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
    // A closed terminal cannot show an error.
    do throws(Failure) { try Output.write(text, to: STDERR_FILENO) } catch {}
  }
}
