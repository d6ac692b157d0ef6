// Crashes of a Swift program that do not use freed memory: traps, wrong casts of memory, and objects that were not
// freed.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry
import Glibc

class Account {
  var number: Int
  var owner: String
  var next: Account?

  init(number: Int) {
    self.number = number
    owner = "owner \(number)"
  }

  func balance() -> Int { number * 3 }
}

/// A class whose instances have an unusual size, so that blocks of other types rarely reuse their memory.
class SavingsAccount: Account {
  var years = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)

  override func balance() -> Int { number * 5 }
}

protocol Priced {
  func price() -> Int
}

final class Item: Priced {
  let cents: Int

  init(cents: Int) { self.cents = cents }

  func price() -> Int { cents + 1 }
}

enum Shortage: Error { case soldOut }

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

func random(_ limit: Int) -> Int { Int(heap_random() % UInt64(limit)) }

/// Allocates and frees objects of all these classes before the control crashes.
@inline(never) func trade() {
  var accounts: [Int: Account] = [:]
  var items: [any Priced] = []
  for _ in 0..<2_000 {
    let number = random(100)
    accounts[number] =
      number % 3 == 0 ? nil : number % 3 == 1 ? Account(number: number) : SavingsAccount(number: number)
    accounts[number]?.next = accounts[random(100)]
    items.append(Item(cents: number))
    if items.count > 50 { items.removeFirst(25) }
  }
  for account in accounts.values { account.next = nil }
}

/// Returns an address as a reference.
///
/// There need not be an object at the address.
@inline(never) func account(at address: UInt64) -> Unmanaged<Account> {
  unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: UInt(address)) ?? UnsafeRawPointer(bitPattern: 1 << 20)!)
}

@inline(never) func callMethod(at address: UInt64) {
  let balance = unsafe account(at: address)._withUnsafeGuaranteedRef { $0.balance() }
  _ = hidden(balance)
}

@inline(never) func retain(at address: UInt64) {
  _ = hidden(unsafe account(at: address).takeUnretainedValue())
}

@inline(never) func release(at address: UInt64) { unsafe account(at: address).release() }

@inline(never) func readField(at address: UInt64) {
  let next = unsafe account(at: address)._withUnsafeGuaranteedRef { $0.next?.number }
  _ = hidden(next)
}

/// Returns one of many live objects.
///
/// A freed object can have used the object's memory before.
@inline(never) func living() -> Account {
  let accounts = (0..<200).map { Account(number: $0) }
  let account = accounts[random(200)]
  for other in accounts { _ = Unmanaged.passRetained(other) }
  return account
}

/// Overwrites memory with the bytes of a string, from an offset in an object on.
@inline(never) func write(over account: Account, from offset: Int, bytes: Int) {
  let address = unsafe Unmanaged.passUnretained(account).toOpaque()
  for index in 0..<bytes / 8 {
    unsafe address.storeBytes(
      of: 0x2f76_312f_6970_612f + heap_random() % 64, toByteOffset: offset + 8 * index, as: UInt64.self)
  }
}

@inline(never) func descend(_ depth: Int) -> Int {
  let account = Account(number: depth)
  return hidden(depth) == Int.min ? account.balance() : descend(depth + 1) + account.balance()
}

final class Link {
  var next: Link?
  deinit { _ = hidden(0) }
}

final class Receipt {
  let total: Int
  let place: UInt64

  init(total: Int, place: UInt64) {
    self.total = total
    self.place = place
  }

  deinit {
    if place == 0 { _ = hidden(total + 1) }
    heap_read(place)
  }
}

/// Returns the address of a live block of random words, which the caller uses as if it were an object.
@inline(never) func numbers() -> UInt64 {
  let count = 2 + random(39)
  let words = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
  for index in 0..<count { unsafe words[index] = heap_random() }
  return UInt64(UInt(bitPattern: words))
}

struct Order {
  var number = random(100_000)
  var price = Double(random(10_000)) / 100
  var note = "order \(heap_random())"
}

struct Basket {
  var account = Account(number: random(100))
  var count = random(100)
  var place: (Int32, Int32) = (Int32(random(1_000)), Int32(random(1_000)))
}

struct Label {
  var text = "label \(heap_random())"
  var isBold = random(2) == 0
  var width = Float(random(100))
  var orders = [Order()]
}

