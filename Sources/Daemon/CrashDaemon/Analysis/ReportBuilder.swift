import CrashReport
import CrashRing
import CrashSymbols
import Glibc
import Synchronization

/// Builds the report of a process from its ring (crash records) and the symbols, without side effects.
struct ReportBuilder<Symbols: SymbolLookup> {
  let contents: RingContents
  let process: ProcessFacts
  let symbols: Symbols
  /// The environment and the resource usage of the process.
  var context: ProcessContext
  /// The variables in scope at the address of the first crash; nil if crashd did not request them.
  var scope: ScopeDescription?
  /// The classes to which the code of the functions in the call stack refers.
  var namedClasses: [ScopeDescription.NamedClass] = []
  /// The code before the instruction of the first crash; empty if crashd did not request it.
  var codeBefore: [UInt8] = []
  /// Whether crashd was able to read the class references in the code of every function for which it requested them.
  var hasAllClasses = false
  /// The accessed field that an earlier analysis found.
  ///
  /// This field is used if this analysis no longer has the evidence for the field.
  var earlierField: CrashReport.AccessedField?
  /// The diagnosis of an earlier analysis.
  var earlierDiagnosis: CrashReport.Diagnosis?
  /// Whether the process is known to have ended during its drain, in which it finishes its other requests after a trap.
  var hasInterruptedDrain = false
  /// The signal that ended the process; nil if it is not known yet.
  var endSignal: Int32?
  /// The non-fatal incidents before the crash, and the number of incidents that the report omits; see `noteHistory`.
  var incidents: [CrashReport.PastIncident] = []
  var incidentsOmitted = 0
  /// Caches the symbolicated frames of the first crash record.
  ///
  /// The cache is useful because the frames are needed three times: to select the scope, to request classes, and to
  /// write the report.
  private let expanded = ExpandedFrames<Symbols>()

  /// The maximum size of the strings in all frames of one report.
  ///
  /// The size is far below the message size that clients accept.
  static var frameLimitBytes: Int { 8 << 20 }

  init(_ contents: RingContents, process: ProcessFacts, symbols: Symbols) {
    self.contents = contents.withoutAbortFaults
    self.process = process
    self.symbols = symbols
    context = process.context
  }

  /// Builds the report; nil if no thread crashed.
  func report(id: String) -> CrashReport? {
    let records = latestFirst
    guard let first = records.first else { return nil }
    let threads = records.map(thread)
    let main = threads[0]
    var diagnosis = DiagnosisRule.diagnose(main.facts, at: Self.place(in: main.thread.frames))
    if let earlier = earlierDiagnosis, isBetter(earlier, than: diagnosis) { diagnosis = earlier }
    if diagnosis.cause == .dangling {
      diagnosis.className = main.facts.danglingClass
      // Keep the expected class of an earlier analysis if this analysis found no class. The image whose code refers to
      // the class has perhaps been removed since the earlier analysis.
      diagnosis.expectedClass =
        diagnosis.className == nil ? main.facts.expectedClass(by: diagnosis.rule) ?? diagnosis.expectedClass : nil
    }
    var report = CrashReport(
      id: id, time: Moment(nanoseconds: first.time_ns).description, process: identity, signal: signal(first),
      reason: main.facts.reason, diagnosis: diagnosis, threads: threads.map(\.thread) + others.map(thread),
      images: images,
      annotations: contents.annotations, breadcrumbs: breadcrumbs,
      group: Grouping.group(
        of: main.thread, kind: main.facts.kind, check: main.facts.check, process: process.identity.name, images: images,
        message: first.message, what: GroupTitle.text(of: diagnosis, main.facts)),
      losses: contents.losses.merging(process.cut) { $0 + $1 },
      timing: CrashReport.Timing(entry_ns: first.entry_ns, commit_ns: first.commit_ns, stored_ns: 0))
    report.otherGroups = otherGroups(Array(zip(records, threads).dropFirst()), than: report.group)
    report.replacedHandlers = replacedHandlers
    report.memoryOmitted = memoryOmitted
    if process.isImported {
      report.source = .recordLine
      // Omit the times, because they are readings from the clock of another boot, or of another machine.
      report.timing = nil
    }
    report.earlierRuntimeWarnings = main.facts.earlierWarnings
    report.raisedAgain = raisedAgain(slot: first.slot)
    report.guardedObject =
      main.facts.page?.object ?? main.facts.heldObject?.object.object
      ?? (diagnosis.cause == .dangling ? main.facts.freedRecord?.object : nil)
    putHistory(into: &report)
    putContext(into: &report)
    putRequests(into: &report, at: first.time_ns)
    putContainment(into: &report, first)
    noteGaps(in: &report)
    return report
  }

