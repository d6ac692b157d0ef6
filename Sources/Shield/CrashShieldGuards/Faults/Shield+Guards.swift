public import CrashShield
internal import CShim
internal import CShimQuarantine
internal import CShimRing
internal import Synchronization

extension Shield {
  /// Sets how guards of a kind react to faults, from the next fault on.
  ///
  /// Until this call, the mode comes from `CRASHSHIELD_GUARDS`, such as `observe` or `absorb,cast=off`; if the variable
  /// is not set, the mode is `absorb`. An operator's override (`crashctl guards set`) takes precedence; when the
  /// override is removed, this mode applies again. May be called from any thread; the call stores one atomic byte.
  public static func setMode(_ mode: ShieldMode, for kind: ShieldKind) {
    _ = Guards.environment
    cs_guard_set_mode(UInt32(kind.rawValue), mode.code)
  }

  /// Sets how guards of every kind react to faults.
  public static func setMode(_ mode: ShieldMode) {
    for kind in ShieldKind.allCases { setMode(mode, for: kind) }
  }

  /// Returns the effective mode of a kind: an operator's override (`crashctl guards set`), else the program's mode.
  ///
  /// Do not save this mode to restore it later with `setMode`: an operator's override would become the program's mode.
  public static func mode(for kind: ShieldKind) -> ShieldMode {
    _ = Guards.environment
    return ShieldMode(cs_guard_mode_of(UInt32(kind.rawValue)))
  }

  /// Sets the observer of faults, or removes it with nil.
  ///
  /// The shield calls the observer for the first fault of each kind and call site, then for the 10th, the 100th and so
  /// on. The shield calls the observer on the faulting thread, without holding a lock of the shield. The call happens
  /// before the guard returns its value, or under `observe`, before the process ends. Faults inside the observer do not
  /// call the observer again. crashd receives the faults with or without an observer. May be called from any thread.
  public static func onIncident(_ observer: (@Sendable (ShieldIncident) -> Void)?) {
    // The release of the previous observer can run deinits of the program. `holding` lets a trap in such a deinit end
    // the process, because otherwise the lock would stay locked.
    holding { Guards.observer.withLock { $0 = observer } }
  }

  /// The faults that guards of this process recorded: at most 1,024 distinct faults, in no particular order.
  public static var guardIncidents: [ShieldIncident] {
    (0..<UInt32(CS_GUARD_SITES)).compactMap { place in
      // Invariant: records are never freed.
      unsafe cs_guard_at(place).map { unsafe ShieldIncident($0) }
    }
  }

  /// The number of distinct faults dropped because the incident table was full.
  public static var droppedIncidentCount: Int { Int(clamping: cs_guard_lost()) }

  /// Records and counts a fault, except under `off`, and returns whether the guard must absorb the fault.
  ///
  /// Every guard of the shield calls this function; guards of your own can call it, too. Later faults of the same kind
  /// at the same call site are only counted. A call takes a tenth of a microsecond; the first call for a call site
  /// takes some microseconds.
  ///
  /// - Parameters:
  ///   - kind: The kind of the fault.
  ///   - site: The call site of the guard.
  ///   - reason: A description with types and numbers, never values. Evaluated for the first fault only.
  /// - Returns: True if the guard must return its fallback value; false if it must perform the plain operation.
  @inline(never)
  public static func handleFault(_ kind: ShieldKind, at site: ShieldSite, _ reason: () -> String) -> Bool {
    handleFault(kind, at: site, apart: 0, reason)
  }

  /// Handles a fault of a guard that can record several faults at one call site; `number` distinguishes them.
  ///
  /// Each number has a record of its own. Use few numbers, because the table of records is small.
  package static func handleFault(
    _ kind: ShieldKind, at site: ShieldSite, apart number: UInt, _ reason: () -> String
  ) -> Bool {
    if SelfTest.hasMade(site) {
      SelfTest.meet(kind, site, reason)
      return true
    }
    let mode = mode(for: kind)
    if mode == .off { return false }
    Guards.record(kind, mode, site, pc: number, reason)
    return mode == .absorb
  }

  /// Records a fault for which there is no plain operation; does nothing under `off`.
  @inline(never)
  public static func recordFault(_ kind: ShieldKind, at site: ShieldSite, _ reason: () -> String) {
    _ = handleFault(kind, at: site, reason)
  }
}

/// The Swift interface of the guards' C code.
enum Guards {
  static let observer = Mutex<(@Sendable (ShieldIncident) -> Void)?>(nil)

