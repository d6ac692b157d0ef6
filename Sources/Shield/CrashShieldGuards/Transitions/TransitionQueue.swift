internal import CrashShield

/// A stack of screens that performs one transition at a time.
///
/// A second transition during the first one corrupts a navigation stack: screens appear twice or get lost. In this
/// class, `policy` decides whether the second transition is queued, dropped, or replaces the queued transitions. The
/// caller receives the outcome. A dropped transition is recorded as `transition`. A queued transition begins in a
/// separate job of the main actor, never inside a delegate call for another transition.
///
/// ```swift
/// let screens = TransitionQueue(root: home, driver: self)
/// screens.push(details)    // .started
/// screens.push(comments)   // .queued
/// ```
///
/// The queue retains the screens, but not the driver and the delegate.
@MainActor
public final class TransitionQueue<Driver: TransitionDriver> {
  /// The type of a screen.
  public typealias Screen = Driver.Screen

  /// The screens; the last screen is visible, or becomes visible at the end of the current transition.
  ///
  /// The stack is never empty.
  public private(set) var stack: [Screen]
  /// The treatment of a transition that is requested during another one; a change applies to the next request.
  public var policy: TransitionPolicy
  /// The time after which the queue ends a transition that the driver has not ended; the queue then also records a
  /// fault.
  public var timeout: Duration
  /// The observer of the transitions.
  public weak var delegate: (any TransitionDelegate<Screen>)?

  private weak var driver: Driver?
  private var current: Transition<Screen>?
  private var before: [Screen] = []
  private var pending: [Transition<Screen>] = []
  private var isTelling = false
  private var isTurnComing = false
  /// The number of the current transition, which distinguishes its end from a late end of an earlier transition.
  private var generation = 0
  private var timer: Task<Void, Never>?

  /// Creates a queue that shows this screen.
  public init(
    root: Screen, driver: Driver, policy: TransitionPolicy = .queue(), timeout: Duration = .seconds(3)
  ) {
    stack = [root]
    self.driver = driver
    self.policy = policy
    self.timeout = timeout
  }

  /// Whether a transition is running.
  public var isTransitioning: Bool { current != nil }

  /// Whether no transition is running or queued.
  public var isIdle: Bool { current == nil && pending.isEmpty && !isTurnComing && !isTelling }

  /// The number of queued transitions.
  public var pendingCount: Int { pending.count }

  /// Whether the user is allowed to swipe the top screen away: false during a transition and for the first screen.
  public var isInteractivePopEnabled: Bool { isIdle && stack.count > 1 }

  /// Pushes a screen.
  @discardableResult
  public func push(
    _ screen: Screen, animated: Bool = true, fileID: StaticString = #fileID, line: UInt = #line
  ) -> TransitionOutcome {
    submit(.push(screen), animated, ShieldSite(fileID: fileID, line: line))
  }

  /// Pops the top screen.
  @discardableResult
  public func pop(
    animated: Bool = true, fileID: StaticString = #fileID, line: UInt = #line
  ) -> TransitionOutcome {
    submit(.pop, animated, ShieldSite(fileID: fileID, line: line))
  }

  /// Pops all screens above this one.
  @discardableResult
  public func pop(
    to screen: Screen, animated: Bool = true, fileID: StaticString = #fileID, line: UInt = #line
  ) -> TransitionOutcome {
    submit(.popTo(screen), animated, ShieldSite(fileID: fileID, line: line))
  }

  /// Pops all screens but the first.
  @discardableResult
  public func popToRoot(
    animated: Bool = true, fileID: StaticString = #fileID, line: UInt = #line
  ) -> TransitionOutcome {
    submit(.popToRoot, animated, ShieldSite(fileID: fileID, line: line))
  }

  private func submit(
    _ operation: Transition<Screen>.Operation, _ isAnimated: Bool, _ site: ShieldSite
  ) -> TransitionOutcome {
    let transition = Transition(operation: operation, isAnimated: isAnimated, site: site)
    if isIdle {
      if let reason = begin(transition) {
        note(transition, reason)
        return .dropped(reason)
      }
      return .started
    }
    let outcome = enqueue(transition)
    if case .dropped(let reason) = outcome { note(transition, reason) }
    return outcome
  }