/// Returns the address of a live block of structs, which resemble the context of a callback.
///
/// The caller uses the block as if it were an object.
@inline(never) func structs() -> UInt64 {
  func copy<Value>(_ make: () -> Value) -> UInt64 {
    let count = 1 + random(4)
    let values = UnsafeMutablePointer<Value>.allocate(capacity: count)
    for index in 0..<count { unsafe (values + index).initialize(to: make()) }
    return UInt64(UInt(bitPattern: values))
  }
  switch random(3) {
  case 0: return copy { Order() }
  case 1: return copy { Basket() }
  default: return copy { Label() }
  }
}

/// A class whose field `last` is far from the start of the object.
class Ledger {
  var days = (1, 2, 3, 4, 5, 6, 7, 8)
  var last = Account(number: 1)
}

struct Page {
  var account: Unmanaged<Account>
  var count = random(100)
  var place = Double(random(100))
}

/// Returns a live block of structs whose first field is a wild reference.
@inline(never) func wildMembers() -> UnsafeMutablePointer<Page> {
  let count = 1 + random(4)
  let pages = UnsafeMutablePointer<Page>.allocate(capacity: count)
  for index in 0..<count {
    let wild = heap_random() % 2 == 0 ? heap_random() | 1 << 62 : 0x1000_0000_0000 + heap_random() % 0x3000_0000_0000
    unsafe (pages + index).initialize(to: Page(account: account(at: wild & ~7)))
  }
  return unsafe pages
}

struct Wide {
  var days = (1, 2, 3, 4, 5)
}

struct Entry {
  var number: Int
  var next: UnsafeMutablePointer<Wide>
  var count = random(100)
}

/// Returns a live block of structs whose fields are a large number and a wild pointer.
@inline(never) func entries() -> UnsafeMutablePointer<Entry> {
  let count = 1 + random(4)
  let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
  for index in 0..<count {
    let wild = 0x1000_0000_0000 + heap_random() % 0x3000_0000_0000
    let number = Int(heap_random() % 2 == 0 ? 1 << 40 + heap_random() % (1 << 38) : 1 << 44 + heap_random() % (1 << 43))
    let next = UnsafeMutablePointer<Wide>(bitPattern: UInt(wild & ~7))
    unsafe (entries + index).initialize(to: Entry(number: number, next: next!))
  }
  return unsafe entries
}

/// Passes the address of a value on the stack to a function, which uses the value as if it were an object.
@inline(never) func withLocal(_ use: (UInt64) -> Void) {
  var order = hidden(Order())
  withUnsafeMutablePointer(to: &order) { use(UInt64(UInt(bitPattern: $0))) }
}