  /// Returns the crash groups of the other threads that crashed at the same time; nil if all of them have the same
  /// group as the report.
  private func otherGroups(
    _ threads: [(CrashRecord, (thread: CrashReport.CrashedThread, facts: CrashFacts))], than own: CrashReport.Group
  ) -> [CrashReport.Group]? {
    var keys: Set = [own.key]
    let groups = threads.filter { $0.0.sequence >= contents.survived }
      .map { record, other in
        Grouping.group(
          of: other.thread, kind: other.facts.kind, check: other.facts.check, process: process.identity.name,
          images: images, message: record.message,
          what: GroupTitle.text(of: DiagnosisRule.diagnose(other.facts, at: nil), other.facts))
      }
      .filter { keys.insert($0.key).inserted }
    return groups.isEmpty ? nil : groups
  }

  /// The reason why the report contains no memory; nil if it contains memory.
  ///
  /// A record that the process wrote before the operator withheld memory still contains memory. A report from such a
  /// record is an ordinary report with memory.
  private var memoryOmitted: CrashReport.MemoryOmission? {
    guard contents.records.allSatisfy({ $0.stack.isEmpty && $0.memory.isEmpty }) else { return nil }
    switch contents.memory.mode {
    case .none: return .program
    case .withheld: return .operator
    case .scrubbed, .full: return process.isImported ? .recordLine : nil
    }
  }

  /// Whether the earlier diagnosis is better than the new diagnosis.
  ///
  /// The image of the program has perhaps been removed since the earlier analysis. In this case, the new analysis lacks
  /// the evidence from the image's variables and functions.
  private func isBetter(_ earlier: CrashReport.Diagnosis, than diagnosis: CrashReport.Diagnosis) -> Bool {
    // Prefer the earlier diagnosis if this analysis cannot determine the expected class that the earlier diagnosis
    // possibly contains.
    if diagnosis.cause == .dangling, earlier.rule == diagnosis.rule { return scope == nil && namedClasses.isEmpty }
    guard diagnosis.cause != .dangling || diagnosis.rule == DiagnosisRule.reuseByCode else { return false }
    switch earlier.rule {
    case DiagnosisRule.reuse: return scope == nil
    case DiagnosisRule.field, DiagnosisRule.nullField: return codeBefore.isEmpty
    case DiagnosisRule.reuseByCode: return !hasAllClasses && diagnosis.cause != .dangling
    default: return false
    }
  }

  /// The crash records, starting with the crash that ended the process.
  ///
  /// The records are in the order in which the threads crashed. However, if the thread that ended the process is known,
  /// its record comes first. The records of earlier crashes, which the process survived, follow. If a handler of the
  /// program re-raised a signal, the record describes the original fault.
  var latestFirst: [CrashRecord] {
    let records = contents.records.map(contents.seen).sorted { $0.sequence < $1.sequence }
    let fatal = records.filter { $0.sequence >= contents.survived }
    return fatal.filter { $0.signal == endSignal } + fatal.filter { $0.signal != endSignal }
      + records.filter { $0.sequence < contents.survived }
  }

  /// Adds to the report why function names are missing, and why lines of in-app frames are missing.
  ///
  /// In-app frames belong to the program itself. Missing lines of other frames are not mentioned, because most
  /// libraries have no debug information.
  private func noteGaps(in report: inout CrashReport) {
    var (nameless, own): (Set<String>, Set<String>) = ([], [])
    for thread in report.threads {
      for frame in thread.frames where frame.mangled.isEmpty || frame.isOwn && frame.line == nil {
        guard let image = frame.image, !image.hasPrefix("[") else { continue }
        nameless.insert(image)
        if frame.isOwn { own.insert(image) }
      }
    }
    for (index, image) in report.images.enumerated() where nameless.contains(image.path) {
      let gap =
        image.buildID.isEmpty
        ? SymbolGap(reason: "it has no build id, by which symbols are found") : symbols.gap(buildID: image.buildID)
      if let gap, !gap.isNamesOnly || own.contains(image.path) { report.images[index].symbols = gap.reason }
    }
  }

  /// Returns the result of each diagnosis rule for the first crashed thread; empty if no thread crashed.
  func explanation() -> [CrashReport.RuleOutcome] {
    latestFirst.first.map { DiagnosisRule.explain(thread($0).facts) } ?? []
  }

