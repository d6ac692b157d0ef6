import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

extension Dangling {
  struct Policy: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows what is protected in each program, by whose word, and why; changes the rules.",
      discussion: """
        With --pin, --automatic, --base-budget, --raised-budget, --crash-loop or --false-alarm the rules of the programs \
        whose name contains NAME are changed first. A pin is stronger than everything else: "on" keeps the raised level, \
        "off" protects nothing, "automatic" leaves it to the alarm and the stop rule.
        """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions

    @Argument(help: "A part of the program's name, or its path.")
    var name: String?

    @Option(help: "automatic, on or off.")
    var pin: String?

    @Option(help: ArgumentHelp("Whether an alarm protects by itself: yes or no.", valueName: "yes|no"))
    var automatic: YesOrNo?

    @Option(help: ArgumentHelp("What the quarantine of one process may hold at the base level.", valueName: "KiB"))
    var baseBudget: Int?

    @Option(help: ArgumentHelp("The same at the raised level.", valueName: "KiB"))
    var raisedBudget: Int?

    @Option(help: ArgumentHelp("Restarted processes that crash within this time count once.", valueName: "seconds"))
    var crashLoop: Int?

    @Option(help: ArgumentHelp("Time between two false alarms, at least.", valueName: "days"))
    var falseAlarm: Int?

    enum YesOrNo: String, ExpressibleByArgument, CaseIterable {
      case yes
      case no
    }

    func validate() throws {
      if let pin, !DanglingPolicyReport.Pin.all.contains(.init(pin)) {
        throw ValidationError("--pin takes automatic, on or off, not \(pin)")
      }
      if let wrong = [baseBudget, raisedBudget].compactMap({ $0 }).first(where: { !(4...1 << 24).contains($0) }) {
        throw ValidationError("a budget is from 4 to \(1 << 24) KiB, not \(wrong)")
      }
      if let crashLoop, !(0...86_400).contains(crashLoop) {
        throw ValidationError("--crash-loop takes seconds up to 86400, not \(crashLoop)")
      }
      if let falseAlarm, !(2...36_500).contains(falseAlarm) {
        throw ValidationError("--false-alarm takes days from 2 to 36500, not \(falseAlarm)")
      }
      if rules != DanglingRules(), name == nil { throw ValidationError("of which program? Give a name or a path") }
    }

    private var rules: DanglingRules {
      var rules = DanglingRules()
      rules.pin = pin.map { .init($0) }
      rules.automatic = automatic.map { $0 == .yes }
      rules.baseBudgetBytes = baseBudget.map { $0 << 10 }
      rules.raisedBudgetBytes = raisedBudget.map { $0 << 10 }
      rules.crashLoopSeconds = crashLoop
      rules.alarmThresholdDays = falseAlarm
      return rules
    }

