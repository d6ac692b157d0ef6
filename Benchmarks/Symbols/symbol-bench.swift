// Prints the results of look-ups in a symbol cache, and their costs. Benchmarks/Symbols/compare.py compares these
// results and costs with those of other tools.
import CrashSymbols
import Glibc

let usage = """
  usage: symbol-bench chains CACHE <ADDRESSES   every address and its chain below it
         symbol-bench times CACHE <ADDRESSES    one JSON line of times
         symbol-bench repeat CACHE N <ADDRESSES only N rounds of look-ups, for callgrind

  """

func fail(_ text: String) -> Never {
  // An error of write() is ignored, because there is no other place for the message. Invariant: the string is valid as
  // a C string during the call.
  _ = unsafe write(STDERR_FILENO, text, text.utf8.count)
  exit(2)
}

func now_ns() -> UInt64 {
  var time = timespec()
  // Invariant: `time` outlives the call.
  unsafe clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Reads one hexadecimal address per line.
func readAddresses() -> [UInt64] {
  var addresses: [UInt64] = []
  while let line = readLine() {
    guard let address = UInt64(line.hasPrefix("0x") ? line.dropFirst(2) : line[...], radix: 16) else {
      fail("symbol-bench: '\(line)' is no address\n")
    }
    addresses.append(address)
  }
  return addresses
}

/// Looks up all addresses.
///
/// Sums up numbers of the results, so that the optimizer does not remove the look-ups.
func search(_ cache: SymbolCache, _ addresses: [UInt64]) -> (places: Int, sum: UInt64) {
  var places = 0
  var sum: UInt64 = 0
  for address in addresses {
    _ = cache.forEachPlace(at: address) { place in
      places += 1
      sum &+= UInt64(place.name) &+ UInt64(place.file) &+ UInt64(place.line) &+ UInt64(place.column)
      return true
    }
  }
  return (places, sum)
}

func chains(_ cache: SymbolCache, _ addresses: [UInt64]) {
  for address in addresses {
    print("0x\(String(address, radix: 16))")
    for frame in cache.frames(at: address) {
      print("\(frame.mangled)\t\(frame.file ?? "??"):\(frame.line ?? 0):\(frame.column ?? 0)")
    }
  }
}

/// Symbolicates and demangles a crash of 64 frames with an open cache.
func crash(_ cache: SymbolCache, _ addresses: ArraySlice<UInt64>) -> Int {
  addresses.reduce(0) { bytes, address in
    cache.frames(at: address).reduce(bytes) { $0 + Demangler.simplified($1.mangled).utf8.count }
  }
}

/// Returns the median of many runs.
func median_ns(of count: Int, _ body: () -> Void) -> UInt64 {
  let times = (0..<count).map { _ in
    let start = now_ns()
    body()
    return now_ns() - start
  }
  return times.sorted()[count / 2]
}

func times(_ path: String, _ addresses: [UInt64]) throws {
  let start = now_ns()
  let cache = try SymbolCache(path: path, buildID: "")
  let opened = now_ns()
  _ = cache.frames(at: addresses[0])
  let first = now_ns()
  let coldCrash = crash(cache, addresses.prefix(64))
  let cold = now_ns()
  var total: (places: Int, sum: UInt64) = (0, 0)
  let round_ns = median_ns(of: 21) { total = search(cache, addresses) }
  let crash_ns = median_ns(of: 101) { _ = crash(cache, addresses.prefix(64)) }
  print(
    """
    {"open_us": \((opened - start) / 1000), "first_us": \((first - opened) / 1000), \
    "cold_crash_us": \((cold - first) / 1000), "crash_us": \(crash_ns / 1000), "crash_text_bytes": \(coldCrash), \
    "addresses_per_s": \(UInt64(addresses.count) * 1_000_000_000 / max(round_ns, 1)), "places": \(total.places), "sum": \(total.sum)}
    """)
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2 else { fail(usage) }
let addresses = readAddresses()
guard !addresses.isEmpty else { fail("symbol-bench: no addresses on standard input\n") }
switch (arguments[0], arguments.count) {
case ("chains", 2): chains(try SymbolCache(path: arguments[1], buildID: ""), addresses)
case ("times", 2): try times(arguments[1], addresses)
case ("repeat", 3):
  guard let rounds = Int(arguments[2]), rounds >= 0 else { fail(usage) }
  let cache = try SymbolCache(path: arguments[1], buildID: "")
  var total: (places: Int, sum: UInt64) = (0, 0)
  for _ in 0..<rounds {
    let round = search(cache, addresses)
    total = (total.places + round.places, total.sum &+ round.sum)
  }
  print(rounds * addresses.count, total.places, total.sum)
default: fail(usage)
}
