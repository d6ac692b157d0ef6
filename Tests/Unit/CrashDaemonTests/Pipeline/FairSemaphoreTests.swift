import Glibc
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

struct FairSemaphoreTests {
  /// Records the order in which callers get a permit.
  private final class Guests: Sendable {
    private let state = Mutex<(names: [String], permits: [FairSemaphore.Permit])>(([], []))
    var list: [String] { state.withLock { $0.names } }

    func come(_ name: String, _ permit: FairSemaphore.Permit) {
      state.withLock { state in
        state.names.append(name)
        state.permits.append(permit)
      }
    }

    /// Releases the oldest permit.
    func leave() { state.withLock { $0.permits.removeFirst() }.giveBack() }
  }

  private func semaphore(
    total: Int, perUser: Int, hasReserve: Bool = false, _ accounts: UserAccounts = .system
  ) -> FairSemaphore {
    FairSemaphore(PermitLimit(total: total, perUser: perUser, hasReserve: hasReserve), accounts)
  }

  /// Starts one more caller of `enter`.
  ///
  /// The caller waits in the queue when this function returns.
  private func queue(
    _ semaphore: FairSemaphore, _ user: UInt32, _ name: String, _ guests: Guests
  ) async -> Task<Void, Never> {
    let before = semaphore.waitingCount
    let task = Task { guests.come(name, await semaphore.enter(user)) }
    while semaphore.waitingCount == before { await Task.yield() }
    return task
  }

  @Test("a fair semaphore bounds the permits in total and per user")
  func limits() async {
    let semaphore = semaphore(total: 3, perUser: 2)
    let guests = Guests()
    let first = await semaphore.enter(1)
    let second = await semaphore.enter(1)
    let third = await queue(semaphore, 1, "1c", guests)
    // Another user gets a permit, although callers of the first user wait.
    let other = await semaphore.enter(2)
    let next = await queue(semaphore, 2, "2b", guests)
    #expect(semaphore.waitingCount == 2 && guests.list.isEmpty)
    // One permit is still free, but the first user has reached the limit for one user.
    other.giveBack()
    await next.value
    #expect(guests.list == ["2b"] && semaphore.waitingCount == 1)
    first.giveBack()
    await third.value
    #expect(guests.list == ["2b", "1c"] && semaphore.waitingCount == 0 && second.isHeld)
  }

  @Test("enter with a callback returns at once, and the callback gets the permit")
  func callback() {
    let semaphore = semaphore(total: 1, perUser: 1)
    let guests = Guests()
    semaphore.enter(1) { guests.come("1a", $0) }
    semaphore.enter(1) { guests.come("1b", $0) }
    #expect(guests.list == ["1a"] && semaphore.waitingCount == 1)
    guests.leave()
    #expect(guests.list == ["1a", "1b"] && semaphore.waitingCount == 0)
  }

  @Test("a fair semaphore serves users in turn, and each user's callers in order")
  func turns() async {
    let semaphore = semaphore(total: 1, perUser: 1)
    let guests = Guests()
    let first = await semaphore.enter(1)
    var tasks: [Task<Void, Never>] = []
    for name in ["1a", "1b", "1c"] { tasks.append(await queue(semaphore, 1, name, guests)) }
    for name in ["2a", "2b"] { tasks.append(await queue(semaphore, 2, name, guests)) }
    first.giveBack()
    for next in 1...5 {
      while guests.list.count < next { await Task.yield() }
      guests.leave()
    }
    for task in tasks { await task.value }
    #expect(guests.list == ["2a", "1a", "2b", "1b", "1c"])
  }

  @Test("calm() returns when no caller waits for a permit")
  func calm() async {
    let semaphore = semaphore(total: 1, perUser: 1)
    let guests = Guests()
    await semaphore.calm()
    let first = await semaphore.enter(1)
    // calm() returns at once: no caller waits for a permit, and calm() does not wait for permits in use.
    await semaphore.calm()
    let second = await queue(semaphore, 1, "second", guests)
    let calm = Task { await semaphore.calm() }
    while semaphore.calmCount == 0 { await Task.yield() }
    #expect(guests.list.isEmpty)
    first.giveBack()
    await second.value
    await calm.value
    #expect(guests.list == ["second"])
  }

  @Test("calm(quiet_ms:) returns after a time without new permits, or at its time limit")
  func quiet() async {
    let semaphore = semaphore(total: 2, perUser: 2)
    var (visitors, times) = (3, 0)
    // In each of the first three pauses of calm(), one caller gets a permit. The later pauses are quiet.
    await semaphore.calm(quiet_ms: 20, patience_ms: 3_600_000) { duration in
      #expect(duration == .milliseconds(20))
      times += 1
      if times <= visitors { await semaphore.enter(1).giveBack() }
    }
    #expect(times == 4)
    (visitors, times) = (1_000, 0)
    await semaphore.calm(quiet_ms: 20, patience_ms: 0) { _ in times += 1 }
    #expect(times == 0)
  }

  @Test("a long queue of a fair semaphore keeps its order")
  func long() async {
    let semaphore = semaphore(total: 1, perUser: 1)
    let guests = Guests()
    let first = await semaphore.enter(1)
    var tasks: [Task<Void, Never>] = []
    for number in 0..<1_200 { tasks.append(await queue(semaphore, 1, "\(number)", guests)) }
    first.giveBack()
    for (number, task) in tasks.enumerated() {
      await task.value
      #expect(guests.list.count == number + 1)
      guests.leave()
    }
    #expect(guests.list == (0..<1_200).map { "\($0)" })
  }

