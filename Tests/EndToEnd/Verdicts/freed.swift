// Crashes of a Swift program that uses objects after their last release.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry
import Glibc

protocol Priced: AnyObject {
  func price() -> Int
}

class Session: Priced {
  var number = Int(heap_random() % 1_000)
  var user: User? = User(name: "user \(heap_random())")
  var finish: () -> Int = {
    let count = Int(heap_random() % 10)
    return { count + 1 }
  }()
  var pages = ["/", "/cart", "/checkout and pay by invoice"]

  func visit() -> Int { number }
  func price() -> Int { number * 2 }
  func reload() async -> Int { number }
}

class LongSession: Session {
  var history = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
  override func visit() -> Int { history.3 }
  override func price() -> Int { history.4 }
  override func reload() async -> Int { history.5 }
}

class User {
  var name: String
  init(name: String) { self.name = name }
  func greet() -> Int { name.utf8.count }
}

class Shelf<Element> {
  var elements: [Element]
  // This member makes the size of the class unusual. Otherwise, the context of a closure, which has a usual size, would
  // reuse the block at once.
  var rows = (1, 2, 3, 4, 5, 6, 7, 8, 9)
  init(_ elements: [Element]) { self.elements = elements }
  func first() -> Element { elements[0] }
}

class LongShelf<Element>: Shelf<Element> {
  override func first() -> Element { elements[elements.count - 1] }
}

final class Owner {
  unowned(unsafe) let session: Session
  init(of session: Session) { unsafe self.session = session }
}

nonisolated(unsafe) var age = ""

@inline(never) func hidden<T>(_ value: T) -> T {
  heap_opaque(0) == 0 ? value : unsafe unsafeBitCast(0, to: T.self)
}

/// A class that the quarantine of this program does not protect.
final class Probe {
  let one = heap_random()
  let two = heap_random()
}

/// Protects these classes if the preloaded library has the quarantine.
@inline(never) func protect(_ classes: [AnyClass]) {
  let instance = Probe()
  let probe = unsafe unsafeBitCast(Probe.self as AnyClass, to: UnsafeRawPointer.self)
  for listed in classes {
    let metadata = unsafe unsafeBitCast(listed, to: UnsafeRawPointer.self)
    unsafe heap_protect(metadata, probe, Unmanaged.passUnretained(hidden(instance)).toOpaque(), 32)
  }
}

@inline(never) func shelf() -> Shelf<Int> { heap_random() % 2 == 0 ? Shelf([1, 2, 3]) : LongShelf([4, 5]) }

@inline(never) func session() -> Session { heap_random() % 2 == 0 ? Session() : LongSession() }

/// Drops the last reference, and then allocates and frees other blocks.
@inline(never) func free(_ address: UnsafeMutableRawPointer) {
  let size = unsafe heap_size(address)
  unsafe heap_make_room(age, address)
  unsafe Unmanaged<AnyObject>.fromOpaque(address).release()
  _ = heap_evict()
  heap_age(age, size)
}

/// Returns a dangling reference to a freed object.
@inline(never) func gone<Object: AnyObject>(_ make: () -> Object) -> Unmanaged<Object> {
  let reference = unsafe Unmanaged.passRetained(make())
  unsafe free(reference.toOpaque())
  return unsafe reference
}

/// Releases a heap object whose class does not belong to the program: a closure's context, or an array's storage.
@inline(never) func freeStorage<Value>(of value: Value, word: Int) {
  unsafe withUnsafeBytes(of: value) { bytes in
    let address = unsafe bytes.load(fromByteOffset: 8 * word, as: UInt.self)
    if let pointer = UnsafeMutableRawPointer(bitPattern: address) { unsafe free(pointer) }
  }
}

@inline(never) func wait(for work: @escaping @Sendable () async -> Void) {
  Task.detached {
    await work()
    exit(4)
  }
  while true { pause() }
}

/// Calls the function with the context, as a C library calls a callback.
@inline(never) func callBack(_ function: @convention(c) (UnsafeMutableRawPointer) -> Int, _ context: Unmanaged<Session>)
{
  _ = hidden(unsafe function(context.toOpaque()))
}

let kinds: [(name: String, fault: () -> Void)] = [
  ("method", { _ = hidden(unsafe gone(session)._withUnsafeGuaranteedRef { $0.visit() }) }),
  ("retain", { _ = hidden(unsafe gone(session).takeUnretainedValue()) }),
  ("release", { unsafe gone(session).release() }),
  (
    "release-twice",
    {
      let reference = unsafe gone(session)
      unsafe reference.release()
      unsafe reference.release()
    }
  ),
  ("object-field", { _ = hidden(unsafe gone(session)._withUnsafeGuaranteedRef { $0.user!.greet() }) }),
  ("array-field", { _ = hidden(unsafe gone(session)._withUnsafeGuaranteedRef { $0.pages[2].utf8.count }) }),
  ("closure-field", { _ = hidden(unsafe gone(session)._withUnsafeGuaranteedRef { $0.finish() }) }),
  ("field-write", { unsafe gone(session)._withUnsafeGuaranteedRef { $0.user = User(name: "guest") } }),
  (
    "protocol-call",
    {
      let reference = unsafe gone(session)
      let priced: any Priced = unsafe reference.takeUnretainedValue()
      _ = hidden(hidden(priced).price())
    }
  ),
  ("generic", { _ = hidden(unsafe gone { shelf() }._withUnsafeGuaranteedRef { hidden($0).first() }) }),
  (
    "unowned-unsafe",
    {
      let object = session()
      let owner = Owner(of: object)
      unsafe free(Unmanaged.passRetained(object).toOpaque())
      unsafe Unmanaged.passUnretained(object).release()
      _ = hidden(unsafe hidden(owner).session.visit())
    }
  ),
  (
    "c-callback",
    {
      unsafe callBack(
        { context in unsafe Unmanaged<Session>.fromOpaque(context).takeUnretainedValue().visit() }, gone(session))
    }
  ),
  (
    "async-method",
    {
      let reference = unsafe gone(session)
      let address = UInt(bitPattern: unsafe reference.toOpaque())
      wait {
        let pointer = UnsafeRawPointer(bitPattern: address)!
        _ = hidden(await unsafe Unmanaged<Session>.fromOpaque(pointer).takeUnretainedValue().reload())
      }
    }
  ),
  (
    "array-storage",
    {
      let sessions = hidden((0..<4).map { _ in session() })
      freeStorage(of: sessions, word: 0)
      _ = hidden(hidden(sessions)[2].visit())
    }
  ),
  (
    "closure-context",
    {
      let object = session()
      let closure = hidden { object.visit() }
      freeStorage(of: closure, word: 1)
      _ = hidden(hidden(closure)())
    }
  ),
]

if CommandLine.arguments == [CommandLine.arguments[0], "--list"] {
  for kind in kinds { print(kind.name) }
  exit(0)
}
guard CommandLine.arguments.count == 4 else { exit(2) }
age = CommandLine.arguments[2]
heap_prepare("churned", UInt64(CommandLine.arguments[3]) ?? 0)
protect([Session.self, LongSession.self, User.self, Shelf<Int>.self, LongShelf<Int>.self])
for kind in kinds where kind.name == CommandLine.arguments[1] { kind.fault() }
exit(4)
