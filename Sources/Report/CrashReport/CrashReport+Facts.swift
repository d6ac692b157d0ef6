// Facts about the machine and the process, for all readable formats of a report.
extension CrashReport {
  /// A line with a title and a fact.
  ///
  /// A line whose fact is empty is not shown.
  typealias Fact = (title: String, text: String)

  /// The origin in the header of a report, such as `on web-3`, `pod shop-7c5` and `release shop@2.4.1`.
  ///
  /// The value is empty if host, pod, release, environment and user are unknown.
  var origins: [String] {
    ([machine?.host.map { "on \($0)" }, container?.pod.map { "pod \($0)" }].compactMap { $0 } + releases)
      .filter { !$0.isEmpty }
  }

  /// The architecture of the process, unless it is x86-64, which is the architecture of most reports.
  var architectureText: String {
    process.architecture.map { $0 == Architecture.x86_64.rawValue ? "" : CleanText.line($0) } ?? ""
  }

  /// The facts about the machine.
  var machineFacts: [Fact] {
    guard let machine else { return [] }
    let memory = machine.memoryBytes.map { "\(Quantity.size($0)) memory" }
    let processor = machine.processor.map { name in machine.processors.map { "\($0) × \(name)" } ?? name }
    return Self.known([
      ("Host", [machine.host, machine.id.map { "id \($0)" }].compactMap { $0 }.joined(separator: ", ")),
      ("System", [machine.distribution, machine.kernel].compactMap { $0 }.joined(separator: ", ")),
      ("Hardware", [processor, memory].compactMap { $0 }.joined(separator: ", ")),
    ])
  }

  /// The facts about the process and its resources.
  var processFacts: [Fact] {
    Self.known([
      ("Command", process.commandLine ?? ""),
      ("Uptime", process.uptime_ms.map { $0 < 1_000 ? "\($0)ms" : Quantity.duration($0 / 1_000) } ?? ""),
      ("Memory", memoryFacts), ("Files", descriptorFacts), ("Container", container?.text ?? ""),
      ("Pod", container?.podText ?? ""),
      ("Cgroup", process.cgroup ?? ""), ("Swift", process.swiftVersion ?? ""),
      ("Requests", process.requests.map(Self.text) ?? ""),
    ])
  }

  /// Returns the numbers of requests as text, such as `1200 begun, 1180 finished, 8 failed, 12 lost`.
  private static func text(_ requests: RequestCounts) -> String {
    "\(requests.begun) begun, \(requests.finished) finished, \(requests.failed) failed, \(requests.lost) lost"
      + (requests.isLookupRefused == true ? "; the request of a task is not found with this Swift runtime" : "")
  }

  private static func known(_ facts: [Fact]) -> [Fact] { facts.filter { !$0.text.isEmpty } }

  /// The memory of the process, such as `410.0 MiB resident (498.2 MiB at most); the limit is 512.0 MiB (cgroup, 511.9
  /// MiB used)`.
  private var memoryFacts: String {
    guard let resources, let resident = resources.residentBytes else { return "" }
    var more: [String] = []
    if let peak = resources.peakResidentBytes, peak > resident { more.append("\(Quantity.size(peak)) at most") }
    if let swap = resources.swapBytes, swap > 0 { more.append("\(Quantity.size(swap)) in swap") }
    var text = "\(Quantity.size(resident)) resident" + (more.isEmpty ? "" : " (\(more.joined(separator: ", ")))")
    if let limit = resources.memoryLimitBytes {
      let used = resources.groupBytes.map { "\(Quantity.size($0)) used" }
      let about = [resources.memoryLimitSource, used].compactMap { $0 }.joined(separator: ", ")
      text += "; the limit is \(Quantity.size(limit))" + (about.isEmpty ? "" : " (\(about))")
    }
    return text + readingAge(of: resources)
  }

  private var descriptorFacts: String {
    guard let resources, let open = resources.openDescriptors else { return "" }
    return "\(open) open" + (resources.descriptorLimit.map { ", the limit is \($0)" } ?? "")
  }

  /// Returns the text that states how long before the crash the resources were read.
  ///
  /// The result is empty if the resources were read during the crash.
  private func readingAge(of resources: Resources) -> String {
    guard let read = Timestamp.nanoseconds(rfc3339: resources.time), let end = Timestamp.nanoseconds(rfc3339: time),
      end > read, end - read >= 1_000_000_000
    else { return "" }
    let age = Quantity.duration(Int(clamping: (end - read) / 1_000_000_000))
    return ", \(age) before the \(death == nil ? "crash" : "end")"
  }
}
