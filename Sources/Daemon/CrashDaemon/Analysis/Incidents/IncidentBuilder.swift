import CShimRing
import CrashReport
import CrashRing

/// Builds the report of an incident (a fault that the process survived), with symbolicated addresses and a sentence
/// that states the cause.
struct IncidentBuilder: Sendable {
  private static let frameLimitBytes = 64 << 10

  var images: [RingContents.Image]
  var process: ProcessFacts
  var symbols: OpenCaches
  /// The requests that a trap ended while the process continued.
  var requests: [RingContents.Request] = []

  func report(of incident: Incident) -> IncidentReport {
    let expanded = expanded(incident.use, isFirstExact: incident.isExact)
    let found = expanded.frames
    let guarding = incident.source == .guarding ? GuardIncident(incident) : nil
    let use = guarding?.own(found) ?? found
    let mode = Self.name(incident.mode)
    let kind = Self.kind(incident)
    let object = incident.record.map { record in
      IncidentReport.Object(
        address: Address(record.address), record: Int(record.id), age_ns: Int(clamping: record.age_ns),
        thread: Int(record.tid), release: frames(of: record.stack),
        bytes: record.bytes == 0 ? nil : Int(record.bytes), allocationThread: record.originTid.map { Int($0) },
        allocation: record.origin.isEmpty ? nil : frames(of: record.origin))
    }
    let method = Self.method(of: incident).flatMap { frames(of: [$0], isFirstExact: true).last?.function }
    var report = IncidentReport(
      id: process.identity.ringID.prefix(16) + "-" + incident.key.hexadecimal(digits: 16),
      first: Moment(nanoseconds: incident.first_ns).description,
      last: Moment(nanoseconds: incident.last_ns).description, count: Int(clamping: incident.count),
      process: IncidentReport.Process(
        pid: Int(process.peer.pid), uid: Int(process.peer.uid), name: process.identity.name,
        executable: process.identity.executable, buildID: process.buildID),
      source: Self.name(incident.source), kind: kind, mode: mode,
      subject: guarding?.reason ?? (incident.subject.isEmpty ? expanded.runtimeFailure ?? "" : incident.subject),
      sentence: "",
      // Under the policy `absorb`, the quarantine of deallocated objects defers the deinit. Until the deferred deinit
      // runs, a use of the object can still be correct.
      confidence: incident.source == .quarantine && incident.mode == .absorb && kind != .handle
        ? .probable : .certain,
      method: method?.isEmpty == false ? method : nil, useThread: incident.useTid.map { Int($0) }, use: use,
      object: object, site: guarding?.site,
      registers: incident.trap.map { registers(of: $0, at: incident.use.first) })
    if process.isRestricted { report.process.isRestricted = true }
    report.request = incident.requestNumber.flatMap { number in
      requests.first { $0.number == number }.map { CrashReport.Request($0, at: incident.first_ns) }
    }
    report.sentence = CleanText.line(sentence(of: report, incident))
    return report
  }

  private func registers(of trap: Incident.Trap, at pc: UInt64?) -> [String: Address] {
    var registers: [String: Address] = [:]
    let architecture = process.identity.architecture
    for (name, value) in zip(architecture.registerNames, trap.registers) { registers[name] = Address(value) }
    if let pc { registers[architecture.registerName(architecture.programCounter)] = Address(pc) }
    registers[architecture.flagsName] = Address(trap.flags)
    return registers
  }

  /// Returns the frames of an incident: those of the use, of the object's record and of the called method.
  static func frames(of incident: Incident, images: [RingContents.Image]) -> [CrashRecord.Frame] {
    let record = incident.record.map { $0.stack + $0.origin } ?? []
    return frames(at: incident.use, images: images, isFirstExact: incident.isExact)
      + frames(at: record, images: images, isFirstExact: false)
      + frames(at: method(of: incident).map { [$0] } ?? [], images: images, isFirstExact: true)
  }

  /// Returns the frames whose functions the sentence about the incident can name.
  static func placeFrames(of incident: Incident, images: [RingContents.Image]) -> [CrashRecord.Frame] {
    frames(at: incident.use, images: images, isFirstExact: incident.isExact)
      + frames(at: method(of: incident).map { [$0] } ?? [], images: images, isFirstExact: true)
  }

  /// Returns the address of the called method.
  private static func method(of incident: Incident) -> UInt64? {
    incident.source == .pages ? nil : incident.method
  }

  static func frames(
    at addresses: [UInt64], images: [RingContents.Image], isFirstExact: Bool
  ) -> [CrashRecord.Frame] {
    addresses.enumerated().map { index, pc in
      CrashRecord.Frame(
        pc: pc, functionStart: nil, trust: .framePointer, isExact: isFirstExact && index == 0, isAsync: false,
        image: images.last { $0.start <= pc && pc < $0.end }?.index)
    }
  }

  private func frames(of addresses: [UInt64], isFirstExact: Bool = false) -> [CrashReport.Frame] {
    expanded(addresses, isFirstExact: isFirstExact).frames
  }

