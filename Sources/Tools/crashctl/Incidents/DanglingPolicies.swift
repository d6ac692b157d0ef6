import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

extension Dangling {
  struct Policy: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show or change the effective protection policy of programs",
      discussion: """
        --pin, --automatic, --base-budget, --raised-budget, --crash-loop and --false-alarm change the rules of all \
        programs whose name contains NAME, before their policies are shown. The base level protects the listed classes \
        with a small quarantine (--base-budget), and the raised level protects them with a large one \
        (--raised-budget). A pin takes precedence over every other rule: "on" keeps the raised level, "off" disables \
        protection, and "automatic" lets the alarm (clearly more use-after-free crashes than usual) raise the level, \
        and the stop rule lower it.
        """)

    @OptionGroup var legend: LegendOptions

    @Argument(help: "Part of the program's name, or its path", completion: .custom(Completions.programs))
    var name: String?

    @Option(help: "Pin the protection: automatic, on or off")
    var pin: String?

    @Option(help: ArgumentHelp("Raise the level automatically on an alarm: yes or no", valueName: "yes|no"))
    var automatic: YesOrNo?

    @Option(help: ArgumentHelp("Limit the quarantine of one process at the base level", valueName: "KiB"))
    var baseBudget: Int?

    @Option(help: ArgumentHelp("Limit the quarantine of one process at the raised level", valueName: "KiB"))
    var raisedBudget: Int?

    @Option(help: ArgumentHelp("Count crashes of restarted processes within this time as one", valueName: "seconds"))
    var crashLoop: Int?

    @Option(help: ArgumentHelp("Accept one false alarm in this time, on average", valueName: "days"))
    var falseAlarm: Int?

    enum YesOrNo: String, ExpressibleByArgument, CaseIterable {
      case yes
      case no
    }

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func validate() throws {
      if let pin, !DanglingPolicyReport.Pin.all.contains(.init(pin)) {
        throw ValidationError("invalid value '\(pin)' for --pin: it takes automatic, on or off")
      }
      if let wrong = [baseBudget, raisedBudget].compactMap({ $0 }).first(where: { !(4...1 << 24).contains($0) }) {
        throw ValidationError("invalid budget '\(wrong)': it is 4 to \(1 << 24) KiB")
      }
      if let crashLoop, !(0...86_400).contains(crashLoop) {
        throw ValidationError("invalid value '\(crashLoop)' for --crash-loop: it takes seconds up to 86400")
      }
      if let falseAlarm, !(2...36_500).contains(falseAlarm) {
        throw ValidationError("invalid value '\(falseAlarm)' for --false-alarm: it takes 2 to 36500 days")
      }
      if rules != DanglingRules(), name == nil { throw ValidationError("rules need a program's name or path") }
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
          DanglingText.policies(policies, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
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
      abstract: "Show use-after-free crashes, detected accesses and running time by day")

    @OptionGroup var legend: LegendOptions

    @Argument(help: "Part of the program's name, or its path", completion: .custom(Completions.programs))
    var name: String?

    @Option(help: "Only crashes of the build whose id begins with this")
    var build: String?

    @Option(name: [.customShort("n", allowingJoined: true), .long], help: "Show this many days, up to 90")
    var days = 30

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func validate() throws {
      if !(1...90).contains(days) { throw ValidationError("invalid value '\(days)' for -n: it takes 1 to 90 days") }
    }

    func run() throws {
      let policies = try connection.policies(name)
      if connection.json != .off { return try connection.show(json: policies) }
      try connection.show(
        DanglingText.trend(
          policies, build: build, days: days, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
    }
  }

  struct Events: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List decisions about protection and their reasons",
      discussion: "On a terminal the newest comes first, and one command that changed several programs is one line.")

    @OptionGroup var legend: LegendOptions

    @Argument(help: "Part of the program's name, or its path", completion: .custom(Completions.programs))
    var name: String?

    @OptionGroup var options: ListOptions

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let events = try connection.ask { client throws(ClientError) in
        try client.danglingEvents(name: name, limit: options.limit)
      }
      if connection.json != .off { try connection.show(json: events) }
      guard !events.isEmpty else { throw Failure.nothing("no decision yet", of: connection.client) }
      guard connection.json == .off else { return }
      try connection.show(
        DanglingText.events(
          options.ordered(events, connection), terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
    }
  }

  struct Statistics: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show estimates of use-after-free and its detection by class",
      discussion: """
        LIMIT is the number of objects in quarantine. RETAINED is the time that an object stays in quarantine. \
        DETECTION is the probability that an access is detected, with the 95 % interval. EST. USES is the estimated \
        number of accesses, detected or not.
        """)

    @OptionGroup var legend: LegendOptions

    @Argument(help: "Part of the program's name, or its path", completion: .custom(Completions.programs))
    var name: String?

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let classes = try connection.ask { client throws(ClientError) in try client.danglingClasses(name: name) }
      if connection.json != .off { try connection.show(json: classes) }
      guard !classes.isEmpty else {
        throw Failure.nothing("no class was protected yet", of: connection.client)
      }
      guard connection.json == .off else { return }
      try connection.show(
        DanglingText.statistics(classes, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
    }
  }

  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the result of each use-after-free rule for a crash")

    @Flag(help: "Show also the rules that do not apply")
    var all = false

    @OptionGroup var report: ReportArgument

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      var explanation = try connection.ask(about: report.word) { client, id throws(ClientError) in
        try client.explain(id: id)
      }
      explanation.rules.removeAll { $0.cause != .dangling && !$0.isChosen }
      if connection.json != .off { return try connection.show(json: explanation) }
      try connection.show(ExplanationText.text(explanation, terminal: connection.terminal, all: all))
    }
  }
}

extension ConnectionOptions {
  /// Returns the policies of the programs that match the name, or of all programs.
  /// - Throws: `Failure` if no policy matches.
  func policies(_ name: String?) throws(Failure) -> [DanglingPolicyReport] {
    let found = try ask { client throws(ClientError) in try client.danglingPolicies(name: name) }
    guard !found.isEmpty else { throw Failure(ClientError.refused(.noSuchService(name: name ?? ""))) }
    return found
  }
}