  // If `site` is nil, `pc` is the call site: the return address in the faulting function. Otherwise, `pc` is a number
  // that distinguishes several faults at this source location. The recorded stack begins at `start`, or at the
  // innermost frame if `start` is 0.
  static func record(
    _ kind: ShieldKind, _ mode: ShieldMode, _ site: ShieldSite?, pc: UInt = 0, from start: UInt = 0,
    _ reason: () -> String
  ) {
    var count: UInt64 = 0
    guard let record = unsafe counted(kind, site, pc, &count) else { return }
    if count == 1 { unsafe describe(record, mode, from: start, reason()) }
    unsafe GuardRecords.publish(record)
    if count.isPowerOfTen, cs_guard_enter_observer() {
      if let observer = presentObserver() { unsafe observer(ShieldIncident(record)) }
      cs_guard_leave_observer()
    }
  }

  /// Not inlined, because Tests/tsan-suppressions contains the name of this function.
  @inline(never)
  private static func presentObserver() -> (@Sendable (ShieldIncident) -> Void)? { observer.withLock { $0 } }

  private static func counted(
    _ kind: ShieldKind, _ site: ShieldSite?, _ pc: UInt, _ count: inout UInt64
  ) -> OpaquePointer? {
    guard let site else {
      var c = unsafe cs_guard_site(file: nil, file_bytes: 0, line: 0, kind: UInt32(kind.rawValue), pc: UInt64(pc))
      // Invariant: the C function reads the site only during the call.
      return unsafe cs_guard_count(&c, &count)
    }
    return site.fileID.withUTF8Buffer { file in
      // Invariant: the C function reads the site only during the call.
      var c = unsafe cs_guard_site(
        file: file.baseAddress, file_bytes: UInt32(clamping: file.count), line: UInt32(clamping: site.line),
        kind: UInt32(kind.rawValue), pc: UInt64(pc))
      return unsafe cs_guard_count(&c, &count)
    }
  }

  private static func describe(_ record: OpaquePointer, _ mode: ShieldMode, from start: UInt, _ reason: String) {
    var here = cs_quarantine_stack()
    // Invariant: the C function fills in the whole structure.
    unsafe cs_quarantine_here(&here)
    var reason = reason
    reason.withUTF8 { reason in
      unsafe withUnsafeBytes(of: here.frames) { bytes in
        // Invariant: only the frames that the C function wrote are read.
        let all = unsafe Array(bytes.bindMemory(to: UInt64.self).prefix(Int(here.count)))
        let frames = own(all, from: UInt64(start))
        unsafe frames.withUnsafeBufferPointer { frames in
          // Invariant: the C function copies strings and frames during the call.
          var details = unsafe cs_guard_details(
            reason: reason.baseAddress, reason_bytes: UInt32(clamping: reason.count), mode: mode.code,
            thread: Int32(clamping: here.thread), frame_count: UInt32(clamping: frames.count),
            task: cs_guard_task(), frames: frames.baseAddress)
          unsafe cs_guard_describe(record, &details)
        }
      }
    }
  }

  /// Returns the frames from the call site on, without the frames of the guard.
  ///
  /// Returns only the call site if the stack does not contain it.
  private static func own(_ frames: [UInt64], from pc: UInt64) -> [UInt64] {
    if pc == 0 { return frames }
    return frames.firstIndex(of: pc).map { Array(frames[$0...]) } ?? [pc]
  }
}

extension UInt64 {
  fileprivate var isPowerOfTen: Bool {
    var rest = self
    while rest > 9 {
      guard rest % 10 == 0 else { return false }
      rest /= 10
    }
    return rest == 1
  }
}

extension ShieldMode {
  init(_ code: cs_mode) {
    switch code {
    case .CS_MODE_OBSERVE: self = .observe
    case .CS_MODE_ABSORB: self = .absorb
    default: self = .off
    }
  }

  var code: cs_mode {
    switch self {
    case .off: .CS_MODE_OFF
    case .observe: .CS_MODE_OBSERVE
    case .absorb: .CS_MODE_ABSORB
    }
  }
}

extension ShieldIncident {
  init(_ record: OpaquePointer) {
    var copy = cs_guard_copy()
    // Invariant: the call fills in `copy` completely. After a record is finished, only its count changes.
    unsafe cs_guard_read(record, &copy)
    // C arrays are tuples in Swift. Invariant: the counts are not larger than the arrays.
    let file = unsafe withUnsafeBytes(of: copy.file) {
      unsafe String(decoding: $0.prefix(Int(copy.file_bytes)), as: UTF8.self)
    }
    let reason = unsafe withUnsafeBytes(of: copy.reason) {
      unsafe String(decoding: $0.prefix(Int(copy.reason_bytes)), as: UTF8.self)
    }
    let frames = unsafe withUnsafeBytes(of: copy.frames) { bytes in
      unsafe bytes.bindMemory(to: UInt64.self).prefix(Int(copy.frame_count)).map { UInt($0) }
    }
    self.init(
      kind: ShieldKind(rawValue: UInt8(clamping: copy.kind)) ?? .precondition, mode: ShieldMode(copy.mode),
      reason: reason,
      fileID: file, line: Int(copy.line), count: Int(clamping: copy.count), thread: Int(copy.thread),
      task: copy.task == 0 ? nil : copy.task, frames: frames)
  }
}
