import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests the report's fields about the program's release, the machine and the process.
@Suite(.sharedDaemon, .serialized)
struct ReportFieldsTests {
  private static let words = [
    "--wait-attached", "--annotate", "release=cart@2.4.1", "--annotate", "environment=staging", "--annotate",
    "user=17", "--annotate", "region=eu", "--annotate", "password=hunter2",
  ]

  @Test("crashctl list finds a crash by its release, environment and tags, and not by other values")
  func filters() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("array-index", Self.words, environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.release == "cart@2.4.1" && report.environment == "staging" && report.user == "17")
    #expect(report.annotations["region"] == "eu" && report.annotations["release"] == report.release)
    let listed = { (options: [String], status: Int32) in
      let words = ["list", "--json=short", "--socket", daemon.place.varlinkSocket, "--pid", "\(crash.pid)"] + options
      return try await DanglingTests.crashctl(words, status: status)
    }
    for options in [
      ["--release", "cart@2.4.1"], ["--environment", "staging", "--tag", "region=eu"], ["--tag", "user=17"],
    ] {
      #expect(try await listed(options, 0).contains(report.id), "\(options)")
    }
    for options in [["--release", "cart"], ["--environment", "live"], ["--tag", "region=us"]] {
      // crashctl exits with 1 because no crash matches.
      #expect(try await !listed(options, 1).contains(report.id), "\(options)")
    }
  }

  @Test("a report names the machine, and has the process's identity and its resource usage at the crash")
  func machine() async throws {
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start("null-write", in: daemon)
    let descriptors = try entries(of: "/proc/\(victim.process.pid)/fd").count
    victim.goOn()
    try await victim.process.wait()
    let report = try #require(try await daemon.reports(of: victim.process.pid).first)
    let machine = try #require(report.machine)
    #expect(machine.host?.isEmpty == false && machine.kernel?.hasPrefix("Linux ") == true)
    let resources = try #require(report.resources)
    #expect(resources.residentBytes ?? 0 > 1 << 20)
    #expect(resources.peakResidentBytes ?? 0 >= resources.residentBytes ?? 0)
    if let open = resources.openDescriptors { #expect(open >= descriptors / 2 && open < descriptors + 64) }
    #expect(report.process.swiftVersion != nil && report.process.uptime_ms ?? -1 >= 0)
    #expect(report.process.cgroup != nil)
    let text = TextRenderer(width: 200).render(report)
    #expect(text.contains("\nMachine\n") && text.contains(" resident"))
  }

  @Test("a report has the command line, without the values of secret arguments")
  func commandLine() async throws {
    let daemon = try SharedDaemon.current
    // After the attach, crashd reads the command line on another thread. A process can end before crashd reads its
    // command line, but not all 20 processes do.
    for _ in 0..<20 {
      let victim = try await Victim.start("sigkill", in: daemon, options: ["--annotate", "password=hunter2"])
      victim.process.signal(SIGKILL)
      try await victim.process.wait()
      guard let command = try await daemon.reports(of: victim.process.pid).first?.process.commandLine else { continue }
      #expect(command.contains("crash-maker sigkill --wait-attached"))
      #expect(command.contains("password=[scrubbed]") && !command.contains("hunter2"))
      return
    }
    Issue.record("none of 20 processes has a command line in its report")
  }

  @Test("the report of a killed process has the memory usage that crashd read last")
  func killed() async throws {
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start("sigkill", in: daemon)
    victim.process.signal(SIGKILL)
    #expect(try await victim.process.wait().signal == SIGKILL)
    let report = try #require(try await daemon.reports(of: victim.process.pid).first)
    #expect(report.kind == .silent && report.resources?.residentBytes ?? 0 > 1 << 20)
  }

  @Test("the report of a program with memory capture off has no command line")
  func withheld() async throws {
    let daemon = try SharedDaemon.current
    let environment = daemon.place.environment.merging(["CRASHSHIELD_MEMORY": "none"]) { $1 }
    let crash = try await Crasher.run("null-write", ["--wait-attached"], environment: environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.process.commandLine == nil && report.resources != nil)
  }
}
