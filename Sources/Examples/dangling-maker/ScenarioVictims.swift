// The classes of the scenarios. The fields of these classes have different types: arrays, strings, references, and
// tail-allocated elements.

final class Basket {
  var items = [1, 2, 4]
  @inline(never) func total() -> Int { items.reduce(0, +) }
}

final class Log {
  var lines = 0
  @inline(never) func note(_ text: String) { lines += text.utf8.count }
}

nonisolated(unsafe) let log = Log()

/// The state of `Worker`, which is a struct, as in many programs.
struct WorkState {
  var queue = [3, 4]
  var names: [String: Int] = ["one": 1]
  var owner = unsafe log
}

final class Worker {
  var state = WorkState()
  var title = "a title that is too long to stand in the object"
  @inline(never) func work(meanwhile: () -> Void) -> Int {
    let before = state.queue.count
    meanwhile()
    state.owner.note(title)
    return before + state.queue.count + state.names.count
  }
}

final class Node {
  final let value: Int
  final var next: Node?
  init(_ value: Int, _ next: Node?) {
    self.value = value
    self.next = next
  }
}

final class Numbers: ManagedBuffer<Int, Int> {
  static func make() -> Numbers {
    let buffer = Numbers.create(minimumCapacity: 40) { _ in 40 }
    unsafe buffer.withUnsafeMutablePointerToElements { unsafe $0.initialize(repeating: 1, count: 40) }
    return unsafe unsafeDowncast(buffer, to: Numbers.self)
  }
  @inline(never) func sum() -> Int {
    unsafe withUnsafeMutablePointers { count, elements in
      unsafe UnsafeBufferPointer(start: elements, count: count.pointee).reduce(0, +)
    }
  }
}

final class Delegate {
  var seen: Set<Int> = [7]
  let log: Log = unsafe dangling_maker.log
  @inline(never) func received(_ number: Int) -> Int {
    log.note("received")
    return seen.contains(number) ? number : 0
  }
}

final class Caller {
  unowned(unsafe) let delegate: Delegate
  var result = 0
  init(_ delegate: Delegate) { unsafe self.delegate = delegate }
  func call() { result = unsafe delegate.received(7) }
}

final class Entry {
  var text = "an entry of the cache that was evicted"
  var parts: [String]? = ["a", "b"]
  @inline(never) func size() -> Int { text.utf8.count + (parts?.count ?? 0) }
}

class Observer {
  final var count = 7
  @inline(never) func update() -> Int { count }
}

final class Listener: Observer {
  var names = ["one"]
  @inline(never) override func update() -> Int { names.count }
}

class Screen {
  final var title = "a screen"
  @inline(never) func load() async -> Int {
    await Task.yield()
    return title.utf8.count
  }
}

final class Overlay: Screen {
  @inline(never) override func load() async -> Int { title.utf8.count + 1 }
}
