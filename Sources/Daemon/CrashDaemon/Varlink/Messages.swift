import CrashReport
import CrashRing
import CrashStore
import Synchronization

// The replies of io.crashshield.Crashd, in the shape of the interface file.

struct ListReply: Encodable, Sendable {
  struct Summary: Encodable, Sendable {
    var cursor: String
    var id: String
    var time: String
    var pid: Int
    var uid: Int
    var name: String
    var executable: String
    var unit: String?
    var signal: String
    var reason: String
    var sentence: String
    var function: String
    var file: String?
    var line: Int?
    var groupKey: String
    var groupTitle: String
    /// Null once it is stored.
    var isPreliminary: Bool?

    init(_ summary: ReportSummary) {
      cursor = summary.cursor.description
      id = summary.id
      time = summary.time
      pid = summary.pid
      uid = summary.uid
      name = summary.name
      executable = summary.executable
      unit = summary.unit
      signal = summary.signal
      reason = summary.reason
      sentence = summary.sentence
      function = summary.function
      file = summary.file
      line = summary.line
      groupKey = summary.groupKey
      groupTitle = summary.groupTitle
      isPreliminary = summary.isPreliminary ? true : nil
    }
  }

  var reports: [Summary]
  /// Behind the last one.
  var more: Int?
}

struct GroupsReply: Encodable, Sendable {
  struct Group: Encodable, Sendable {
    var key: String
    var uid: Int
    var title: String
    var count: Int
    var first: String
    var last: String
    var builds: Int
    var firstBuild: String
    var lastBuild: String
    var names: [String]
    var state: String
    var report: String

    init(_ group: ReportGroup) {
      key = group.key
      uid = group.uid
      title = group.title
      count = group.count
      first = group.first
      last = group.last
      builds = group.buildCount
      firstBuild = group.firstBuild
      lastBuild = group.lastBuild
      names = group.names
      state = group.state.rawValue
      report = group.report
    }
  }

  var groups: [Group]
}

struct ResolveGroupReply: Encodable, Sendable {
  var key: String
}

struct GetReply: Encodable, Sendable {
  var report: CrashReport
  /// Base64.
  var raw: String?
  var stacks: [RecordedStack]?
}

/// The stack of a crashed thread.
struct RecordedStack: Encodable, Sendable {
  var tid: Int
  var start: Address
  /// Base64.
  var bytes: String
}

struct ExplainReply: Encodable, Sendable {
  var id: String
  var sentence: String
  var rules: [CrashReport.RuleOutcome]
}

struct ReanalyseReply: Encodable, Sendable {
  var report: CrashReport
  var changed: Bool
}

struct SubscribeReply: Encodable, Sendable {
  var ready: Bool?
  var cursor: String?
  var report: CrashReport?
  /// Events between the one before and this one that were removed.
  var lost: Int?
}

struct ProcessesReply: Encodable, Sendable {
  struct SelfTest: Encodable, Sendable {
    var asked: [String]
    var failing: [String]
    var checks: Int
    var failures: Int
    var time: String

    init(_ test: GuardSelfTest) {
      // Those of later versions by their numbers.
      func name(_ kind: Int) -> String { GuardKinds.name(of: kind) ?? "\(kind)" }
      asked = test.asked.map(name)
      failing = test.failing.map(name)
      checks = test.checks
      failures = test.failures
      // It is the process's word.
      time = Moment(nanoseconds: min(test.time_ns, Moment.now().nanoseconds)).description
    }
  }

  struct Process: Encodable, Sendable {
    var pid: Int
    var uid: Int
    var name: String
    var executable: String
    var buildID: String
    var startTime: String
    var attachTime: String
    var state: String
    var memory: String
    var selfTest: SelfTest?

    init(_ process: AttachedProcess, isWithheld: Bool) {
      let facts = process.facts
      pid = Int(facts.peer.pid)
      uid = Int(facts.peer.uid)
      name = facts.identity.name
      executable = facts.identity.executable
      buildID = facts.buildID
      startTime = Moment(nanoseconds: facts.identity.startTime_ns).description
      attachTime = process.attachTime.description
      state = process.hasEnded.load(ordering: .acquiring) ? "ended" : "attached"
      memory = Self.memory(process.ring.memoryMode(), isWithheld: isWithheld)
      selfTest = process.ring.guardSelfTest().map { SelfTest($0) }
    }

    /// What reports keep of its memory, in the interface's words.
    private static func memory(_ mode: RingContents.MemoryFacts.Mode, isWithheld: Bool) -> String {
      switch mode {
      case .none: "none"
      case .withheld: "withheld"
      case .scrubbed: isWithheld ? "discarded" : "scrubbed"
      case .full: isWithheld ? "discarded" : "full"
      }
    }
  }

  var processes: [Process]
}

struct AwaitProcessReply: Encodable, Sendable {
  var attached: Bool
  var settled: Bool
  var reports: [String]
}

struct StatusReply: Encodable, Sendable {
  struct Access: Encodable, Sendable {
    var uid: Int
    var all: Bool
    var group: String?
  }

  var version: String
  var pid: Int
  var uptime_s: Int
  var processes: Int
  var ending: Int
  var reports: Int
  var storeBytes: Int
  var losses: [String: Int]
  var refusals: [String: Int]
  var unwindings: [String: Int]
  var debugInformation: [String: Int]
  var held: Int
  var spooled: Int?
  var trouble: [String]
  var access: Access
}
