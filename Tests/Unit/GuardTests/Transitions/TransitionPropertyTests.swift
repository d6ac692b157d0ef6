import CrashShieldGuards
import TestKit
import Testing

/// T30: requests random screen transitions, in random order.
@Suite
@MainActor
struct TransitionPropertyTests {
  @Test(
    "T30: the stack is never empty and has no screen twice, and transitions run one at a time and end",
    arguments: 1...20)
  func random(seed: UInt64) async {
    var random = SplitMix64(state: seed)
    let policies: [TransitionPolicy] = [.queue(), .queue(limit: 2), .drop, .replace]
    let navigation = Navigation(policies[Int(seed) % policies.count])
    let queue = navigation.queue
    var screens = (0..<8).map { Screen("\($0)") }
    var timeouts = 0
    for step in 1...10_000 {
      if step % 250 == 0 {
        await expire(navigation)
        timeouts += 1
      }
      let screen = screens[Int.random(in: 0..<screens.count, using: &random)]
      switch Int.random(in: 0..<12, using: &random) {
      case 0...3: queue.push(screen, animated: Bool.random(using: &random))
      case 4, 5: queue.pop()
      case 6: queue.pop(to: screen)
      case 7: queue.popToRoot(animated: false)
      case 8 where queue.isTransitioning: navigation.driver.finish(.cancelled)
      case 9 where !navigation.driver.begun.isEmpty:
        // Reports the end of a random transition again, unless it is the running one.
        let number = Int.random(in: 0..<navigation.driver.begun.count, using: &random)
        if number < navigation.driver.begun.count - 1 || !queue.isTransitioning {
          navigation.driver.finishAgain(number)
        }
      case 10: screens[Int.random(in: 0..<screens.count, using: &random)] = Screen("new")
      default:
        if queue.isTransitioning { navigation.driver.finish() }
        await Task.yield()
      }
      let isSound =
        !queue.stack.isEmpty && queue.stack.first === navigation.home
        && Set(queue.stack.map(ObjectIdentifier.init)).count == queue.stack.count && navigation.driver.mostRunning <= 1
      guard isSound else {
        Issue.record("seed \(seed): \(navigation.names), \(navigation.driver.mostRunning) at once")
        return
      }
    }
    await navigation.settle()
    #expect(queue.isIdle && queue.pendingCount == 0 && timeouts == 40)
  }

  /// Lets a transition end by its timeout: the driver does not report its end.
  ///
  /// The transitions that wait in the queue also end.
  private func expire(_ navigation: Navigation) async {
    await navigation.settle()
    let queue = navigation.queue
    queue.timeout = .milliseconds(1)
    #expect(queue.push(Screen("expires")) == .started)
    queue.timeout = .seconds(600)
    let isWaiting = queue.push(Screen("waits")) == .queued
    let number = navigation.driver.begun.count
    navigation.driver.abandon()
    while queue.isTransitioning && navigation.driver.begun.count == number { await Task.yield() }
    if isWaiting { await navigation.begun(number + 1) }
  }
}