  private func expanded(_ addresses: [UInt64], isFirstExact: Bool) -> FrameExpansion<OpenCaches>.Result {
    let frames = Self.frames(at: addresses, images: images, isFirstExact: isFirstExact)
    let walk = FrameExpansion<OpenCaches>.Walk(frames: frames, head: frames.count, total: frames.count)
    return FrameExpansion(images: images, symbols: symbols, limitBytes: Self.frameLimitBytes).frames(of: walk)
  }

  private func sentence(of report: IncidentReport, _ incident: Incident) -> String {
    let after = report.object.map { " \(Self.duration($0.age_ns)) after its last release" } ?? " after its last release"
    let subject = report.subject.isEmpty ? "an object" : report.subject
    let what =
      switch report.kind {
      case _ where incident.source == .pages: PageIncident(incident).text
      case _ where incident.source != .quarantine: subject
      case .call, .asyncCall: "\(report.method ?? "a method") of \(subject) was called\(after)"
      case .overRelease: "\(subject) was released\(after)"
      case .retains:
        "\(subject) was retained \(counted(Int(clamping: incident.amount), "time")) more than released, after its "
          + "last release"
      case .handle: "a handle of \(subject) was used after its object was deallocated"
      case .write: "a field of \(subject) was written after its last release"
      default: "\(subject) was used\(after)"
      }
    // If the sentence begins with a name, do not capitalize the name, because users search reports for it.
    let isName = [incident.subject, report.method ?? ""].contains { !$0.isEmpty && what.hasPrefix($0) }
    let beginning = isName && incident.source != .guarding ? String(what.prefix(1)) : what.prefix(1).uppercased()
    if let site = report.site { return beginning + what.dropFirst() + " (\(site))." }
    // If there is no in-app frame, use a compiler-generated function from the program's image.
    let own =
      report.use.first { $0.isOwn && !$0.function.isEmpty }
      ?? report.use.first { $0.image == process.identity.executable && !$0.function.isEmpty }
    let file = own?.file?.split(separator: "/").last.map(String.init)
    let position = [file, own?.line.map(String.init)].compactMap { $0 }.joined(separator: ":")
    let place = own.map { " in \(FunctionName.short($0.function))" + (position.isEmpty ? "" : " (\(position))") } ?? ""
    if incident.source == .isolated {
      return "\(Self.trapped(incident, report.request)) trapped\(place)"
        + (report.subject.isEmpty ? "." : ": \(report.subject)")
    }
    return beginning + what.dropFirst() + place + "."
  }

  /// Returns the name of the work that a trap ended, such as `Request GET /cart`.
  private static func trapped(_ incident: Incident, _ request: CrashReport.Request?) -> String {
    guard let number = incident.requestNumber else { return "Isolated work" }
    let operation = request?.operation ?? ""
    return "Request \(operation.isEmpty ? "\(number)" : operation)"
  }

  static func duration(_ nanoseconds: Int) -> String {
    switch nanoseconds {
    case ..<1_000: "\(nanoseconds) ns"
    case ..<1_000_000: "\(nanoseconds / 1_000) µs"
    case ..<1_000_000_000: "\(nanoseconds / 1_000_000) ms"
    default: "\(nanoseconds / 1_000_000_000) s"
    }
  }

  private static func name(_ source: Incident.Source) -> IncidentReport.Source {
    switch source {
    case .quarantine: .quarantine
    case .guarding: .guarding
    case .pages: .pages
    case .isolated: .isolated
    case .other(let code): .init("\(code)")
    }
  }

  static func name(_ mode: Incident.Mode) -> IncidentReport.Mode {
    switch mode {
    case .absorb: .absorb
    case .zero: .zero
    case .diagnose: .diagnose
    case .observe: .observe
    case .crash: .crash
    case .other(let code): .init("\(code)")
    }
  }

  private static func kind(_ incident: Incident) -> IncidentReport.Kind {
    switch incident.source {
    case .quarantine: kind(incident.kind)
    case .pages: PageIncident(incident).kind
    case .guarding: GuardIncident(incident).kind
    case .isolated: trapKind(incident.kind)
    case .other: .init("\(incident.kind)")
    }
  }

  private static func trapKind(_ code: UInt32) -> IncidentReport.Kind {
    switch cs_ring_contained(rawValue: code) {
    case .CS_RING_CONTAINED_TRAP: .trap
    case .CS_RING_CONTAINED_REQUEST: .requestTrap
    default: .init("\(code)")
    }
  }

  static func kind(_ code: UInt32) -> IncidentReport.Kind {
    switch cs_ring_dangling(rawValue: code) {
    case .CS_RING_DANGLING_CALL: .call
    case .CS_RING_DANGLING_ASYNC_CALL: .asyncCall
    case .CS_RING_DANGLING_OVER_RELEASE: .overRelease
    case .CS_RING_DANGLING_DRIFT: .retains
    case .CS_RING_DANGLING_WRITE: .write
    case .CS_RING_DANGLING_HANDLE: .handle
    default: .init("\(code)")
    }
  }
}