    func run() throws {
      if rules != DanglingRules(), let name {
        _ = try connection.ask { client throws(ClientError) in try client.setRules(rules, name: name) }
      }
      let policies = try connection.policies(name)
      if connection.json != .off { return try connection.show(json: policies) }
      guard let only = policies.first, policies.count == 1 else {
        return try connection.show(
          DanglingText.policies(policies, terminal: connection.terminal, legend: !legend.hasNoLegend))
      }
      let events = try connection.ask { client throws(ClientError) in
        try client.danglingEvents(name: only.program, limit: 20)
      }
      try connection.show(
        DanglingText.policy(only, events: events.filter { $0.uid == only.uid }, terminal: connection.terminal))
    }
  }

  struct Trend: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows dangling crashes, caught uses and running time by day, and how near the alarm is.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions

    @Argument(help: "A part of the program's name, or its path.")
    var name: String?

    @Option(help: "Only crashes of the build whose id begins with this.")
    var build: String?

    @Option(name: [.customShort("n", allowingJoined: true), .long], help: "The last days, up to 90.")
    var days = 30

    func validate() throws {
      if !(1...90).contains(days) { throw ValidationError("-n takes days from 1 to 90, not \(days)") }
    }

    func run() throws {
      let policies = try connection.policies(name)
      if connection.json != .off { return try connection.show(json: policies) }
      try connection.show(
        DanglingText.trend(
          policies, build: build, days: days, terminal: connection.terminal, legend: !legend.hasNoLegend))
    }
  }

  struct Events: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists what was decided about protection, each with its reason, the latest at the end.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions

    @Argument(help: "A part of the program's name, or its path.")
    var name: String?

    @Option(
      name: [.customShort("n", allowingJoined: true), .customLong("limit")], help: "At most so many; 100 without it.")
    var limit: Int?

    func run() throws {
      let events = try connection.ask { client throws(ClientError) in
        try client.danglingEvents(name: name, limit: limit)
      }
      if connection.json != .off { try connection.show(json: events) }
      guard !events.isEmpty else { throw Failure.nothing("nothing was decided yet", of: connection.client) }
      guard connection.json == .off else { return }
      try connection.show(
        DanglingText.events(events.reversed(), terminal: connection.terminal, legend: !legend.hasNoLegend))
    }
  }

  struct Statistics: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Estimates of each class: how often it is freed, how many uses are caught, how many there are.",
      discussion: """
        FOR is how long an object is kept, CATCHES the probability that a use is caught (with the interval of 95 %), USES \
        the estimated number of uses, caught or missed, BETTER the number of objects to keep that would catch nine of ten.
        """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions

    @Argument(help: "A part of the program's name, or its path.")
    var name: String?

    func run() throws {
      let classes = try connection.ask { client throws(ClientError) in try client.danglingClasses(name: name) }
      if connection.json != .off { try connection.show(json: classes) }
      guard !classes.isEmpty else {
        throw Failure.nothing("no class was protected yet", of: connection.client)
      }
      guard connection.json == .off else { return }
      try connection.show(
        DanglingText.statistics(classes, terminal: connection.terminal, legend: !legend.hasNoLegend))
    }
  }

  struct Protect: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Protects a class in running and coming processes, stronger than what they say themselves.")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The full name of the class, such as App.Session, or the mangled one.")
    var className: String

    @Option(help: "How many dead objects to keep, from 1 to 4096; what the statistics say without it.")
    var limit: Int?

    @Option(help: "absorb (deinit later), zero (deinit at once, calls return zero), diagnose (deinit at once, poison).")
    var policy: String?

    @Option(help: "Only in programs whose name contains this, or with this path.")
    var process: String?

    func validate() throws {
      if let limit, !(1...4_096).contains(limit) { throw ValidationError("--limit is from 1 to 4096, not \(limit)") }
      if let policy, !["absorb", "zero", "diagnose"].contains(policy) {
        throw ValidationError("--policy takes absorb, zero or diagnose, not \(policy)")
      }
    }

    func run() throws {
      let change = try connection.ask { client throws(ClientError) in
        try client.protect(class: className, name: process, limit: limit, mode: policy)
      }
      if connection.json != .off { return try connection.show(json: change) }
      try connection.show(DanglingText.change("\(className) is protected", change))
    }
  }

  struct Release: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ends the protection of a class; nothing protects it until it is named again.")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The full name of the class, such as App.Session, or the mangled one.")
    var className: String

    @Option(help: "Only in programs whose name contains this, or with this path.")
    var process: String?

    func run() throws {
      let change = try connection.ask { client throws(ClientError) in
        try client.release(class: className, name: process)
      }
      if connection.json != .off { return try connection.show(json: change) }
      try connection.show(DanglingText.change("\(className) is not protected any more", change))
    }
  }

  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows what each rule about dead objects says of a crash, and what it looked at.")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The first digits of the report's id; the newest without it.")
    var id: String?

    func run() throws {
      var explanation = try connection.ask { client throws(ClientError) in try client.explain(id: id) }
      explanation.rules.removeAll { $0.cause != .dangling && !$0.isChosen }
      if connection.json != .off { return try connection.show(json: explanation) }
      try connection.show(ExplanationText.text(explanation, terminal: connection.terminal))
    }
  }
}

extension ConnectionOptions {
  /// The policies of programs; none is an error.
  func policies(_ name: String?) throws(Failure) -> [DanglingPolicyReport] {
    let found = try ask { client throws(ClientError) in try client.danglingPolicies(name: name) }
    guard !found.isEmpty else { throw Failure(ClientError.refused(.noSuchService(name: name ?? ""))) }
    return found
  }
}
