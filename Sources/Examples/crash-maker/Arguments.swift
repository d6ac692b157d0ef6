import CrashMaker

/// Parses the command line without a package, because linking a package would change the crashing program.
enum Arguments {
  case help
  case list
  case table
  case run(CrashRun)
  case wrong(String)

  static let usage = """
    usage: crash-maker NAME [--thread main|dispatch|task|pthread|small-stack] [--mark] [--wait-attached] [--wait-input]
                            [--annotate KEY=VALUE]... [--protect CLASS]... [--isolate COUNT] [--budget COUNT]
                            [--request OPERATION] [--in-flight COUNT] [--served COUNT]
           crash-maker --list | --table

    Crash on purpose to test crash reporters.

      --list           print name, signal and description of each scenario, tab-separated
      --table          print name, signal, function, crashing threads, text of the reason and threads (comma-separated)
                       of each C or C++ scenario, tab-separated, for programs
      --thread THREAD  crash on this thread (default: main; scenarios that need a task get one)
      --mark           annotate 'fault-monotonic-ns' right before the fault
      --wait-attached  wait until crashd accepts the process, at most \(CrashRun.attachLimit_s) s, and print 'attached'
      --wait-input     wait until standard input has a byte or is closed
      --annotate KEY=VALUE
                       annotate the process
      --protect CLASS  protect the class with this full name
      --isolate COUNT  crash COUNT times in isolated work; if all are contained, exit normally
      --budget COUNT   contain at most COUNT of these crashes
      --request OPERATION
                       crash in a request of this operation
      --in-flight COUNT
                       crash beside COUNT other requests
      --served COUNT   serve COUNT requests before the crash

    CRASHSHIELD_SOCKET, CRASHSHIELD_SPOOL, CRASHSHIELD_NAME and CRASHSHIELD_DISABLE configure the shield.
    """

  static func parse(_ arguments: [String]) -> Arguments {
    var name: String?
    var thread: CrashRun.Thread?
    var isMarked = false
    var waitsForAttach = false
    var waitsForInput = false
    var annotations: [String: String] = [:]
    var protectedClasses: [String] = []
    var containedRuns = 0
    var maximumContainedFaults: Int?
    var request: String?
    var otherRequestCount = 0
    var servedRequestCount = 0
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h": return .help
      case "--list": return .list
      case "--table": return .table
      case "--mark": isMarked = true
      case "--wait-attached": waitsForAttach = true
      case "--wait-input": waitsForInput = true
      case "--annotate":
        guard let words = rest.popFirst()?.split(separator: "=", maxSplits: 1), words.count == 2 else {
          return .wrong("--annotate needs KEY=VALUE")
        }
        annotations[String(words[0])] = String(words[1])
      case "--protect":
        guard let value = rest.popFirst() else { return .wrong("--protect needs the full name of a class") }
        protectedClasses.append(value)
      case "--isolate":
        guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else {
          return .wrong("--isolate needs a number of crashes")
        }
        containedRuns = value
      case "--budget":
        guard let value = rest.popFirst().flatMap({ Int($0) }), value >= 0 else {
          return .wrong("--budget needs a number of crashes")
        }
        maximumContainedFaults = value
      case "--request":
        guard let value = rest.popFirst() else { return .wrong("--request needs the operation of a request") }
        request = value
      case "--in-flight":
        guard let value = rest.popFirst().flatMap({ Int($0) }), value >= 0 else {
          return .wrong("--in-flight needs a number of requests")
        }
        otherRequestCount = value
      case "--served":
        guard let value = rest.popFirst().flatMap({ Int($0) }), value >= 0 else {
          return .wrong("--served needs a number of requests")
        }
        servedRequestCount = value
      case "--thread":
        guard let value = rest.popFirst(), let known = CrashRun.Thread(rawValue: value) else {
          return .wrong("--thread takes one of \(CrashRun.Thread.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        thread = known
      default:
        if argument.hasPrefix("-") { return .wrong("unknown option '\(argument)'; see crash-maker --help") }
        if let name { return .wrong("only one scenario at a time, not '\(name)' and '\(argument)'") }
        name = argument
      }
    }
    guard let name else { return .wrong("no scenario given; see crash-maker --list") }
    guard let scenario = Scenario.named(name) else {
      let nearest = ["list", "table", "help"].contains(name) ? "--\(name)" : Scenario.nearest(to: name)
      return .wrong("unknown scenario '\(name)'; did you mean '\(nearest)'? See crash-maker --list")
    }
    if let thread, !scenario.threads.contains(thread) {
      let possible = scenario.threads.map(\.rawValue).joined(separator: ", ")
      return .wrong("'\(name)' crashes on \(possible) only, not on '\(thread.rawValue)'")
    }
    var run = CrashRun(scenario, thread: thread)
    run.isMarked = isMarked
    run.waitsForAttach = waitsForAttach
    run.waitsForInput = waitsForInput
    run.annotations = annotations
    run.protectedClasses = protectedClasses
    run.containedRuns = containedRuns
    run.maximumContainedFaults = maximumContainedFaults
    run.request = request
    run.otherRequestCount = otherRequestCount
    run.servedRequestCount = servedRequestCount
    return .run(run)
  }
}
