import CShimQuarantine
import CTestKit
import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests which frames the shield finds when it unwinds a thread's stack by frame pointers.
@Suite
struct FrameTests {
  @Test("frames that a sanitizer has poisoned are unwound, the first time and from the cached stack")
  func red() async {
    await #expect(processExitsWith: .exitCode(right)) {
      // A handle makes the shield active, so threads cache their stacks.
      let handle = ShieldHandle(Session())
      var anew = cs_quarantine_stack()
      var remembered = cs_quarantine_stack()
      var caller: UInt64 = 0
      unsafe cs_test_red_frames(&anew, &remembered, &caller)
      let frames = Self.frames(of: &anew)
      check(frames.count > 2)
      check(Self.frames(of: &remembered) == frames)
      check(frames.dropFirst().first == caller)
      withExtendedLifetime(handle) {}
      Glibc.exit(right)
    }
  }

  @Test("S7: a function that ended in a tail call is found by the call instruction before the return address")
  func tailCall() {
    var stack = cs_quarantine_stack()
    var whole = cs_quarantine_stack()
    let hidden = unsafe cs_test_tail_call(&stack, &whole)
    let frames = Self.frames(of: &stack)
    let named = Self.frames(of: &whole)
    // The function ended in a tail call, so no return address on the stack points into it.
    #expect(frames.count > 3 && !frames.contains { $0 >= hidden && $0 < hidden + 16 })
    #expect(named.filter { $0 == hidden + 1 }.count == 1)
    // The shield adds a frame for this function, between the frame of the called function and the frame of the caller.
    let place = named.firstIndex(of: hidden + 1) ?? 0
    #expect(place > 0 && Array(named[..<place]) == Array(frames[..<place]))
    #expect(named.dropFirst(place + 1).first == frames[place])
  }

  @Test("S8: a recorded stack continues with its awaiting async functions, the first time and from the cached stack")
  func asyncCallers() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let handle = ShieldHandle(Session())
      for depth in [1, 5, 5] {
        let frames = await Self.waiting(depth) {
          var here = cs_quarantine_stack()
          unsafe cs_quarantine_here(&here)
          return Self.frames(of: &here)
        }
        check(Self.waiters(in: frames) == depth)
      }
      withExtendedLifetime(handle) {}
      Glibc.exit(right)
    }
  }

  @Test(
    "S8: a use by an async call, or by a call from an async function, has the awaiting functions",
    .enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
  func asyncIncidents() async throws {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .zero)
      let reference = unsafe dangling { Session() }
      await Self.waiting(3) { drop() }
      _ = await Self.waiting(4) { unsafe reference._withUnsafeGuaranteedRef { $0.greet() } }
      _ = await Self.waiting(5) { await unsafe reference.takeUnretainedValue().later() }
      let incidents = Shield.danglingIncidents()
      let call = incidents.first { $0.kind == .call }
      let asyncCall = incidents.first { $0.kind == .asyncCall }
      check(call.map { Self.waiters(in: $0.use.frames) } == 4)
      check(asyncCall.map { Self.waiters(in: $0.use.frames) } == 5)
      check(incidents.allSatisfy { Self.waiters(in: $0.release.frames) == 3 })
      Glibc.exit(right)
    }
  }

  /// Calls the body below `depth` nested calls of this function, each of which awaits the next one.
  @inline(never)
  private static func waiting<Result>(_ depth: Int, _ body: () async -> Result) async -> Result {
    if depth == 0 { return await body() }
    let result = await waiting(depth - 1, body)
    withExtendedLifetime(depth) {}
    return result
  }

  /// Returns how often the most frequent continuation occurs in the frames.
  ///
  /// A continuation is where an awaiting function resumes. The address in a continuation's frame is the entry address
  /// plus 1, so it is odd.
  private static func waiters(in frames: [some FixedWidthInteger]) -> Int {
    Dictionary(grouping: frames.filter { $0 % 2 == 1 }) { $0 }.values.map(\.count).max() ?? 0
  }

  private static func frames(of stack: inout cs_quarantine_stack) -> [UInt64] {
    let count = Int(stack.count)
    return unsafe withUnsafeBytes(of: &stack.frames) { bytes in
      unsafe Array(bytes.bindMemory(to: UInt64.self).prefix(count))
    }
  }
}
