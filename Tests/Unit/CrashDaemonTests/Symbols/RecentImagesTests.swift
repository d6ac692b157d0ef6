import Glibc
import LinuxSystem
import Testing

@testable import CrashDaemon

struct RecentImagesTests {
  private static func images(_ builds: String...) -> [ImageFile] {
    builds.map { ImageFile(buildID: $0, path: "/usr/bin/\($0)", isExecutable: true) }
  }

  @Test("the symbols of an image list are requested again after a while, for each user and each list")
  func memory() {
    let recent = RecentImages(memory_ms: 1_000)
    let second: UInt64 = 1_000_000_000
    #expect(recent.areNew(Self.images("aa", "bb"), for: 1, at: 5 * second))
    #expect(!recent.areNew(Self.images("aa", "bb"), for: 1, at: 6 * second))
    #expect(recent.areNew(Self.images("aa", "bb"), for: 2, at: 6 * second))
    #expect(recent.areNew(Self.images("aa"), for: 1, at: 6 * second))
    #expect(recent.areNew(Self.images("aa", "bb"), for: 1, at: 6 * second + 1))
  }

  @Test("the symbols of an image are always requested if the process sent its descriptor")
  func sent() {
    let recent = RecentImages(memory_ms: 1_000)
    var images = Self.images("aa")
    images[0].descriptor = Descriptor(owning: unsafe open("/dev/null", O_RDONLY | O_CLOEXEC))
    for _ in 0..<2 { #expect(recent.areNew(images, for: 1, at: 1)) }
  }

  @Test("the number of stored image lists is bounded")
  func limit() {
    let recent = RecentImages(memory_ms: 1_000)
    for index in 0..<200 { #expect(recent.areNew(Self.images("\(index)"), for: 1, at: 1)) }
    #expect(!recent.areNew(Self.images("199"), for: 1, at: 1))
    #expect(recent.areNew(Self.images("0"), for: 1, at: 1))
  }
}
