import CrashPages
import CrashReport
import Glibc

/// Serves the pages of a source whose strings are all the same, for checks in a browser (scripts/check/browser).
///
/// `pages-sample COUNT NUMBER`: lists have COUNT items, and each string is the item NUMBER of `FakeSource.hostile`.
/// Without NUMBER, it prints how many strings there are.
@main
enum PagesSample {
  static func main() async throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard numbers.count == 2, FakeSource.hostile.indices.contains(numbers[1]) else {
      return print(FakeSource.hostile.count)
    }
    var now = timespec()
    // Invariant: clock_gettime fills in the structure.
    unsafe clock_gettime(CLOCK_REALTIME, &now)
    let source = FakeSource(
      text: FakeSource.hostile[numbers[1]], count: numbers[0],
      time: Timestamp.string(since1970_ns: UInt64(now.tv_sec) * 1_000_000_000))
    guard let place = ListenPlace("0") else { return }
    try await PageServer(try Site(source: source), on: place, command: "pages-sample").run()
  }
}
