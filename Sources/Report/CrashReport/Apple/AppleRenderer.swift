/// Renders a report in Apple's `.crash` format, for tools and people that read this format.
///
/// The layout follows Apple's article "Examining the fields in a crash report". Fields that do not exist on Linux are
/// omitted. A line of the stack has the frame's number, the image, the address, the symbol with its offset, and the
/// source location. The output contains no control characters except line feeds.
public struct AppleRenderer: Sendable {
  /// Creates a renderer.
  public init() {}

  /// Returns the rendered report, which ends with a line feed.
  public func render(_ report: CrashReport) -> String {
    var sections = [header(report), exception(report)]
    sections += report.threads.enumerated().map { thread($1, number: $0, in: report) }
    if let (number, crashed) = report.threads.enumerated().first(where: { $1.crashed }), !crashed.registers.isEmpty {
      sections.append(state(of: crashed, number: number, architecture: report.architecture))
    }
    sections.append(images(report))
    return sections.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
  }

  private func header(_ report: CrashReport) -> [String] {
    let process = report.process
    var rows = [
      ("Incident Identifier", report.id), ("Process", "\(process.name) [\(process.pid)]"),
      ("Path", process.executable), ("Identifier", process.unit ?? process.name),
      ("Version", report[.release].map { "\($0) (\(process.buildID))" } ?? process.buildID),
      ("Code Type", codeType(report)), ("User ID", String(process.uid)),
    ]
    rows += [("Date/Time", report.time), ("Launch Time", process.startTime), ("OS Version", system(report.machine))]
    rows.append(("Hardware Model", report.machine?.processor ?? ""))
    return rows.filter { !$0.1.isEmpty }.map { row($0, $1) }
  }

  /// Returns the architecture, as Apple's reports name it.
  private func codeType(_ report: CrashReport) -> String {
    switch report.architecture {
    case .x86_64: "X86-64 (Native)"
    case .aarch64: "ARM-64 (Native)"
    case nil: report.process.architecture ?? ""
    }
  }

  /// Returns the distribution, followed by the kernel version in parentheses.
  ///
  /// In Apple's own reports, the parentheses contain the build of the operating system.
  private func system(_ machine: CrashReport.Machine?) -> String {
    let kernel = machine?.kernel ?? "Linux"
    return machine?.distribution.map { "\($0) (\(kernel))" } ?? kernel
  }

  private func exception(_ report: CrashReport) -> [String] {
    let signal = report.signal
    let kind = Self.exceptionTypes[signal.name].map { "\($0) (\(signal.name))" } ?? signal.name
    var lines = [row("Exception Type", kind)]
    let address = signal.address.map { " at \(Self.padded($0))" } ?? ""
    lines.append(row("Exception Codes", signal.codeName + address))
    if let sender = signal.sender {
      lines.append(row("Terminating Process", "pid \(sender.pid), uid \(sender.uid)"))
    }
    if let number = report.threads.firstIndex(where: \.crashed) {
      lines.append(row("Triggered by Thread", String(number)))
    }
    lines += ["", "Application Specific Information:"]
    lines += [report.diagnosis.sentence, report.reason].filter { !$0.isEmpty }.flatMap(Self.lines)
    return lines
  }

  private func thread(_ thread: CrashReport.CrashedThread, number: Int, in report: CrashReport) -> [String] {
    let name = CleanText.line(thread.name)
    var lines = ["Thread \(number)\(thread.crashed ? " Crashed" : ""):" + (name.isEmpty ? "" : ":  \(name)")]
    if let silence = thread.silence {
      lines.append(silence.isBlocking ? "(thread blocks the sampling signal)" : "(thread did not answer in time)")
    }
    for (index, frame) in thread.frames.enumerated() {
      if index == thread.framesBeforeGap, let omitted = thread.framesOmitted { lines.append("... \(omitted) frames") }
      lines.append(self.frame(frame, number: index, in: report))
    }
    return lines
  }

  private func frame(_ frame: CrashReport.Frame, number: Int, in report: CrashReport) -> String {
    let image = frame.image?.split(separator: "/").last.map(String.init) ?? "???"
    var line = String(number).padded(to: 4) + CleanText.line(image).padded(to: 30) + " " + Self.padded(frame.address)
    line += " " + FrameText.name(of: frame)
    if !frame.isInline, let start = frame.symbolAddress, start <= frame.address {
      line += " + \(frame.address.rawValue - start.rawValue)"
    }
    if FrameText.sourceFile(of: frame) != nil {
      line += " (\(FrameText.place(of: frame, in: report)))"
    }
    return line + (frame.isInline ? " [inlined]" : "") + (frame.isAsync ? " [async]" : "")
  }

  private func state(
    of thread: CrashReport.CrashedThread, number: Int, architecture: Architecture?
  ) -> [String] {
    let isAArch64 = architecture == .aarch64
    let names = isAArch64 ? Self.order_aarch64(thread.registers.keys) : RegisterOrder.sorted(thread.registers.keys)
    let cells = names.map { name in
      let shown = isAArch64 ? Self.names_aarch64[name] ?? name : name
      return CleanText.line(shown).rightAligned(6) + ": " + Self.padded(thread.registers[name] ?? 0)
    }
    let rows = stride(from: 0, to: cells.count, by: 4).map { start in
      cells[start..<min(start + 4, cells.count)].joined(separator: "  ")
    }
    let kind =
      switch architecture {
      case .x86_64: "X86 Thread State (64-bit)"
      case .aarch64: "ARM Thread State (64-bit)"
      case nil: "Thread State"
      }
    return ["Thread \(number) crashed with \(kind):"] + rows
  }

  /// The Apple names of the registers that have a different name in Apple's reports.
  private static let names_aarch64 = ["x29": "fp", "x30": "lr", "pstate": "cpsr"]

  /// Sorts registers as in Apple's reports: the general registers by number, then `sp`, `pc`, `cpsr`, `far` and `esr`.
  private static func order_aarch64(_ names: some Collection<String>) -> [String] {
    let known = Architecture.aarch64.registerNames + [Architecture.aarch64.flagsName, "far", "esr"]
    return known.filter { names.contains($0) } + names.filter { !known.contains($0) }.sorted()
  }

  private func images(_ report: CrashReport) -> [String] {
    ["Binary Images:"]
      + report.images.map { image in
        let name = image.path.split(separator: "/").last.map(String.init) ?? image.path
        let build = image.buildID.isEmpty ? "" : " <\(CleanText.line(image.buildID))>"
        let range = "\(Self.padded(image.base)) - \(Self.padded(image.end))"
        return "\(range) \(CleanText.line(name)) (*)\(build) \(CleanText.line(image.path))"
      }
  }

  private func row(_ title: String, _ text: String) -> String { "\(title):".padded(to: 23) + CleanText.line(text) }

  private static func lines(_ text: String) -> [String] {
    CleanText.clean(text).split(separator: "\n").map(String.init)
  }

  private static func padded(_ address: Address) -> String {
    "0x" + address.rawValue.hexadecimal(digits: 16)
  }

  /// The Mach exceptions that correspond to the Linux signals.
  private static let exceptionTypes = [
    "SIGSEGV": "EXC_BAD_ACCESS", "SIGBUS": "EXC_BAD_ACCESS", "SIGILL": "EXC_BAD_INSTRUCTION",
    "SIGTRAP": "EXC_BREAKPOINT", "SIGFPE": "EXC_ARITHMETIC", "SIGABRT": "EXC_CRASH", "SIGSYS": "EXC_CRASH",
  ]
}
