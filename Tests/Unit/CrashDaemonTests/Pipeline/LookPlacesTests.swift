import Synchronization
import Testing

@testable import CrashDaemon

struct LookPlacesTests {
  /// Who was let in, in that order.
  private final class Guests: Sendable {
    private let names = Mutex<[String]>([])
    var list: [String] { names.withLock { $0 } }
    func come(_ name: String) { names.withLock { $0.append(name) } }
  }

  /// One more who waits: he stands in the queue when this returns.
  private func queue(_ places: LookPlaces, _ user: UInt32, _ name: String, _ guests: Guests) async -> Task<Void, Never>
  {
    let before = places.waitingCount
    let task = Task {
      await places.enter(user)
      guests.come(name)
    }
    while places.waitingCount == before { await Task.yield() }
    return task
  }

  @Test("as many are let in as there are places, and of one user fewer")
  func limits() async {
    let places = LookPlaces(limit: 3, limitPerUser: 2)
    let guests = Guests()
    await places.enter(1)
    await places.enter(1)
    let third = await queue(places, 1, "1c", guests)
    // Another user is let in although somebody waits.
    await places.enter(2)
    let other = await queue(places, 2, "2b", guests)
    #expect(places.waitingCount == 2 && guests.list.isEmpty)
    // One place is free, and it is not the first user's.
    places.leave(2)
    await other.value
    #expect(guests.list == ["2b"] && places.waitingCount == 1)
    places.leave(1)
    await third.value
    #expect(guests.list == ["2b", "1c"] && places.waitingCount == 0)
  }

  @Test("who is called back has a place, and does not keep whoever asks for it")
  func callback() {
    let places = LookPlaces(limit: 1, limitPerUser: 1)
    let guests = Guests()
    places.enter(1) { guests.come("1a") }
    places.enter(1) { guests.come("1b") }
    #expect(guests.list == ["1a"] && places.waitingCount == 1)
    places.leave(1)
    #expect(guests.list == ["1a", "1b"] && places.waitingCount == 0)
  }

  @Test("users take turns, whoever has brought the most; each one's own are in their order")
  func turns() async {
    let places = LookPlaces(limit: 1, limitPerUser: 1)
    let guests = Guests()
    await places.enter(1)
    var tasks: [Task<Void, Never>] = []
    for name in ["1a", "1b", "1c"] { tasks.append(await queue(places, 1, name, guests)) }
    for name in ["2a", "2b"] { tasks.append(await queue(places, 2, name, guests)) }
    for (user, next) in [(UInt32(1), 1), (2, 2), (1, 3), (2, 4), (1, 5)] {
      places.leave(user)
      while guests.list.count < next { await Task.yield() }
    }
    for task in tasks { await task.value }
    #expect(guests.list == ["2a", "1a", "2b", "1b", "1c"])
  }

  @Test("it is calm when nobody waits, and who waits for that is told")
  func calm() async {
    let places = LookPlaces(limit: 1, limitPerUser: 1)
    let guests = Guests()
    await places.calm()
    await places.enter(1)
    // To be looked at is no reason to wait.
    await places.calm()
    let second = await queue(places, 1, "second", guests)
    let calm = Task {
      await places.calm()
      guests.come("calm")
    }
    while places.calmCount == 0 { await Task.yield() }
    #expect(guests.list.isEmpty)
    places.leave(1)
    await second.value
    await calm.value
    #expect(Set(guests.list) == ["second", "calm"])
  }

  @Test("it is quiet when nobody has come for a while, and nobody waits for ever for that")
  func quiet() async {
    let places = LookPlaces(limit: 2, limitPerUser: 2)
    var (visitors, times) = (3, 0)
    // Somebody comes each time, and never has to wait; then nobody does.
    await places.calm(quiet_ms: 20, patience_ms: 3_600_000) { duration in
      #expect(duration == .milliseconds(20))
      times += 1
      if times <= visitors {
        await places.enter(1)
        places.leave(1)
      }
    }
    #expect(times == 4)
    (visitors, times) = (1_000, 0)
    await places.calm(quiet_ms: 20, patience_ms: 0) { _ in times += 1 }
    #expect(times == 0)
  }

  @Test("a long queue keeps its order")
  func long() async {
    let places = LookPlaces(limit: 1, limitPerUser: 1)
    let guests = Guests()
    await places.enter(1)
    var tasks: [Task<Void, Never>] = []
    for number in 0..<1_200 { tasks.append(await queue(places, 1, "\(number)", guests)) }
    for (number, task) in tasks.enumerated() {
      places.leave(1)
      await task.value
      #expect(guests.list.count == number + 1)
    }
    #expect(guests.list == (0..<1_200).map { "\($0)" })
  }
}