  /// Returns the frame that the diagnosis names: the first in-app function.
  ///
  /// If there is no in-app function, the frame is that of the first named function that belongs neither to a runtime
  /// nor to generated code, and that is neither an entry point nor an async caller.
  private static func place(in frames: [CrashReport.Frame]) -> CrashReport.Frame? {
    frames.first { $0.isOwn && !$0.function.isEmpty }
      ?? frames.first {
        !$0.function.isEmpty && !$0.isAsync && $0.file?.hasSuffix("<compiler-generated>") != true
          && !Ownership.isPlumbing($0.mangled)
          && !Ownership.isRuntime($0.mangled) && !Grouping.isEntryPoint($0.mangled)
      }
  }

  /// The threads whose stacks the handler collected (the thread sweep), without the threads that crashed.
  ///
  /// A crashed thread is included if the process survived its crash.
  private var others: [ThreadRecord] {
    let crashed = Set(contents.records.filter { $0.sequence >= contents.survived }.map(\.tid))
    return contents.threads.filter { !crashed.contains($0.tid) }
  }

  var identity: CrashReport.ProcessIdentity {
    let identity = process.identity
    var found = CrashReport.ProcessIdentity(
      pid: Int(process.peer.pid), uid: Int(process.peer.uid), name: identity.name, executable: identity.executable,
      buildID: process.buildID, startTime: Moment(nanoseconds: identity.startTime_ns).description, unit: process.unit)
    found.architecture = identity.architecture.rawValue
    // The user who imported a record line (a crash record as text) was able to read this line, so the report is not
    // restricted to root.
    let isRestricted = process.isRestricted || contents.memory.isRestricted && !process.isImported
    if isRestricted { found.isRestricted = true }
    if process.isPIDClaimed { found.isPIDClaimed = true }
    return found
  }

  var images: [CrashReport.Image] {
    contents.images.sorted { $0.start < $1.start }.map {
      CrashReport.Image(path: $0.path, buildID: $0.buildID, base: Address($0.bias), end: Address($0.end))
    }
  }

  var breadcrumbs: [CrashReport.Breadcrumb] {
    contents.breadcrumbs.map {
      CrashReport.Breadcrumb(
        time: Moment(nanoseconds: $0.time_ns).description, text: $0.text, level: $0.level,
        category: $0.category.isEmpty ? nil : $0.category, metadata: $0.metadata.isEmpty ? nil : $0.metadata,
        request: $0.request.map { Int(clamping: $0) })
    }
  }
}

// Builds the threads of a report.
extension ReportBuilder {
  func thread(_ record: CrashRecord) -> (thread: CrashReport.CrashedThread, facts: CrashFacts) {
    let walk = FrameExpansion<Symbols>.Walk(
      frames: record.frames, head: record.frameHead, total: record.frameTotal)
    let expanded = expanded.of(slot: record.slot) { expansion(shares: contents.records.count).frames(of: walk) }
    var facts = facts(of: record, runtimeFailure: expanded.runtimeFailure, frames: expanded.frames)
    let placed = expanded.frames.withLine(of: RuntimeReports(facts.message).place)
    facts.protectedClasses = contents.protectedClasses
    facts.page = contents.pageIncident(of: record).map(page)
    facts.freedRecords = contents.freedRecords(of: record).map {
      FreedRecord(incident: $0, release: frames(at: $0.record?.stack ?? []))
    }
    facts.held = contents.heldObjects(of: record).map {
      FreedRecord(incident: $0, release: self.frames(at: $0.record?.stack ?? []))
    }
    if record.slot == latestFirst.first?.slot {
      var whole = scope ?? ScopeDescription([])
      whole.namedClasses = namedClasses
      facts.codeBefore = codeBefore
      facts.expectedClasses = facts.expectedClasses(in: whole)
      if facts.isNullAccess { facts.field = scope.flatMap { FieldGuess($0, facts).field } ?? earlierField }
    }
    let thread = CrashReport.CrashedThread(
      tid: Int(record.tid), name: record.threadName, crashed: true, signal: signal(record),
      reason: facts.reason.isEmpty ? nil : facts.reason, frames: placed, framesOmitted: expanded.omitted,
      framesBeforeGap: expanded.beforeGap, registers: registers(record), task: task(record.task),
      request: record.request.map { CrashReport.Request($0, at: record.time_ns) })
    return (thread, facts)
  }

  /// Returns the facts about a crash record for the diagnosis rules.
  private func facts(
    of record: CrashRecord, runtimeFailure: String? = nil, frames: [CrashReport.Frame] = []
  ) -> CrashFacts {
    CrashFacts(
      record: record, pid: contents.identity.pid, runtimeFailure: runtimeFailure, images: contents.images,
      frames: frames, words: record.memory.map { MemoryWords.Piece(start: $0.start, bytes: $0.bytes) },
      heap: HeapFacts(contents.memory, end: record.heapEnd))
  }