let kinds: [(name: String, fault: @convention(c) () -> Void)] = [
  ("array-index", { _ = hidden([1, 2, 3][hidden(3 + random(9))]) }),
  ("objects-index", { _ = hidden((0..<5).map { Account(number: $0) }[hidden(7)].balance()) }),
  ("force-unwrap", { _ = hidden(hidden(Account?.none)!) }),
  ("overflow", { _ = hidden(hidden(Int.max) + 1) }),
  ("division", { _ = hidden(100 / hidden(0)) }),
  ("narrow", { _ = hidden(UInt8(hidden(256 + random(500)))) }),
  ("fatal-error", { fatalError("no account \(random(100))") }),
  ("precondition", { precondition(hidden(0) == 1, "an account has an owner") }),
  ("forced-cast", { _ = hidden(hidden(Account(number: 1) as AnyObject) as! Item) }),
  ("forced-try", { try! { throw Shortage.soldOut }() }),
  ("unowned-nil", { _ = hidden(unsafe unsafeBitCast(hidden(0), to: Account.self)).balance() }),
  ("method-of-wild", { callMethod(at: 0x1000_0000_0000 + heap_random() % 0x3000_0000_0000 & ~7) }),
  ("retain-of-wild", { retain(at: 0x1000_0000_0000 + heap_random() % 0x3000_0000_0000 & ~7) }),
  ("release-of-wild", { release(at: 0x1000_0000_0000 + heap_random() % 0x3000_0000_0000 & ~7) }),
  ("method-of-non-canonical", { callMethod(at: heap_random() & ~7 | 0x4000_0000_0000_0000) }),
  ("release-of-non-canonical", { release(at: heap_random() & 0x3fff_ffff_ffff_fff8 | 0x1000_0000_0000_0000) }),
  ("method-of-text", { callMethod(at: 0x6f63_2e65_6c70_6d61) }),
  ("method-of-numbers", { callMethod(at: numbers()) }),
  ("retain-of-numbers", { retain(at: numbers()) }),
  ("release-of-numbers", { release(at: numbers()) }),
  ("field-of-numbers", { readField(at: numbers()) }),
  ("method-of-struct", { callMethod(at: structs()) }),
  ("retain-of-struct", { retain(at: structs()) }),
  ("release-of-struct", { release(at: structs()) }),
  ("field-of-struct", { readField(at: structs()) }),
  (
    "method-of-member",
    {
      let pages = unsafe wildMembers()
      _ = hidden(unsafe hidden(pages).pointee.account._withUnsafeGuaranteedRef { $0.balance() })
    }
  ),
  (
    "field-of-member",
    {
      let pages = unsafe UnsafeRawPointer(wildMembers()).assumingMemoryBound(to: Unmanaged<Ledger>.self)
      _ = hidden(unsafe hidden(pages).pointee._withUnsafeGuaranteedRef { $0.last.balance() })
    }
  ),
  (
    "release-of-member",
    {
      let pages = unsafe wildMembers()
      unsafe hidden(pages).pointee.account.release()
    }
  ),
  (
    "index-from-struct",
    {
      let (entries, table) = unsafe (hidden(entries()), hidden(UnsafeMutablePointer<Wide>.allocate(capacity: 8)))
      _ = hidden(Account(number: unsafe table[entries.pointee.number].days.2).balance())
    }
  ),
  (
    "index-of-numbers",
    {
      let (entries, table) = unsafe (hidden(entries()), hidden(UnsafeMutablePointer<Int>.allocate(capacity: 8)))
      _ = hidden(Account(number: unsafe (table + 4)[entries.pointee.number]).balance())
    }
  ),
  (
    "field-of-second",
    {
      let entries = unsafe hidden(entries())
      _ = hidden(Account(number: unsafe entries.pointee.next.pointee.days.4).balance())
    }
  ),
  ("method-of-local", { withLocal { callMethod(at: $0) } }),
  ("release-of-local", { withLocal { release(at: $0) } }),
  // The next three functions write past the end of the preceding block, or to a wrong address.
  (
    "method-of-overrun",
    {
      let account = living()
      write(over: account, from: -16, bytes: 40)
      _ = hidden(hidden(account).balance())
    }
  ),
  (
    "release-of-overrun",
    {
      let account = living()
      write(over: account, from: -16, bytes: 40)
      unsafe Unmanaged.passUnretained(account).release()
    }
  ),
  (
    "method-of-smashed",
    {
      let account = living()
      write(over: account, from: 0, bytes: 8)
      _ = hidden(hidden(account).balance())
    }
  ),
  ("null-field", { heap_read(16) }),
  ("stack-overflow", { _ = hidden(descend(0)) }),
  (
    "deep-deinit",
    {
      var list: Link?
      for _ in 0..<3_000_000 {
        let link = Link()
        link.next = list
        list = link
      }
      list = hidden(nil)
    }
  ),
  ("trap-in-deinit", { _ = hidden(Receipt(total: Int.max, place: 0).total) }),
  ("null-in-deinit", { _ = hidden(Receipt(total: 1, place: 8).total) }),
  (
    "wild-in-deinit",
    { _ = hidden(Receipt(total: 1, place: 0x1000_0000_0000 + heap_random() % 0x3000_0000_0000).total) }
  ),
  (
    // The object is deallocated at once, because only a weak reference points to it. The program then unwraps nil, and
    // does not use the object.
    "weak-gone",
    {
      weak let account = hidden(Account(number: 1))
      _ = hidden(account!.balance())
    }
  ),
]

if CommandLine.arguments == [CommandLine.arguments[0], "--list"] {
  for kind in kinds { print(kind.name) }
  exit(0)
}
guard CommandLine.arguments.count == 4 else { exit(2) }
heap_prepare(CommandLine.arguments[2], UInt64(CommandLine.arguments[3]) ?? 0)
protect([Account.self, SavingsAccount.self, Item.self, Receipt.self])
trade()
// With the quarantine, the controls crash after the quarantine has evicted objects, and new blocks use the memory of
// these objects.
if heap_evict() { heap_prepare(CommandLine.arguments[2], UInt64(CommandLine.arguments[3]) ?? 0) }
for kind in kinds where kind.name == CommandLine.arguments[1] { heap_call(kind.fault) }
exit(4)
