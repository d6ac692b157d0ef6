import CrashSymbols
import Foundation
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The kernel's image")
struct KernelImageTests {
  private static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("crash-analyse").path

  private func image(_ buildID: String) -> ImageFile {
    ImageFile(buildID: buildID, path: "[vdso]", isExecutable: false, descriptor: nil)
  }

  @Test("the kernel's image is found at its mapped address")
  func place() {
    let maps = """
      7ffc8a9f0000-7ffc8a9f4000 r--p 00000000 00:00 0                          [vvar]
      7ffc8a9f4000-7ffc8a9f6000 r-xp 00000000 00:00 0                          [vdso]
      ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]

      """
    let found = KernelImage.find(in: maps)
    #expect(found?.start == 0x7ffc_8a9f_4000 && found?.count == 8_192)
    #expect(KernelImage.find(in: "") == nil && KernelImage.find(in: "2-1 r-xp 0 [vdso]\n") == nil)
  }

  @Test("the child's copy of the kernel image cannot be written, even by a compromised child")
  func copy() throws {
    let opened = try KernelImage.open()
    #expect(opened.owner == .allUsers)
    #expect(unsafe write(opened.descriptor.number, "x", 1) == -1 && errno == EBADF)
    var magic: [UInt8] = [0, 0, 0, 0]
    // Invariant: pread() writes as many bytes as the array has.
    #expect(unsafe pread(opened.descriptor.number, &magic, magic.count, 0) == 4)
    #expect(magic == [0x7f, 0x45, 0x4c, 0x46])
  }

  @Test("names in the kernel's image are found by its real build id, whatever build id the process claims")
  func names() async throws {
    let directory = try TestDirectory()
    let caches = SymbolCaches(
      SymbolCaches.Configuration(
        directory: directory.path, program: Self.program, limits: .patient,
        ledger: Ledger(logger: TestLog.logger, limits: .patient), logger: TestLog.logger))
    await caches.prepare([image("abcd")], for: geteuid())
    #expect(await caches.caches(of: ["abcd": []], for: geteuid(), timeout_ms: 600_000).isEmpty)
    let reason = try #require(await caches.gaps(of: ["abcd"], [:], for: geteuid())["abcd"]?.reason)
    let words = reason.split(separator: " ")
    let place = try #require(words.firstIndex(of: "id"), "\(reason)")
    let buildID = String(words[place + 1].dropLast())
    #expect(reason.hasPrefix("crash-analyse: the image has build id \(buildID), not abcd"), "\(reason)")

    // dlsym() finds time() of glibc, which the loader resolves to the function in the kernel's image (vDSO).
    let address = UInt64(UInt(bitPattern: unsafe dlsym(nil, "time")))
    let maps = try #require(SmallFile.text(at: "/proc/self/maps", limitBytes: 1 << 20))
    let range = try #require(KernelImage.find(in: maps))
    let offset = address &- UInt64(range.start)
    try #require(offset < UInt64(range.count), "time() is not in the kernel's image")
    await caches.prepare([image(buildID)], for: geteuid())
    let found = await caches.caches(of: [buildID: [offset]], for: geteuid(), timeout_ms: 600_000)
    let frame = try #require(found[buildID]?.frames(at: offset).first)
    #expect(frame.mangled == "time" && frame.symbolAddress == offset, "\(frame)")
  }
}
