import CrashReport
import TestKit

/// Reports with fixed values, for tests of the output formats.
enum Sample {
  /// A trap in a NIO handler of a release build, with runtime frames around the in-app frames.
  static var indexOutOfRange: CrashReport {
    CrashReport(
      id: "3f2a9c54d1e84b7a9d0c5b6e7f801234", time: "2026-11-21T08:13:07.123456Z", process: process,
      signal: CrashReport.Signal(
        number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN", address: 0x5581_2345_6789),
      reason: "Fatal error: Index out of range",
      diagnosis: CrashReport.Diagnosis(
        cause: "swift-runtime-failure", sentence: "Index out of range in Cart.total(of:) at Cart.swift:41",
        rule: "fatal-error-message", confidence: 1),
      threads: [crashedThread], images: images,
      annotations: ["version": "2026.11.3", "region": "eu-central"],
      breadcrumbs: [
        CrashReport.Breadcrumb(time: "2026-11-20T23:59:59.000001Z", text: "started"),
        CrashReport.Breadcrumb(time: "2026-11-21T08:13:07.120000Z", text: "GET /cart/17"),
      ],
      group: CrashReport.Group(key: "71c0ffee", title: "Index out of range in Cart.total(of:)"))
  }

  /// A report in which every JSON key is set.
  ///
  /// It has two crashed threads, one thread of the thread sweep, and losses.
  static var everything: CrashReport {
    var report = indexOutOfRange
    report.process.unit = "cart.service"
    report.threads[0].signal = report.signal
    report.threads[0].reason = report.reason
    report.threads.append(recursion)
    report.threads.append(
      CrashReport.CrashedThread(
        tid: 4714, name: "idle", crashed: false,
        frames: [
          frame(0x7f00_0000_1300, "epoll_wait", image: "/lib/x86_64-linux-gnu/libc.so.6", trust: .context)
        ]))
    report.losses = ["torn": 1, "images": 3, "newKind": 2]
    report.timing = CrashReport.Timing(entry_ns: 1_000_000, commit_ns: 1_038_000, stored_ns: 2_500_000)
    (report.release, report.environment, report.user) = ("cart@2.4.1", "production", "customer 17")
    report.process.commandLine = "/srv/bin/CartServer --port 80 --token [scrubbed]"
    report.process.cgroup = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-\(containerID).scope"
    report.process.swiftVersion = "6.3"
    report.process.architecture = "x86_64"
    report.process.uptime_ms = 29_589_123
    report.machine = machine
    report.container = container
    report.resources = resources
    report.process.requests = CrashReport.RequestCounts(begun: 1_200, finished: 1_180, failed: 5, lost: 15)
    report.containment = CrashReport.Containment(
      mode: .contain, verdict: .drain, reason: "actor", obstacle: nil, budget: 20, contained: 3,
      drain: .init(endedBy: .deadline, finished: 9, lost: 2, durationNanoseconds: 10_004_000_000))
    report.threads[0].request = request
    var crashed = request
    crashed.crashed = true
    report.inFlight = CrashReport.InFlight(
      total: 12, overflow: 3,
      requests: [
        CrashReport.Request(
          number: 1_100, operation: "GET /events", startTime: "2026-11-21T07:13:07.123456Z", age_ns: 3_600_000_000_000)
      ]
        + (1_101...1_110).map { number in
          CrashReport.Request(
            number: number, operation: "GET /cart/{id}", id: "req-\(number)", startTime: "2026-11-21T08:13:06.123456Z",
            age_ns: 1_000_000_000)
        } + [crashed])
    report.breadcrumbs[1].request = 1_111
    return report
  }

  private static let request = CrashReport.Request(
    number: 1_111, operation: "GET /cart/{id}", id: "req-1111", traceID: "4bf92f3577b34da6a3ce929d0e0e4736",
    spanID: "00f067aa0ba902b7", startTime: "2026-11-21T08:13:07.089456Z", age_ns: 34_000_000, tags: ["tier": "gold"])

  private static let containerID = String(repeating: "0123456789abcdef", count: 4)

  private static var container: CrashReport.Container {
    var container = CrashReport.Container(
      id: containerID, runtime: "containerd", source: "cgroup", podUID: "28478e30-384f-41e5-9d85-eae249ae8506")
    (container.pod, container.namespace, container.node, container.name) = ("cart-7c5", "shop", "node-2", "web")
    container.claimed = ["name", "namespace", "node", "pod"]
    return container
  }

  private static var machine: CrashReport.Machine {
    var machine = CrashReport.Machine()
    (machine.host, machine.id) = ("web-3", "43c25204487b4810af61a142ae435ea6")
    (machine.kernel, machine.distribution) = ("Linux 6.1.0-28-amd64", "Debian GNU/Linux 12 (bookworm)")
    (machine.processor, machine.processors, machine.memoryBytes) = ("AMD EPYC 7B13", 8, 32 << 30)
    return machine
  }

  private static var resources: CrashReport.Resources {
    var resources = CrashReport.Resources(time: "2026-11-21T08:13:07.123900Z")
    (resources.residentBytes, resources.peakResidentBytes, resources.swapBytes) = (430 << 20, 498 << 20, 3 << 20)
    (resources.memoryLimitBytes, resources.memoryLimitSource, resources.groupBytes) = (512 << 20, "cgroup", 511 << 20)
    (resources.openDescriptors, resources.descriptorLimit) = (87, 1_024)
    return resources
  }

  private static let process = CrashReport.ProcessIdentity(
    pid: 4711, uid: 1000, name: "CartServer", executable: "/srv/bin/CartServer",
    buildID: "cb2411d9f512e788db094ea63646a517e603dcb4", startTime: "2026-11-20T23:59:58.000000Z")

  private static let server = "/srv/bin/CartServer"

  private static let images = [
    CrashReport.Image(
      path: server, buildID: "cb2411d9f512e788db094ea63646a517e603dcb4", base: 0x5581_2340_0000,
      end: 0x5581_2380_0000),
    CrashReport.Image(
      path: "/lib/x86_64-linux-gnu/libc.so.6", buildID: "", base: 0x7f00_0000_0000, end: 0x7f00_001d_0000),
    CrashReport.Image(
      path: "/usr/lib/swift/linux/libswiftCore.so", buildID: "b521f25f", base: 0x7f00_0100_0000,
      end: 0x7f00_015d_2d40),
  ]

  private static let crashedThread = CrashReport.CrashedThread(
    tid: 4712, name: "NIO-ELT-0-#1", crashed: true,
    frames: [
      frame(
        0x7f00_0117_df7f, "closure #1 in _assertionFailure(_:_:file:line:flags:)",
        image: "/usr/lib/swift/linux/libswiftCore.so", trust: .context),
      frame(
        0x7f00_0117_e61f, "_assertionFailure(_:_:file:line:flags:)",
        image: "/usr/lib/swift/linux/libswiftCore.so"),
      own(0x5581_2345_6789, "Cart.total(of:)", "Sources/CartServer/Cart.swift", 41, 17, inline: true),
      own(0x5581_2345_6789, "CartHandler.answer(_:)", "Sources/CartServer/CartHandler.swift", 77, 9),
      frame(
        0x5581_2347_0001, "ChannelHandlerContext.fireChannelRead(_:)", file: "/b/swift-nio/NIOCore/Channel.swift",
        line: 1703, image: server),
      frame(0x5581_2347_0101, "ByteToMessageDecoder.decodeLoop()", image: server),
      frame(0x5581_2347_0201, "", image: server, trust: .framePointer),
      own(
        0x5581_2345_7000,
        "CartServer.Router.dispatch<A>(_: NIOHTTP1.HTTPRequestHead, to: CartServer.Route<A>, with: A) async throws -> A",
        "Sources/CartServer/Router.swift", 120, nil),
      frame(0x7f00_0000_1200, "start_thread", image: "/lib/x86_64-linux-gnu/libc.so.6"),
      own(0x5581_2345_8000, "Server.handle(_:)", "Sources/CartServer/Server.swift", 58, 13, async: true),
      frame(
        0x5581_2345_9000, "thunk for @escaping @async () -> ()", file: "/<compiler-generated>",
        image: server, isAsync: true, trust: .async),
    ],
    registers: [
      "rip": 0x7f00_0117_df7f, "rsp": 0x7ffe_0000_1000, "rbp": 0x7ffe_0000_1040, "rax": 0, "rdi": 2,
      "rflags": 0x10206,
    ])

  private static let recursion = CrashReport.CrashedThread(
    tid: 4713, name: "deep", crashed: true,
    signal: CrashReport.Signal(
      number: 11, name: "SIGSEGV", code: 1, codeName: "SEGV_MAPERR", address: 0x7ffd_ffff_fff8,
      sender: CrashReport.Sender(pid: 1, uid: 0)),
    reason: "two\nlines",
    frames: [own(0x5581_2346_0000, "descend(_:)", "Sources/CartServer/Deep.swift", 3, 1)]
      + [CrashReport.Frame](
        repeating: own(0x5581_2346_0010, "descend(_:)", "Sources/CartServer/Deep.swift", 4, 10), count: 5)
      + [CrashReport.Frame](
        repeating: own(0x5581_2346_0010, "descend(_:)", "Sources/CartServer/Deep.swift", 4, 10), count: 4)
      + [
        frame(0x7f00_0000_1200, "start_thread", image: "/lib/x86_64-linux-gnu/libc.so.6", trust: .scan)
      ],
    framesOmitted: 12_345, framesBeforeGap: 6)

  private static func own(
    _ address: Address, _ function: String, _ file: String, _ line: Int, _ column: Int?, inline: Bool = false,
    async: Bool = false
  ) -> CrashReport.Frame {
    CrashReport.Frame(
      address: address, symbolAddress: address, function: function, mangled: "$s10CartServer", file: file,
      line: line, column: column, image: server, isInline: inline, isAsync: async, isOwn: true,
      trust: async ? .async : .cfi)
  }

  private static func frame(
    _ address: Address, _ function: String, file: String? = nil, line: Int? = nil, image: String,
    isAsync: Bool = false, trust: CrashReport.Trust = .cfi
  ) -> CrashReport.Frame {
    CrashReport.Frame(
      address: address, function: function, file: file, line: line, image: image, isAsync: isAsync,
      trust: trust)
  }
}
