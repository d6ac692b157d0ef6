internal import CShimQuarantine
import Synchronization

/// Stores, for each class, the protection requests of the operator, the program and crashd, and the effective setting.
///
/// An operator's override takes precedence over the program's request. The program's request takes precedence over
/// crashd's automatic protection.
///
/// Locking: the lock is not held during calls to the quarantine, because the quarantine can wait for deinits, and a
/// deinit can call this type.
final class Protections: Sendable {
  static let shared = Protections()

  /// The policy of a class, and the maximum number of its deallocated objects that the quarantine keeps.
  struct Setting: Sendable, Equatable {
    var policy: DanglingPolicy
    var limit: Int
  }

  /// What a request sets for one class: protection with a setting, or no protection.
  enum Word: Sendable, Equatable {
    case protects(Setting)
    case refuses
  }

  /// The default budget of the quarantine.
  static let standardBudgetBytes: UInt64 = 1 << 20

  private let state = Mutex(State())

  /// Protects a class at the program's request; may be called from any thread.
  func protect(_ type: AnyClass, _ policy: DanglingPolicy, limit: Int) throws(Shield.ProtectionError) {
    // Check for an obstacle before locking. In a forked child, which is an obstacle, the lock can stay locked forever,
    // because a thread of the parent possibly held it at the fork.
    if let obstacle = Quarantine.obstacle { throw .unavailable(obstacle) }
    let metadata = Self.address(type)
    state.withLock { $0.entries[metadata, default: Entry()].program = .protects(Setting(policy: policy, limit: limit)) }
    try apply(metadata)
    applyBudget()
  }

  func unprotect(_ type: AnyClass) -> Bool {
    if Quarantine.obstacle != nil { return false }
    let metadata = Self.address(type)
    let wasProtected = state.withLock { state in
      state.entries[metadata, default: Entry()].program = .refuses
      return state.entries[metadata]?.present != nil
    }
    applyQuietly(metadata)
    return wasProtected
  }

  func setBudget(_ bytes: UInt64) {
    if Quarantine.obstacle != nil { return }
    state.withLock { $0.programBudget = bytes }
    applyBudget()
  }

  func setStacks(_ isOn: Bool) {
    if Quarantine.obstacle != nil { return }
    state.withLock { $0.programStacks = isOn }
    applyStacks()
  }

  private static func address(_ type: AnyClass) -> UInt { unsafe UInt(bitPattern: Quarantine.metadata(type)) }
}

// Handles the requests of crashd.
extension Protections {
  /// The result of a request for one class.
  enum Outcome: Sendable {
    case done
    case overruled
    case failed
  }

  /// Records crashd's request for the class whose metadata has this address, and applies the request.
  func remote(_ metadata: UInt, _ word: Word, isOperator: Bool, round: UInt32) -> Outcome {
    state.withLock { state in
      // crashd sends its requests in rounds: one round is the complete set of its current requests. Within a round, the
      // latest request for a class replaces the earlier requests for it. crashd first sends the request for all
      // classes, and then the more specific requests for named classes.
      if isOperator {
        state.entries[metadata, default: Entry()].operators = RemoteWord(word: word, round: round)
      } else {
        state.entries[metadata, default: Entry()].automatic = RemoteWord(word: word, round: round)
      }
    }
    do throws(Shield.ProtectionError) {
      try apply(metadata)
    } catch {
      return .failed
    }
    return state.withLock { $0.holds(word, of: metadata) } ? .done : .overruled
  }

  /// Applies crashd's settings for all classes.
  func remote(_ settings: RemoteSettings) {
    let changed = state.withLock { state in
      let wasOff = state.remote?.isOff ?? false
      state.remote = settings
      return wasOff != settings.isOff ? Array(state.entries.keys) : []
    }
    changed.forEach(applyQuietly)
    applyBudget()
    applyStacks()
  }

  /// Drops those requests of crashd that the current round of messages does not contain.
  /// - Returns: The number of classes that lost a request.
  func sweep(round: UInt32) -> Int {
    let (stale, wasOff) = state.withLock { state in
      let wasOff = state.remote?.isOff ?? false
      if state.remote?.round != round { state.remote = nil }
      let stale = state.entries.filter { $0.value.isStale(in: round) }.keys
      for metadata in stale { state.entries[metadata]?.forget(allBut: round) }
      return (Array(stale), wasOff && state.remote == nil ? Array(state.entries.keys) : [])
    }
    Set(stale + wasOff).forEach(applyQuietly)
    applyBudget()
    applyStacks()
    return stale.count
  }

