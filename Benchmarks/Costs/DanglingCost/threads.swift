// threads MS PAIRS: runs four threads that replace and release objects under one Mutex. Each of PAIRS pairs of
// measurements takes MS milliseconds without protection, and MS milliseconds with the policy `absorb`. Prints the
// rounds per second without and with protection, the number of objects that were quarantined, and the number that were
// not, because the quarantine was busy. scripts/measure/dangling compares the rates. The ratio of the two rates shows
// the cost of deferred deinits for threads that share a lock.
import Glibc
import Synchronization

final class Entry {
  let key: Int
  let text: String
  var values: [Int]

  init(_ key: Int) {
    self.key = key
    text = "an entry with a text of its own, number \(key)"
    values = [key, key &+ 1, key &+ 2]
  }
}

final class Probe {
  var one = 1
  var two = 2
}

/// The table that the threads share.
///
/// Precondition of each access: the calling thread holds `lock`.
nonisolated(unsafe) var table: [Int: [Entry]] = [:]
let lock = Mutex<Void>(())
let isEnded = Atomic<Bool>(false)
let rounds = Atomic<Int>(0)

func metadata(_ type: AnyClass) -> UnsafeRawPointer { unsafe unsafeBitCast(type, to: UnsafeRawPointer.self) }

func require(_ condition: Bool) { if !condition { fatalError("threads: the quarantine does not work here") } }

/// Performs one round of work: first without the lock, then with it.
///
/// With the lock, it releases 16 entries for the last time.
@inline(never)
func work(_ seed: Int) {
  var random = UInt64(truncatingIfNeeded: seed)
  while !isEnded.load(ordering: .relaxed) {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    let entries = (0..<16).map { Entry($0 &+ Int(random >> 52)) }
    lock.withLock { _ in unsafe table[Int(random >> 58)] = entries }
    rounds.add(1, ordering: .relaxed)
  }
}

/// Returns the rounds per second of four threads.
func measure(ms: Int) -> Int {
  isEnded.store(false, ordering: .relaxed)
  rounds.store(0, ordering: .relaxed)
  var threads: [pthread_t] = []
  for _ in 0..<4 {
    var thread = pthread_t()
    // Invariant: the argument of the thread is null, so no pointer must outlive this call.
    require(
      unsafe pthread_create(
        &thread, nil,
        { _ in
          work(Int(pthread_self())); return nil
        }, nil) == 0)
    threads.append(thread)
  }
  usleep(UInt32(ms) * 1000)
  isEnded.store(true, ordering: .relaxed)
  for thread in threads { require(pthread_join(thread, nil) == 0) }
  return rounds.load(ordering: .relaxed) * 1000 / ms
}

guard CommandLine.arguments.count == 3, let ms = Int(CommandLine.arguments[1]),
  let pairs = Int(CommandLine.arguments[2])
else { fatalError("usage: threads MS PAIRS") }
let instance = unsafe Unmanaged.passRetained(Probe()).toOpaque()
require(unsafe cs_quarantine_check(metadata(Probe.self), instance, 32))
_ = measure(ms: ms)
var counts = unsafe cs_quarantine_counts()
for _ in 0..<pairs {
  let before = measure(ms: ms)
  require(unsafe cs_quarantine_list(metadata(Entry.self), .CS_MODE_ABSORB, 50).rawValue == 0)
  let admitted = unsafe counts.admitted, busy = unsafe counts.skipped_busy
  let after = measure(ms: ms)
  require(unsafe cs_quarantine_class(0, &counts))
  print(before, after, unsafe counts.admitted - admitted, unsafe counts.skipped_busy - busy)
  require(unsafe cs_quarantine_unlist(metadata(Entry.self)))
}
