import CQuarantineTestSupport
import CShimQuarantine
import CrashShield
import Glibc
import Testing

/// Stacks by frame pointers.
@Suite
struct FrameTests {
  @Test("frames that a sanitizer takes for unreadable are read, anew and remembered")
  func red() async {
    await #expect(processExitsWith: .exitCode(right)) {
      // The shield is there: from now on threads remember their stacks.
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

  private static func frames(of stack: inout cs_quarantine_stack) -> [UInt64] {
    let count = Int(stack.count)
    return unsafe withUnsafeBytes(of: &stack.frames) { bytes in
      unsafe Array(bytes.bindMemory(to: UInt64.self).prefix(count))
    }
  }
}
