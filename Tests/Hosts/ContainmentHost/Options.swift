internal import CrashShield
internal import Glibc

/// The arguments of the program: `WAY MODE [OPTION VALUE]...`.
struct Options {
  static let usage = """
    usage: containment-host WAY off|drain|drain-pool|contain [--traps N] [--budget N] [--grace MS] [--stall MS]
             [--requests N] [--exits 0|1] [--moment running|start|exit|load|before] [--longest MS]
           containment-host --ways

    """

  /// When the traps occur, relative to the other requests.
  enum Moment: String {
    /// While all other requests run.
    case running
    /// While the shield starts.
    case start
    /// While the process exits.
    case exit
    /// Again and again, while requests begin and end.
    case load
    /// Before the other requests begin, which then have random durations.
    case before
  }

  var way: Way
  var mode: String
  var traps = 1
  var budget = 3
  var grace = Duration.seconds(60)
  var stall = Duration.seconds(60)
  var requests = 24
  /// The longest duration of a request, used only for `Moment.before`.
  var longest = Duration.milliseconds(400)
  var moment = Moment.running
  /// Whether the program calls `exit` while the process drains.
  var exits = false

  /// Returns nil if the arguments are wrong.
  init?(_ words: [String]) {
    guard words.count >= 2, let way = Way.all.first(where: { $0.name == words[0] }) else { return nil }
    self.way = way
    mode = words[1]
    var rest = words.dropFirst(2)
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else { return nil }
      switch (name, Int(value)) {
      case ("--traps", let count?): traps = count
      case ("--budget", let count?): budget = count
      case ("--requests", let count?): requests = count
      case ("--grace", let milliseconds?): grace = .milliseconds(milliseconds)
      case ("--stall", let milliseconds?): stall = .milliseconds(milliseconds)
      case ("--longest", let milliseconds?): longest = .milliseconds(milliseconds)
      case ("--exits", let number?): exits = number != 0
      case ("--moment", _): moment = Moment(rawValue: value) ?? .running
      default: return nil
      }
    }
  }

  var containment: Shield.Containment? {
    switch mode {
    case "off": .off
    case "drain": .drain(grace: grace, stall: stall, pool: false)
    case "drain-pool": .drain(grace: grace, stall: stall, pool: true)
    case "contain": .contain(budget: budget, grace: grace, stall: stall)
    default: nil
    }
  }
}