  private func enqueue(_ transition: Transition<Screen>) -> TransitionOutcome {
    switch policy {
    case .drop: return .dropped(.busy)
    case .queue(let limit):
      if isPlanned(transition, behind: pending) { return .dropped(.duplicate) }
      if pending.count >= limit { return .dropped(.full) }
      pending.append(transition)
      return .queued
    case .replace:
      if isPlanned(transition, behind: []) { return .dropped(.duplicate) }
      let replaced = pending
      pending = [transition]
      for other in replaced { drop(other, .replaced) }
      return replaced.isEmpty ? .queued : .replaced
    }
  }

  /// Whether the screen that this transition pushes will already be in the stack after the queued transitions.
  private func isPlanned(_ transition: Transition<Screen>, behind waiting: [Transition<Screen>]) -> Bool {
    guard case .push(let screen) = transition.operation else { return false }
    let planned = waiting.reduce(stack) { stack, next in Self.stack(stack, after: next.operation) ?? stack }
    return planned.contains { $0 === screen }
  }

  /// Returns the stack after an operation; nil if the operation is impossible.
  private static func stack(_ stack: [Screen], after operation: Transition<Screen>.Operation) -> [Screen]? {
    switch operation {
    case .push(let screen): return stack.contains { $0 === screen } ? nil : stack + [screen]
    case .pop: return stack.count > 1 ? Array(stack.dropLast()) : nil
    case .popToRoot: return stack.count > 1 ? Array(stack.prefix(1)) : nil
    case .popTo(let screen):
      guard let place = stack.firstIndex(where: { $0 === screen }), place < stack.count - 1 else { return nil }
      return Array(stack[...place])
    }
  }

  private func reason(against operation: Transition<Screen>.Operation) -> TransitionOutcome.Reason {
    switch operation {
    case .push: .duplicate
    case .pop, .popToRoot: .atRoot
    case .popTo(let screen): stack.last === screen ? .duplicate : .notInStack
    }
  }

  /// Begins a transition; if it cannot begin, returns the reason.
  private func begin(_ asked: Transition<Screen>) -> TransitionOutcome.Reason? {
    guard let after = Self.stack(stack, after: asked.operation) else { return reason(against: asked.operation) }
    var transition = asked
    transition.from = stack.last
    transition.to = after.last
    before = stack
    stack = after
    current = transition
    generation += 1
    let generation = generation
    tell { $0.willBegin(transition) }
    guard let driver else {
      // The driver was deallocated: end the transition at once.
      finish(generation, .completed)
      return nil
    }
    timer = Task { [weak self, timeout] in
      if (try? await Task.sleep(for: timeout)) != nil { self?.expire(generation) }
    }
    driver.begin(transition) { [weak self] end in self?.finish(generation, end) }
    return nil
  }

  private func expire(_ generation: Int) {
    guard generation == self.generation, let current else { return }
    Shield.recordFault(.transition, at: current.site) { "a transition of \(Screen.self) that its driver did not end" }
    finish(generation, .completed)
  }

  /// Ends the transition of this generation.
  ///
  /// A late or second call has no effect, because the call's generation is outdated or no transition is running.
  private func finish(_ generation: Int, _ end: TransitionEnd) {
    guard generation == self.generation, let transition = current else { return }
    current = nil
    timer?.cancel()
    timer = nil
    if end == .cancelled { stack = before }
    before = []
    if let shown = stack.last { tell { $0.didShow(shown, after: transition, end) } }
    takeTurn()
  }

  /// Schedules the next transition in a separate job of the main actor.
  private func takeTurn() {
    guard !isTurnComing, !pending.isEmpty else { return }
    isTurnComing = true
    Task { [weak self] in self?.turn() }
  }

  private func turn() {
    isTurnComing = false
    while current == nil, !isTurnComing, !pending.isEmpty {
      let next = pending.removeFirst()
      if let reason = begin(next) { drop(next, reason) }
    }
  }

  private func drop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason) {
    note(transition, reason)
    tell { $0.didDrop(transition, reason) }
  }

  private func note(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason) {
    Shield.recordFault(.transition, at: transition.site) { "a transition of \(Screen.self) dropped: \(reason)" }
  }

  /// Calls the delegate; transitions that it requests during the call are queued.
  private func tell(_ body: (any TransitionDelegate<Screen>) -> Void) {
    guard let delegate, delegate !== self else { return }
    let wasTelling = isTelling
    isTelling = true
    body(delegate)
    isTelling = wasTelling
    if !wasTelling && current == nil { takeTurn() }
  }
}