  /// crashd's settings for all classes.
  struct RemoteSettings: Sendable {
    var round: UInt32
    var isOperator: Bool
    /// Whether all protection is off, regardless of the requests.
    var isOff: Bool
    var budgetBytes: UInt64
    var takesStacks: Bool
  }
}

// Determines the effective setting of each class, and applies it.
extension Protections {
  private struct RemoteWord {
    var word: Word
    /// The number of the latest round of crashd's messages that contained the request.
    var round: UInt32
  }

  private struct Entry {
    var program: Word?
    var operators: RemoteWord?
    var automatic: RemoteWord?
    /// The setting that the quarantine currently applies.
    var present: Setting?
    /// Whether a thread is applying a change; after the change, that thread checks whether another change is due.
    var isChanging = false

    var word: Word? { operators?.word ?? program ?? automatic?.word }

    func isStale(in round: UInt32) -> Bool { [operators, automatic].contains { $0 != nil && $0?.round != round } }

    mutating func forget(allBut round: UInt32) {
      if operators?.round != round { operators = nil }
      if automatic?.round != round { automatic = nil }
    }
  }

  private struct State {
    var entries: [UInt: Entry] = [:]
    var programBudget: UInt64?
    var programStacks: Bool?
    var remote: RemoteSettings?

    func wanted(_ entry: Entry) -> Setting? {
      guard remote?.isOff != true, case .protects(let setting) = entry.word else { return nil }
      return setting
    }

    func holds(_ word: Word, of metadata: UInt) -> Bool {
      guard let entry = entries[metadata] else { return false }
      return remote?.isOff != true && entry.word == word
    }

    var budgetBytes: UInt64 {
      if let remote, remote.isOperator, remote.budgetBytes > 0 { return remote.budgetBytes }
      if let programBudget { return programBudget }
      guard let remote, remote.budgetBytes > 0 else { return Protections.standardBudgetBytes }
      // If the program protects classes, crashd cannot lower the budget below the default, which the program would have
      // without crashd.
      let hasOwn = entries.values.contains { if case .protects = $0.program { true } else { false } }
      return hasOwn ? max(remote.budgetBytes, Protections.standardBudgetBytes) : remote.budgetBytes
    }

    var takesStacks: Bool {
      if let remote, remote.isOperator { return remote.takesStacks }
      return programStacks ?? remote?.takesStacks ?? true
    }
  }

  private enum Step {
    case list(Setting)
    case unlist
  }

  /// Returns the next step for a class; nil if the class's setting is applied already, or if another thread is applying
  /// it.
  private func begin(_ metadata: UInt) -> Step? {
    state.withLock { state in
      guard let entry = state.entries[metadata], !entry.isChanging else { return nil }
      let wanted = state.wanted(entry)
      guard wanted != entry.present else { return nil }
      state.entries[metadata]?.isChanging = true
      return wanted.map(Step.list) ?? .unlist
    }
  }

  private func apply(_ metadata: UInt) throws(Shield.ProtectionError) {
    while let step = begin(metadata) {
      var failure: Shield.ProtectionError?
      var present: Setting?
      switch step {
      case .list(let setting):
        do throws(Shield.ProtectionError) {
          try Quarantine.list(metadata, setting)
          present = setting
        } catch { failure = error }
      case .unlist:
        // Invariant: the quarantine only compares this address with others and never dereferences it.
        unsafe cs_quarantine_unlist(UnsafeRawPointer(bitPattern: metadata))
      }
      state.withLock { [present, failure] state in
        state.entries[metadata]?.present = present
        state.entries[metadata]?.isChanging = false
        // Remove the class from the table, because it cannot be protected.
        if failure != nil { state.entries[metadata] = nil }
      }
      if let failure { throw failure }
    }
  }

  private func applyQuietly(_ metadata: UInt) {
    do throws(Shield.ProtectionError) { try apply(metadata) } catch _ {
      // Ignore the error, because no caller could handle it.
    }
  }

  private func applyBudget() { cs_quarantine_set_budget(state.withLock { $0.budgetBytes }) }
  private func applyStacks() { cs_quarantine_set_stacks(state.withLock { $0.takesStacks }) }
}