  private func page(_ incident: Incident) -> PageEvidence {
    let record = incident.record
    return PageEvidence(
      incident: incident, release: frames(at: record?.stack ?? []), allocation: frames(at: record?.origin ?? []))
  }

  /// Returns the frames of a stack that the ring stores outside the crash records.
  private func frames(at addresses: [UInt64]) -> [CrashReport.Frame] {
    let frames = IncidentBuilder.frames(at: addresses, images: contents.images, isFirstExact: false)
    let walk = FrameExpansion<Symbols>.Walk(frames: frames, head: frames.count, total: frames.count)
    return expansion(shares: contents.records.count).frames(of: walk).frames
  }

  /// Returns the expansion for one of `shares` threads, which divide half of the report's limit on strings.
  ///
  /// The crashed threads share one half of the limit, and all other threads share the other half.
  func expansion(shares: Int) -> FrameExpansion<Symbols> {
    FrameExpansion(images: contents.images, symbols: symbols, limitBytes: Self.frameLimitBytes / 2 / max(1, shares))
  }

  private func thread(_ record: ThreadRecord) -> CrashReport.CrashedThread {
    let walk = FrameExpansion<Symbols>.Walk(
      frames: record.frames, head: record.frameHead, total: record.frameTotal)
    let expanded = expansion(shares: contents.threads.count).frames(of: walk)
    let silence = CrashReport.Silence(isBlocking: record.answer == .blocked, runState: record.runState)
    // Omit the registers, because the registers of many waiting threads are almost the same.
    return CrashReport.CrashedThread(
      tid: Int(record.tid), name: record.name, crashed: false, frames: expanded.frames,
      framesOmitted: expanded.omitted, framesBeforeGap: expanded.beforeGap,
      silence: record.answer == .whole ? nil : silence, task: task(record.task))
  }

  private func task(_ facts: CrashRecord.TaskFacts?) -> CrashReport.Task? {
    facts.map {
      CrashReport.Task(id: Int($0.id), priority: Int($0.priority), name: $0.name.isEmpty ? nil : $0.name)
    }
  }

  func signal(_ record: CrashRecord) -> CrashReport.Signal {
    let isFault = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP].contains(record.signal) && record.code > 0
    // If si_code is SI_KERNEL (128), the signal has no address, and the field si_addr is 0.
    let hasAddress = isFault && record.code != 128
    return CrashReport.Signal(
      number: Int(record.signal), name: SignalNames.name(of: Int(record.signal)), code: Int(record.code),
      codeName: SignalNames.codeName(of: Int(record.code), signal: Int(record.signal)),
      address: hasAddress ? Address(record.address) : nil, sender: sender(record))
  }

  /// Returns the sender of a signal; nil if the kernel sent it.
  ///
  /// The crash record contains the sender's pid in the pid namespace of the crashed process. If the process sent the
  /// signal to itself, the report contains the pid that the process has in crashd's namespace.
  private func sender(_ record: CrashRecord) -> CrashReport.Sender? {
    guard CrashFacts.senderCodes.contains(record.code) else { return nil }
    let isItself = record.senderPid == contents.identity.pid
    return CrashReport.Sender(
      pid: Int(isItself ? process.peer.pid : record.senderPid), uid: Int(record.senderUid))
  }

  private func registers(_ record: CrashRecord) -> [String: Address] {
    var registers: [String: Address] = [:]
    let architecture = record.architecture
    for (name, value) in zip(architecture.registerNames, record.registers) { registers[name] = Address(value) }
    // Omit the flags register of a record without registers, because such a record does not contain the flags.
    if !registers.isEmpty { registers[architecture.flagsName] = Address(record.flags) }
    // On AArch64, reports contain the registers that describe a fault, as Apple's reports do.
    if !registers.isEmpty, architecture == .aarch64, record.errorCode != 0 {
      registers["esr"] = Address(record.errorCode)
      registers["far"] = Address(record.faultAddress)
    }
    return registers
  }
}

/// Caches the frames of the last symbolicated record for use by all steps that build the report.
private final class ExpandedFrames<Symbols: SymbolLookup>: Sendable {
  typealias Result = FrameExpansion<Symbols>.Result

  private let last = Mutex<(slot: Int, result: Result)?>(nil)

  func of(slot: Int, _ make: () -> Result) -> Result {
    if let last = last.withLock({ $0 }), last.slot == slot { return last.result }
    let result = make()
    last.withLock { $0 = (slot, result) }
    return result
  }
}
