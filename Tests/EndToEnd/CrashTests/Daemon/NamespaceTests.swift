import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests crashd and crashing processes in different PID and mount namespaces, as in pods.
@Suite(.enabled("only root can make namespaces") { geteuid() == 0 })
struct NamespaceTests {
  /// Starts a command as the first process of a PID namespace that has its own `/proc`.
  private static let container = ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]

  private static func pod(_ name: String, in namespace: String) -> [String] {
    ["/usr/bin/env", "CRASHSHIELD_POD=\(name)", "CRASHSHIELD_NAMESPACE=\(namespace)", "CRASHSHIELD_CONTAINER=web"]
  }

  private func crashctl(_ words: [String], in daemon: PrivateDaemon, status: Int32 = 0) async throws -> String {
    try await DanglingTests.crashctl(words + ["--socket", daemon.place.varlinkSocket], status: status)
  }

  @Test("a crashd outside of a pod's pid namespace reports each crash, with the pid and pod that the process states")
  func sidecar() async throws {
    try await PrivateDaemon.run(through: Self.container) { daemon in
      let shop = try await Victim.start(
        "null-write", in: daemon, through: Self.pod("shop-1", in: "prod") + Self.container)
      let till = try await Victim.start(
        "array-index", in: daemon, through: Self.pod("till-1", in: "prod") + Self.container)

      let processes = try await crashctl(["processes"], in: daemon)
      #expect(processes.contains(" CONTAINER ") && processes.contains(" shop-1 ") && processes.contains(" till-1 "))
      let attached = try await blocking { try daemon.client.processes() }
      #expect(attached.map(\.pid) == [1, 1] && attached.allSatisfy { $0.isPIDClaimed == true })
      let findings = try await crashctl(["doctor"], in: daemon)
      #expect(findings.contains("hostPID: true"), "\(findings)")
      let log = try contents(of: daemon.place.logPath)
      #expect(log.ranges(of: "is in another pid namespace").count == 1, "\(log)")
      #expect(log.contains("shareProcessNamespace: true"))

      for victim in [shop, till] {
        victim.goOn()
        try await victim.process.wait()
      }
      // Both processes have the pid 1, and AwaitProcess returns only the reports of the newest process. Therefore list
      // the reports.
      let reports = try await blocking {
        _ = try daemon.client.settled(1)
        return try daemon.client.list(ListQuery(filter: ReportFilter(pid: 1))).map {
          try daemon.client.report(id: $0.id).report
        }
      }
      for (name, scenario) in [("shop-1", "null-write"), ("till-1", "array-index")] {
        let report = try #require(reports.first { $0.container?.pod == name })
        #expect(report.process.isPIDClaimed == true && report.process.pid == 1)
        #expect(report.container?.namespace == "prod" && report.container?.name == "web")
        #expect(report.container?.claimed == ["name", "namespace", "pod"])
        let function = try #require(Scenario.named(scenario)?.function)
        #expect(report.crashedThread?.topOwnFrame?.function.contains(function) == true)
        #expect(report.crashedThread?.topOwnFrame?.line != nil)
        #expect(report.threads[0].registers.isEmpty == false)
      }
      #expect(reports.count == 2)

      let listed = try await crashctl(["list", "--pod", "till-1", "--namespace", "prod", "--json=short"], in: daemon)
      #expect(listed.contains("till-1") && !listed.contains("shop-1"))
      _ = try await crashctl(["list", "--pod", "shop-1", "--namespace", "test"], in: daemon, status: 1)
      let id = try #require(reports.first { $0.container?.pod == "shop-1" }).id
      let shown = try await crashctl(["show", "-v", id], in: daemon)
      #expect(shown.contains("shop-1 in prod, container web (claimed by the process)"), "\(shown)")
      #expect(shown.contains("pid 1 (claimed by the process)"))
    }
  }

  @Test(
    "crashd on the node reports pids of its own namespace, and finds a pod's UID in the mounts that kubelet made")
  func node() async throws {
    let uid = "28478e30-384f-41e5-9d85-eae249ae8506"
    try await PrivateDaemon.run { daemon in
      _ = try daemon.place.root.directory("pods")
      let pod = try daemon.place.root.directory("pods/\(uid)")
      let mount = #"touch "$0/etc-hosts" && mount --bind "$0/etc-hosts" /etc/hosts && exec "$@""#
      let victim = try await Victim.start(
        "null-write", in: daemon, through: Self.container + ["/bin/sh", "-c", mount, pod])
      let client = daemon.client
      // After the attach, crashd reads the mounts on another thread, and sends no event when it has read them.
      // Therefore the test polls. The loop ends after a limit if crashd never reads the mounts.
      let found = try await blocking { () throws -> ProcessSummary? in
        for _ in 0..<60_000 {
          if let found = try client.processes().first(where: { $0.podUID == uid }) { return found }
          usleep(1_000)
        }
        return nil
      }
      let process = try #require(found)
      #expect(process.isPIDClaimed == nil && process.pid != 1)
      victim.goOn()
      try await victim.process.wait()
      let report = try #require(try await daemon.reports(of: pid_t(process.pid)).first)
      #expect(report.container?.podUID == uid && report.container?.source != nil && report.container?.claimed == nil)
      #expect(report.process.isPIDClaimed == nil)
      let listed = try await crashctl(["list", "--pod", uid, "--json=short"], in: daemon)
      #expect(listed.contains(report.id))
      #expect(!(try contents(of: daemon.place.logPath).contains("another pid namespace")))
    }
  }

  @Test("root outside of crashd's pid namespace sees only reports of uid 0, unless access.root is all")
  func root() async throws {
    for (options, seesAll) in [([], false), (["--set", "access.root=all"], true)] as [([String], Bool)] {
      try await PrivateDaemon.run(options: options, through: Self.container) { daemon in
        let client = daemon.client
        let status = try await blocking { try client.status() }
        #expect(status.access?.all == seesAll && status.access?.isForeign == (seesAll ? nil : true))
      }
    }
  }
}
