// crash-bench RELEASE DYNAMIC: compares the cost of a crash with swift-crash-shield and with Swift's own backtracer.
// The benchmark causes the same crash alternately with both crash reporters. RELEASE is a directory with crashd and
// crash-analyse. DYNAMIC is a directory with a crash-maker that uses the dynamic Swift library, which Swift's
// backtracer requires.
import CrashClient
import CrashProtocol
import CrashReport
import Foundation

let rounds = 30
let scenario = "null-read"

switch CommandLine.arguments.dropFirst().first {
case "start-cost": try StartCost.measureShield()
case "nothing": try StartCost.measureNothing()
case "deep": try DeepCrash.run()
default: if try !compare() { exit(1) }
}

/// Returns whether the results are within the documented limits.
func compare() throws -> Bool {
  guard CommandLine.arguments.count == 3 else {
    print("usage: crash-bench RELEASE-DIRECTORY DYNAMIC-DIRECTORY")
    exit(2)
  }
  let daemon = try Daemon(executable: CommandLine.arguments[1] + "/crashd")
  defer { daemon.stop() }
  let maker = CommandLine.arguments[2] + "/crash-maker"
  let client = CrashClient(socketPath: daemon.clientSocket)

  var commit = Samples()
  var deep = Samples()
  var stored = Samples()
  var printed = Samples()
  for round in 0...rounds {
    let times = try captured(maker, [scenario, "--mark", "--wait-attached"], daemon: daemon, client: client)
    // The first round is not measured, because the report of a build's first crash can wait for the symbol cache of the
    // build. `FirstCrash` measures that.
    if round == 0 { continue }
    commit.add(times.commit)
    stored.add(times.stored)
    // Each round uses a new process, because a process crashes only once.
    deep.add(try captured(CommandLine.arguments[0], ["deep"], daemon: daemon, client: client).commit)
    printed.add(try backtraced(maker: maker))
  }

  let first = try FirstCrash.measure(executable: CommandLine.arguments[1] + "/crashd", maker: maker)

  var start = Samples()
  var memory = Samples()
  var backtraceMemory = Samples()
  let own = CommandLine.arguments[0]
  for _ in 0..<rounds {
    let environment = ["CRASHSHIELD_SOCKET": daemon.attachSocket, "SWIFT_BACKTRACE": "enable=no"]
    let shield = try numbers(Child.run(own, ["start-cost"], environment: environment))
    start.add(shield.0 / 1000)
    memory.add(shield.1)
    let off = try numbers(Child.run(own, ["nothing"], environment: ["SWIFT_BACKTRACE": "enable=no"]))
    let on = try numbers(Child.run(own, ["nothing"], environment: ["SWIFT_BACKTRACE": "enable=yes"]))
    backtraceMemory.add(on.1 - off.1)
  }

  print("\(scenario), \(rounds) rounds, median (95th percentile)")
  row("fault to commit", commit, "µs")
  row("  \(DeepCrash.depth) functions deep", deep, "µs")
  row("fault to stored report, seen by a client", stored, "µs")
  row("swift-backtrace: fault to printed report", printed, "µs")
  row("first crash of a build: fault to shown report", first.visible, "µs")
  row("  to the whole report", first.whole, "µs")
  row("  swift-backtrace beside: to printed report", first.printed, "µs")
  row("Shield.start()", start, "µs")
  row("  its own memory, ring included", memory, "KiB")
  row("swift-backtrace: own memory while idle", backtraceMemory, "KiB")
  let soonest = printed.median / commit.median
  let whole = printed.median / stored.median
  print(
    "captured \(ratio(soonest))× and stored \(ratio(whole))× sooner than swift-backtrace has printed; "
      + "fault to commit \(Int(commit.median)) µs, \(DeepCrash.depth) functions deep \(Int(deep.median)) µs")
  let isShownFirst = first.ratio.median < 1
  print(
    "the first crash of a build is shown in \(String(format: "%.2f", first.ratio.median)) of the time in which "
      + "swift-backtrace prints it, median of \(FirstCrash.rounds) rounds"
      + (isShownFirst ? "" : ": later, which is not what is promised"))
  let deepRatio = printed.median / deep.median
  if deepRatio < DeepCrash.leastRatio {
    print(
      "\(DeepCrash.depth) functions deep: captured only \(ratio(deepRatio))× sooner than swift-backtrace has printed")
  }
  return deepRatio >= DeepCrash.leastRatio && isShownFirst
}

/// Causes one crash under the shield.
///
/// Returns the microseconds from the fault to the commit, and until a client receives the stored report.
func captured(
  _ program: String, _ arguments: [String], daemon: Daemon, client: CrashClient
) throws -> (commit: Double, stored: Double) {
  var reports: [String] = []
  var answered_ns: UInt64 = 0
  let child = try Child.run(
    program, arguments,
    environment: ["CRASHSHIELD_SOCKET": daemon.attachSocket, "SWIFT_BACKTRACE": "enable=no"]
  ) { pid in
    reports = try client.awaitProcess(Int(pid)).reports
    // The report is complete when crashd replies, after its last transaction, which stores the other threads.
    // `stored_ns` in the report is the time of an earlier transaction.
    answered_ns = monotonicNow_ns()
  }
  guard let id = reports.first else {
    throw BenchmarkFailure(what: "no report of pid \(child.pid): \(child.errors)")
  }
  let report = try client.report(id: id).report
  guard let timing = report.timing, let fault = report.annotations["fault-monotonic-ns"].flatMap(UInt64.init) else {
    throw BenchmarkFailure(what: "report \(id) has no timing or no mark")
  }
  return (Double(timing.commit_ns - fault) / 1000, Double(answered_ns - fault) / 1000)
}

/// Causes the same crash under Swift's backtracer.
///
/// Returns the microseconds from the fault until the whole report was printed.
func backtraced(maker: String) throws -> Double {
  let child = try Child.run(
    maker, [scenario, "--mark"],
    environment: [
      "CRASHSHIELD_DISABLE": "1", "SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no,output-to=stderr",
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
    ])
  guard let fault = faultMark(in: child.output), child.errors.contains("Crash") || child.errors.contains("crash") else {
    throw BenchmarkFailure(what: "swift-backtrace printed no report: '\(child.output)' '\(child.errors)'")
  }
  return Double(child.errorsEnd_ns - fault) / 1000
}

func row(_ name: String, _ samples: Samples, _ unit: String) {
  let padded = name.padding(toLength: 44, withPad: " ", startingAt: 0)
  print("  \(padded) \(Int(samples.median)) \(unit) (\(Int(samples.percentile(0.95))))")
}

func ratio(_ value: Double) -> String { value >= 10 ? String(Int(value)) : String(format: "%.1f", value) }
