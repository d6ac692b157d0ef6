import CrashShield
import CrashShieldGuards
import Testing

/// Tests the rules of the transition queue, which runs screen transitions (pushes and pops) one at a time.
///
/// Each test has the number of its rule (T1 to T29; T30 is in TransitionPropertyTests).
@Suite
@MainActor
struct TransitionTests {
  let a = Screen("a")
  let b = Screen("b")
  let c = Screen("c")

  @Test("T1: of two simultaneous pushes, the second starts after the end of the first")
  func nestedPush() async {
    let navigation = Navigation()
    #expect(navigation.queue.push(a) == .started)
    #expect(navigation.queue.push(b) == .queued)
    #expect(navigation.driver.begun.count == 1)
    navigation.driver.finish()
    await navigation.begun(2)
    #expect(navigation.names == ["home", "a", "b"] && navigation.driver.mostRunning == 1)
  }

  @Test("T2: two pushes and two pops lead back to the first screen")
  func twoBack() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    navigation.queue.push(b)
    navigation.queue.pop()
    navigation.queue.pop()
    await navigation.settle()
    #expect(navigation.names == ["home"] && navigation.driver.begun.count == 4)
  }

  @Test("T3: a screen whose push is running or waiting is not pushed again")
  func sameTwice() async {
    let navigation = Navigation()
    let first = #line
    navigation.queue.push(a)
    #expect(navigation.queue.push(a) == .dropped(.duplicate))
    navigation.queue.push(b)
    #expect(navigation.queue.push(b) == .dropped(.duplicate))
    #expect(reasons(from: first, to: #line) == Array(repeating: "a transition of Screen dropped: duplicate", count: 2))
    await navigation.settle()
    #expect(navigation.names == ["home", "a", "b"])
  }

  @Test("T4: a screen that was popped may be pushed again")
  func afterPop() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    navigation.queue.pop()
    #expect(navigation.queue.push(a) == .queued)
    await navigation.settle()
    navigation.queue.pop()
    await navigation.settle()
    #expect(navigation.queue.push(a) == .started)
  }

  @Test("T5: a screen in the stack is not pushed again")
  func inStack() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    await navigation.settle()
    #expect(navigation.queue.push(navigation.home) == .dropped(.duplicate))
    #expect(navigation.names == ["home", "a"])
  }

  @Test("T6: with the policy drop, a push during another push is dropped")
  func drop() async {
    let navigation = Navigation(.drop)
    let first = #line
    navigation.queue.push(a)
    #expect(navigation.queue.push(b) == .dropped(.busy))
    #expect(reasons(from: first, to: #line) == ["a transition of Screen dropped: busy"])
    await navigation.settle()
    #expect(navigation.names == ["home", "a"])
  }

  @Test("T7: an unanimated transition never overlaps another, and is dropped with the policy drop")
  func notAnimated() async {
    for policy in [TransitionPolicy.queue(), .replace] {
      let navigation = Navigation(policy)
      navigation.queue.push(a)
      #expect(navigation.queue.push(b, animated: false) == .queued)
      await navigation.settle()
      #expect(navigation.names == ["home", "a", "b"] && navigation.driver.mostRunning == 1)
    }
    let navigation = Navigation(.drop)
    navigation.queue.push(a)
    #expect(navigation.queue.push(b, animated: false) == .dropped(.busy))
  }

  @Test("T8: animated and unanimated pushes run in order, with one call each")
  func mixed() async {
    let navigation = Navigation()
    let d = Screen("d")
    for screen in [a, b, c] { navigation.queue.push(screen, animated: false) }
    navigation.queue.push(d)
    await navigation.settle()
    #expect(navigation.names == ["home", "a", "b", "c", "d"])
    #expect(navigation.log.lines.filter { $0.hasPrefix("show") } == ["show a", "show b", "show c", "show d"])
    #expect(navigation.driver.begun.map(\.isAnimated) == [false, false, false, true])
  }

  @Test("T9: three pops that are requested together run one after another")
  func popsInRow() async {
    let navigation = Navigation()
    for screen in [a, b, c] { navigation.queue.push(screen) }
    await navigation.settle()
    for _ in 0..<3 { navigation.queue.pop() }
    await navigation.settle()
    #expect(navigation.names == ["home"] && navigation.driver.mostRunning == 1)
  }

  @Test("T10: a pop checks whether there is a screen to pop when the pop starts")
  func popAtRoot() async {
    let navigation = Navigation()
    #expect(navigation.queue.pop() == .dropped(.atRoot) && navigation.queue.popToRoot() == .dropped(.atRoot))
    navigation.queue.push(a)
    #expect(navigation.queue.pop() == .queued && navigation.queue.pop() == .queued)
    await navigation.settle()
    #expect(navigation.names == ["home"] && navigation.log.lines.last == "drop atRoot")
  }

  @Test("T11: a pop during a push is queued, and runs after the screen is shown")
  func popWhilePushing() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    #expect(navigation.queue.pop() == .queued)
    await navigation.settle()
    #expect(navigation.log.lines == ["begin a", "show a", "begin home", "show home"])
  }

  @Test("T12: a push during a pop is queued")
  func pushWhilePopping() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    await navigation.settle()
    navigation.queue.pop()
    #expect(navigation.queue.push(b) == .queued)
    await navigation.settle()
    #expect(navigation.names == ["home", "b"])
  }

  @Test("T13: a pop to a screen checks for that screen when the pop starts")
  func targetLeft() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    navigation.queue.push(b)
    await navigation.settle()
    navigation.queue.popToRoot()
    #expect(navigation.queue.pop(to: a) == .queued)
    await navigation.settle()
    #expect(navigation.names == ["home"] && navigation.log.lines.last == "drop notInStack")
    #expect(navigation.queue.pop(to: c) == .dropped(.notInStack))
  }

  @Test("T14: the queue keeps a reference to a popped screen until the transition ends")
  func leftScreen() async {
    let navigation = Navigation()
    weak var left: Screen?
    do {
      let screen = Screen("left")
      left = screen
      navigation.queue.push(screen)
    }
    await navigation.settle()
    navigation.queue.pop()
    navigation.driver.forgetBegun()
    #expect(left != nil && navigation.names == ["home"])
    navigation.driver.finish()
    await navigation.settle()
    #expect(left == nil)
  }

  @Test("T15: a swipe is refused during a transition, and at the first screen")
  func interactive() async {
    let navigation = Navigation()
    #expect(!navigation.queue.isInteractivePopEnabled)
    navigation.queue.push(a)
    #expect(!navigation.queue.isInteractivePopEnabled)
    await navigation.settle()
    #expect(navigation.queue.isInteractivePopEnabled)
    navigation.queue.pop()
    #expect(!navigation.queue.isInteractivePopEnabled)
    await navigation.settle()
    #expect(!navigation.queue.isInteractivePopEnabled)
  }

  @Test("T16: a canceled swipe leaves the stack unchanged, and the next transition runs")
  func cancelled() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    await navigation.settle()
    navigation.queue.pop()
    navigation.queue.push(b)
    navigation.driver.finish(.cancelled)
    await navigation.begun(3)
    #expect(navigation.names == ["home", "a", "b"] && navigation.log.lines.contains("keep a"))
  }

  @Test("T17: a transition that never ends is ended by its timeout, and the next one starts")
  func timeout() async {
    let navigation = Navigation(timeout: .milliseconds(1))
    let first = #line
    navigation.queue.push(a)
    navigation.queue.push(b)
    let last = #line
    await navigation.begun(2)
    while !navigation.queue.isIdle { await Task.yield() }
    #expect(navigation.names == ["home", "a", "b"])
    // Each of the two records must have the call site of its own transition.
    let reason = "a transition of Screen that its driver did not end"
    #expect(reasons(from: first, to: last) == [reason, reason])
  }

  @Test("T18: a late or repeated report of the end of a transition starts no other transition")
  func lateEnd() async {
    let navigation = Navigation()
    navigation.queue.push(a)
    navigation.queue.push(b)
    navigation.queue.push(c)
    navigation.driver.finish()
    await navigation.begun(2)
    navigation.driver.finishAgain(0)
    navigation.driver.finishAgain(0, .cancelled)
    for _ in 0..<10 { await Task.yield() }
    #expect(navigation.driver.begun.count == 2 && navigation.names == ["home", "a", "b"])
    #expect(navigation.queue.isTransitioning)
  }

  @Test("T19: the next transition can start after each kind of end of a transition")
  func flags() async {
    let navigation = Navigation()
    for end in [TransitionEnd.completed, .cancelled] {
      navigation.queue.push(Screen("one"))
      #expect(navigation.queue.isTransitioning)
      navigation.driver.finish(end)
      #expect(!navigation.queue.isTransitioning && navigation.queue.isIdle)
    }
  }

  @Test("T20: a driver that is deallocated during a transition leaves the queue usable")
  func driverGoes() async {
    var driver: ManualDriver? = ManualDriver()
    let queue = TransitionQueue(root: Screen("home"), driver: driver ?? ManualDriver(), timeout: .milliseconds(1))
    queue.push(a)
    driver = nil
    while !queue.isIdle { await Task.yield() }
    #expect(queue.push(b) == .started && queue.isIdle && queue.stack.count == 3)
  }

  @Test("T21: a transition queue is deallocated at once, together with its waiting screens")
  func release() async {
    weak var queue: TransitionQueue<ManualDriver>?
    weak var waiting: Screen?
    do {
      let driver = ManualDriver()
      let screens = TransitionQueue(root: Screen("home"), driver: driver)
      let screen = Screen("waiting")
      screens.push(a)
      screens.push(screen)
      queue = screens
      waiting = screen
    }
    #expect(queue == nil && waiting == nil)
  }

  @Test("T22: a delegate gets each call once, whenever it was set; nil and the queue itself get no call")
  func delegates() async {
    let navigation = Navigation()
    let other = Log()
    navigation.queue.push(a)
    navigation.queue.delegate = other
    navigation.driver.finish()
    navigation.queue.delegate = nil
    navigation.queue.push(b)
    await navigation.settle()
    navigation.queue.delegate = navigation.log
    navigation.queue.pop()
    await navigation.settle()
    #expect(other.lines == ["show a"])
    #expect(navigation.log.lines == ["begin a", "begin a", "show a"])
    navigation.queue.delegate = navigation.queue
    navigation.queue.push(c)
    await navigation.settle()
    #expect(navigation.names == ["home", "a", "c"] && notesToItself == 0)
  }

  @Test("T23: a push from didShow runs after the waiting transitions")
  func pushInCallback() async {
    let navigation = Navigation()
    navigation.log.onShow = { [queue = navigation.queue, log = navigation.log, c] in
      log.onShow = nil
      #expect(queue.push(c) == .queued)
    }
    navigation.queue.push(a)
    navigation.queue.push(b)
    await navigation.settle()
    #expect(navigation.names == ["home", "a", "b", "c"])
  }

  @Test("T24: the next transition starts after didShow, in a separate job of the main actor")
  func nextTurn() async {
    let navigation = Navigation()
    var wasTransitioning: [Bool] = []
    navigation.log.onShow = { [queue = navigation.queue] in wasTransitioning.append(queue.isTransitioning) }
    navigation.queue.push(a)
    navigation.queue.push(b)
    navigation.driver.finish()
    #expect(navigation.driver.begun.count == 1)
    await navigation.settle()
    #expect(wasTransitioning == [false, false])
  }

  @Test("T25: a push from a loading screen is not lost")
  func pushWhileLoading() async {
    let navigation = Navigation()
    navigation.driver.onBegin = { [driver = navigation.driver, queue = navigation.queue, b] _ in
      driver.onBegin = nil
      #expect(queue.push(b) == .queued)
    }
    #expect(navigation.queue.push(a) == .started)
    await navigation.settle()
    #expect(navigation.names == ["home", "a", "b"])
  }

  @Test("T26: with the policy replace, the last transition is performed, and each replaced one is reported once")
  func replace() async {
    let navigation = Navigation(.replace)
    navigation.queue.push(a)
    #expect(navigation.queue.push(b) == .queued)
    #expect(navigation.queue.push(c) == .replaced)
    await navigation.settle()
    #expect(navigation.names == ["home", "a", "c"])
    #expect(navigation.log.lines.count { $0 == "drop replaced" } == 1)
  }

  @Test("T27: a thousand taps queue at most as many transitions as the limit")
  func limit() async {
    let navigation = Navigation(.queue(limit: 16))
    navigation.queue.push(a)
    var full = 0
    for _ in 0..<1000 where navigation.queue.push(Screen("tap")) == .dropped(.full) { full += 1 }
    #expect(navigation.queue.pendingCount == 16 && full == 984)
    await navigation.settle()
    #expect(navigation.queue.stack.count == 18)
  }

  @Test("T28: a gate lets one of two taps pass, and the other gets nil")
  func gate() async {
    let gate = ExclusiveGate()
    let navigation = Navigation()
    let outcome = gate.run("tap") { () -> TransitionOutcome? in
      navigation.queue.push(a)
      return gate.run("tap") { navigation.queue.push(b) }
    }
    #expect(outcome == .some(.none) && navigation.queue.pendingCount == 0)
  }

  @Test("T29: transitions from many threads keep each thread's order")
  func threads() async {
    let navigation = Navigation(.queue(limit: 1000))
    let queue = navigation.queue
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          for number in 0..<20 {
            await MainActor.run { _ = queue.push(Screen("\(thread) \(number)"), animated: false) }
          }
        }
      }
    }
    await navigation.settle()
    let names = navigation.names.dropFirst()
    for thread in 0..<8 {
      let own = names.filter { $0.hasPrefix("\(thread) ") }
      #expect(own == (0..<20).map { "\(thread) \($0)" })
    }
  }

  /// The reasons of the transition incidents that the shield recorded for call sites on these lines.
  private func reasons(from first: Int, to last: Int) -> [String] {
    Shield.guardIncidents.filter {
      $0.kind == .transition && $0.fileID == #fileID && (first...last).contains(Int($0.line))
    }.map(\.reason)
  }
}
