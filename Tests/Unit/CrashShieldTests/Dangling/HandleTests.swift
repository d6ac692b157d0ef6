import CTestKit
import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests handles for C callbacks, and `Shield.liveness`.
@Suite
struct HandleTests {
  @Test("a handle resolves to its live object, and after deallocation to nil, which is recorded")
  func handle() async {
    await #expect(processExitsWith: .exitCode(right)) {
      unsafe kept.append(Session())
      guard let session = unsafe kept.first else { Glibc.exit(1) }
      let handle = ShieldHandle(session)
      check(unsafe ShieldHandle.resolve(handle.context, as: Session.self)?.greet() == 7)
      check(unsafe ShieldHandle.resolve(handle.context, as: Counter.self) == nil)
      Glibc.exit(right)
    }
  }

  @Test("a released handle, or a handle to a deallocated object, resolves to nil, with one incident per call site")
  func goneHandle() async {
    await #expect(processExitsWith: .exitCode(right)) {
      var object: Session? = Session()
      var handle: ShieldHandle? = object.map { ShieldHandle($0) }
      let context = unsafe handle?.context
      object = nil
      check(unsafe ShieldHandle.resolve(context, as: Session.self) == nil)
      handle = nil
      for _ in 0..<5 { check(unsafe ShieldHandle.resolve(context, as: Session.self) == nil) }
      check(unsafe ShieldHandle.resolve(nil, as: Session.self) == nil)
      let incidents = Shield.danglingIncidents()
      check(incidents.allSatisfy { $0.kind == .handle && $0.className.hasSuffix(".Session") && !$0.use.frames.isEmpty })
      check(incidents.reduce(0) { $0 + $1.count } == 7)
      Glibc.exit(right)
    }
  }

  @Test(
    "the quarantine is disabled under a sanitizer, with a reason",
    .enabled(if: Shield.danglingUnavailableReason != nil))
  func steppingAside() throws {
    let reason = try #require(Shield.danglingUnavailableReason)
    #expect(reason.contains("sanitizer"))
    #expect(throws: Shield.ProtectionError.unavailable(reason)) { try Shield.protect(Session.self, policy: .absorb) }
  }

  @Test(
    "Shield.liveness returns live, quarantined, freed or unknown, and does not crash at any address",
    .enabled(if: Shield.danglingUnavailableReason == nil))
  func liveness() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb)
      let alive = Guest()
      let pointer = unsafe Unmanaged.passUnretained(alive).toOpaque()
      check(unsafe Shield.liveness(of: pointer) == .live(className: "CrashShieldTests.Guest"))
      weak let weakly = alive
      check(unsafe weakly != nil && Shield.liveness(of: pointer) == .live(className: "CrashShieldTests.Guest"))
      withExtendedLifetime(alive) {}

      let reference = unsafe dangling { Session() }
      drop()
      guard case .quarantined(let held) = unsafe Shield.liveness(of: reference.toOpaque()) else { Glibc.exit(1) }
      check(held.className == "CrashShieldTests.Session" && held.release.frames.count >= 8)
      check(held.release.thread == Int(gettid_()))
      Shield.drainQuarantine()
      guard case .freed(let freed) = unsafe Shield.liveness(of: reference.toOpaque()) else { Glibc.exit(1) }
      check(freed.number == held.number && freed.release == held.release && freed.age >= held.age)

      for address: UInt in [1, 8, 4096, 0x5C5A_0000_0000_0001, 0xFFFF_8000_0000_0000, UInt.max] {
        check(unsafe Shield.liveness(of: UnsafeRawPointer(bitPattern: address)) == .unknown)
      }
      check(unsafe Shield.liveness(of: nil) == .unknown)
      Glibc.exit(right)
    }
  }

  @Test(
    "under a seccomp profile that refuses process_vm_readv, the quarantine is off and states the reason",
    .enabled(if: Shield.danglingUnavailableReason == nil))
  func refused() async {
    await #expect(processExitsWith: .exitCode(right)) {
      check(cs_test_refuse_memory_copies())
      check(Shield.danglingUnavailableReason == "this process may not use process_vm_readv")
      do {
        try Shield.protect(Session.self, policy: .zero)
        Glibc.exit(1)
      } catch {}
      check(unsafe Shield.liveness(of: UnsafeRawPointer(bitPattern: 4096)) == .unknown)
      Glibc.exit(right)
    }
  }
}
