import CLinux
import Glibc
import LinuxSystem

/// Reads the vDSO, the image with clock functions that the kernel maps into every process.
///
/// The vDSO exists only in memory and not in a file.
///
/// All 64-bit processes of a machine have the same vDSO, so crashd reads its own copy instead of the memory of the
/// process. The build ID shows whether the process really has the same vDSO.
enum KernelImage {
  /// The path that the ring reader reports for the vDSO.
  static let path = "[vdso]"
  /// A device number and an inode number that no file has.
  private static let identity = ImageFile.Identity(device: .max, number: .max)

  /// Opens a read-only copy of the vDSO.
  static func open() throws(SystemError) -> ImageFile.Opened {
    guard let range = find(in: SmallFile.text(at: "/proc/self/maps", limitBytes: 1 << 20) ?? "") else {
      throw SystemError("find \(path)", code: ENOENT)
    }
    // This access is safe, because the kernel keeps the pages of the vDSO mapped and readable as long as crashd runs.
    let pages = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: range.start), count: range.count)
    let file = try MemoryFile()
    try file.write(unsafe Array(pages), at: 0)
    let number = unsafe Glibc.open("/proc/self/fd/\(file.descriptor.number)", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open a copy of \(path)") }
    return ImageFile.Opened(descriptor: Descriptor(owning: number), owner: .allUsers, identity: identity)
  }

  /// Finds the address range of the vDSO in the contents of /proc/self/maps.
  static func find(in maps: String) -> (start: UInt, count: Int)? {
    guard let line = maps.split(separator: "\n").last(where: { $0.hasSuffix(" \(path)") }) else { return nil }
    let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard ends.count == 2, ends[0] < ends[1], let count = Int(exactly: ends[1] - ends[0]) else { return nil }
    return (ends[0], count)
  }
}
