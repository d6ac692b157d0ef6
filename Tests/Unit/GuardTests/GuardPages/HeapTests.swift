import CrashShield
import CrashShieldGuardPages
import Glibc
import Testing

@Suite("Frees and bounds of guard slots", .enabled(if: isInterposed, "malloc is not interposed here"))
struct HeapTests {
  /// The size of a `Session`.
  ///
  /// The shield puts allocations of this size on guard pages.
  static let size = 40

  @Test("a double free and a free of an interior pointer are distinguished, and both are ignored")
  func frees() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      let dead = unsafe dangling { Session() }
      unsafe free(dead.toOpaque())
      let alive = unsafe held { Session() }
      unsafe free(address(alive.toOpaque(), plus: 16))
      unsafe free(address(alive.toOpaque(), plus: 1 << 12))
      check(unsafe alive._withUnsafeGuaranteedRef { $0.number } == 7 && deinitCount() == 1)
      let incidents = GuardPages.incidents()
      check(incidents.count == 3 && incidents[0].kind == .doubleFree && incidents[0].age != nil)
      check(incidents[1].kind == .invalidFree && incidents[1].offset == 16 && incidents[1].age == nil)
      check(incidents[1].className == "GuardTests.Session" && !incidents[1].allocation.frames.isEmpty)
      check(incidents[2].kind == .invalidFree)
      // A block of this size gets a guard page even if it is not an object. After its free, accesses to it are not
      // checked, but further frees are.
      guard let block = unsafe malloc(Self.size) else { Glibc.exit(1) }
      unsafe free(block)
      unsafe free(block)
      check(GuardPages.incidents().count == 4 && GuardPages.incidents()[3].className.isEmpty)
      Glibc.exit(right)
    }
  }

  @Test("accesses beyond the end and before the start of an object hit the guard pages", arguments: [false, true])
  func overflow(isBefore: Bool) async {
    await #expect(processExitsWith: .exitCode(right)) { [isBefore] in
      start(Session.self)
      let alive = unsafe held { Session() }
      let offset = isBefore ? -pageBytes : 48
      unsafe address(alive.toOpaque(), plus: offset).storeBytes(of: 1, as: Int.self)
      check(unsafe address(alive.toOpaque(), plus: offset).load(as: Int.self) == 1)
      let incidents = GuardPages.incidents()
      check(incidents.count == 1 && incidents[0].kind == (isBefore ? .underflow : .overflow))
      check(incidents[0].offset == offset && incidents[0].className == "GuardTests.Session")
      check(incidents[0].age == nil && incidents[0].release.frames.isEmpty)
      let spent = unsafe UInt(bitPattern: alive.toOpaque())
      drop()
      for _ in 0..<600 { check(unsafe UInt(bitPattern: dangling { Session() }.toOpaque()) != spent) }
      Glibc.exit(right)
    }
  }

  @Test("a write directly next to an object is detected when the object is released", arguments: [40, 47, -8, -16])
  func trampled(offset: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [offset] in
      start(Session.self)
      let alive = unsafe held { Session() }
      unsafe address(alive.toOpaque(), plus: offset).storeBytes(of: 1, as: UInt8.self)
      drop()
      let incidents = GuardPages.incidents()
      check(incidents.count == 1 && incidents[0].kind == .trampled && incidents[0].offset == offset)
      Glibc.exit(right)
    }
  }

  @Test(
    "the policy crash ends the process at each heap fault",
    arguments: ["double-free", "invalid-free", "overflow", "underflow", "trampled", "write", "execute"])
  func crashes(way: String) async {
    await #expect(processExitsWith: .signal(SIGSEGV)) { [way = way as String] in
      start(Session.self, policy: .crash)
      let object = unsafe held { Session() }.toOpaque()
      switch way {
      case "double-free":
        drop()
        unsafe free(object)
      case "invalid-free": unsafe free(address(object, plus: 8))
      case "overflow": unsafe address(object, plus: 48).storeBytes(of: 1, as: UInt8.self)
      case "underflow": unsafe address(object, plus: -pageBytes).storeBytes(of: 1, as: UInt8.self)
      case "trampled":
        unsafe address(object, plus: 41).storeBytes(of: 1, as: UInt8.self)
        drop()
      case "write":
        drop()
        unsafe object.storeBytes(of: 1, toByteOffset: 16, as: UInt8.self)
      default:
        drop()
        let function = unsafe unsafeBitCast(object, to: (@convention(c) () -> Void).self)
        function()
      }
      Glibc.exit(right)
    }
  }

  @Test("realloc moves a slot's contents; calloc and aligned memory are not guarded; sizes are as requested")
  func family() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      guard let block = unsafe malloc(Self.size) else { Glibc.exit(1) }
      check(unsafe usableSize(block) == Self.size && UInt(bitPattern: block) % UInt(pageBytes) == UInt(pageBytes) - 48)
      unsafe memset(block, 0x5a, Self.size)
      // reallocarray() is not interposed: it is libc's function, which calls realloc().
      guard let larger = unsafe reallocarray(block, 100, 10) else { Glibc.exit(1) }
      check(unsafe larger.load(fromByteOffset: 32, as: UInt64.self) == 0x5a5a_5a5a_5a5a_5a5a)
      guard let smaller = unsafe realloc(larger, Self.size) else { Glibc.exit(1) }
      check(unsafe smaller.load(fromByteOffset: 32, as: UInt64.self) == 0x5a5a_5a5a_5a5a_5a5a)
      unsafe free(smaller)
      // realloc() also shrinks an allocation on a guard page.
      guard let slot = unsafe malloc(Self.size), let cut = unsafe realloc(slot, 8) else { Glibc.exit(1) }
      unsafe free(cut)
      guard let gone = unsafe malloc(Self.size) else { Glibc.exit(1) }
      check(unsafe realloc(gone, 0) == nil)
      for _ in 0..<300 {
        guard let zeros = unsafe calloc(5, 8) else { Glibc.exit(1) }
        check((0..<5).allSatisfy { unsafe zeros.load(fromByteOffset: $0 * 8, as: Int.self) == 0 })
        unsafe memset(zeros, 1, 40)
        unsafe free(zeros)
      }
      var aligned: UnsafeMutableRawPointer?
      check(unsafe posix_memalign(&aligned, 8192, Self.size) == 0 && UInt(bitPattern: aligned) % 8192 == 0)
      unsafe free(aligned)
      guard let page = unsafe aligned_alloc(4096, 4096) else { Glibc.exit(1) }
      check(UInt(bitPattern: page) % 4096 == 0)
      unsafe free(page)
      free(nil)
      check(usableSize(nil) == 0)
      // This size is too large, so the call fails and sets errno. A successful call must not change errno.
      errno = 0
      check(unsafe malloc(Int.max) == nil && errno == ENOMEM)
      errno = 77
      unsafe free(malloc(Self.size))
      check(errno == 77 && GuardPages.incidents().isEmpty)
      // realloc() of a block on a guard page that was already freed is recorded, and returns new memory.
      guard let stale = unsafe malloc(Self.size) else { Glibc.exit(1) }
      unsafe free(stale)
      guard let fresh = unsafe realloc(stale, 80) else { Glibc.exit(1) }
      unsafe free(fresh)
      check(GuardPages.incidents().map(\.kind) == [.doubleFree])
      Glibc.exit(right)
    }
  }

  @Test("allocations of the guarded size that are not objects of the class are counted, and their slots are reused")
  func others() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self, slots: 4)
      for _ in 0..<100 { _ = unsafe dangling { Twin() } }
      let counts = GuardPages.statistics
      check(counts.others >= 100 && counts.guarded == 0 && counts.incidents == 0)
      Glibc.exit(right)
    }
  }
}