  @Test("a caller that releases its permit temporarily lets others run, and then queues for a permit again")
  func released() async {
    let semaphore = semaphore(total: 1, perUser: 1)
    let guests = Guests()
    await semaphore.withPermit(for: 1) { permit in
      let other = await queue(semaphore, 2, "2", guests)
      let again = Task {
        await permit.whileReleased {
          #expect(!permit.isHeld)
          await other.value
        }
      }
      while !guests.list.contains("2") || semaphore.waitingCount == 0 { await Task.yield() }
      #expect(!permit.isHeld)
      guests.leave()
      await again.value
      #expect(permit.isHeld && !semaphore.hasRoom(for: 2))
    }
    #expect(semaphore.hasRoom(for: 2))
  }

  @Test("releasing a permit twice frees only one permit")
  func once() async {
    let semaphore = semaphore(total: 2, perUser: 2)
    let (first, second) = (await semaphore.enter(1), await semaphore.enter(1))
    first.giveBack()
    first.giveBack()
    #expect(second.isHeld && semaphore.enterIfFree(1) != nil && semaphore.enterIfFree(1) == nil)
  }

  @Test("F11: permits of subordinate uids are counted for their owner, and one permit is reserved for root")
  func accounts() async throws {
    let directory = try TestDirectory()
    let accounts = UserAccounts(
      ranges: try directory.write(Array("54021:54300:16\n".utf8), to: "subuid"), users: "/nowhere")
    let semaphore = semaphore(total: 3, perUser: 1, hasReserve: true, accounts)
    let first = try #require(semaphore.enterIfFree(54_021))
    #expect(semaphore.enterIfFree(54_300) == nil)
    let second = try #require(semaphore.enterIfFree(1_001))
    #expect(semaphore.enterIfFree(1_002) == nil)
    let own = try #require(semaphore.enterIfFree(geteuid()))
    first.giveBack()
    // Two of the three permits are held. The third permit is reserved for root, so user 54,300 cannot get it.
    #expect(!semaphore.hasRoom(for: 54_300))
    second.giveBack()
    #expect(semaphore.hasRoom(for: 54_300) && own.isHeld)
  }

  @Test("stop() lets all waiting callers continue, with invalid permits")
  func stop() async {
    let semaphore = semaphore(total: 1, perUser: 1)
    let first = await semaphore.enter(1)
    let waiting = Task { await semaphore.enter(1).isHeld }
    while semaphore.waitingCount == 0 { await Task.yield() }
    semaphore.stop()
    #expect(await waiting.value == false && semaphore.waitingCount == 0)
    #expect(await semaphore.enter(2).isHeld == false)
    first.giveBack()
    #expect(!semaphore.hasRoom(for: 1) && semaphore.enterIfFree(1) == nil)
  }
}

struct FairQueueTests {
  private func queue(total: Int, perUser: Int = .max) -> FairQueue<String> {
    FairQueue(PermitLimit(total: total, perUser: perUser), order: .arrival)
  }

  private func user(_ uid: UInt32) -> FairUser { FairUser(uid: uid, account: uid) }

  @Test("the queue serves the user with the fewest permits first, then urgent entries, then the earliest")
  func arrival() {
    var queue = queue(total: 4, perUser: 2)
    for name in ["1a", "1b", "1c"] { queue.append(name, of: user(1_001)) }
    queue.append("2a", of: user(1_002))
    queue.append("2b", of: user(1_002), isUrgent: true)
    queue.makeUrgent { $0 == "1c" }
    var order: [String] = []
    while let (name, isUrgent) = queue.next() { order.append(isUrgent ? name + "!" : name) }
    // One of the four permits is reserved for root.
    #expect(order == ["1c!", "2b!", "1a"] && queue.waiting().sorted() == ["1b", "2a"])
    queue.giveBack(user(1_002))
    order = []
    while let (name, _) = queue.next() { order.append(name) }
    #expect(order == ["2a"] && queue.permitCount == 3)
  }

  @Test("an entry that must not run yet does not block other entries, and a removed entry never runs")
  func gate() {
    var queue = queue(total: 3)
    for (name, user) in [("1a", 1_001), ("2a", 1_002), ("1b", 1_001)] as [(String, UInt32)] {
      queue.append(name, of: self.user(user))
    }
    let first = queue.next { $0 != 1_001 }?.waiter
    let removed = queue.remove { $0 == "1a" }
    #expect(first == "2a" && removed == ["1a"] && queue.waitingCount == 1)
    let last = queue.next()?.waiter
    #expect(last == "1b" && queue.waitingCount == 0)
  }

  @Test("waiting entries are limited per user, and one entry is reserved for root")
  func waiting() {
    var queue = queue(total: 1)
    let limit = PermitLimit(total: 3, perUser: 1)
    queue.append("1", of: user(1_001))
    #expect(!queue.mayWait(user(1_001), limit) && queue.mayWait(user(1_002), limit))
    queue.append("2", of: user(1_002))
    #expect(!queue.mayWait(user(1_003), limit) && queue.mayWait(user(geteuid()), limit))
  }
}
