import Glibc
import LinuxSystem

/// Opens images at paths that processes reported.
///
/// The file systems of these paths can block forever.
enum ForeignImages {
  /// Opens the images that are not open yet, and determines the origin of each file.
  ///
  /// If the file system of a directory blocks, only the images in this directory are delayed. These images are refused
  /// after `imageLook_ms`. The user is charged for the CPU time of this work. If the user has used up the CPU time
  /// limit, all images are refused.
  /// - Returns: The opened images, and the refused images with the reasons.
  static func look(
    _ images: [ImageFile], for user: UInt32, _ configuration: SymbolCaches.Configuration
  ) async -> (seen: [ImageFile], refused: [(ImageFile, String)]) {
    let timeout_ms = configuration.limits.imageLook_ms
    return await withTaskGroup(of: [(ImageFile, Result<ImageFile, SystemError>)].self) { group in
      for (place, images) in Dictionary(grouping: images, by: \.place) {
        group.addTask {
          let found = await ForeignFileWork.shared.result(of: user, at: place, timeout_ms: timeout_ms) {
            images.map { image in (image, look(image, for: user, configuration)) }
          }
          return found ?? images.map { ($0, .failure(SystemError("open image '\($0.path)'", code: ETIMEDOUT))) }
        }
      }
      var seen: [ImageFile] = []
      var refused: [(ImageFile, String)] = []
      for await results in group {
        for (image, result) in results {
          switch result {
          case .success(let found): seen.append(found)
          case .failure(let error): refused.append((image, "\(error)"))
          }
        }
      }
      return (seen.filter(\.isExecutable) + seen.filter { !$0.isExecutable }, refused)
    }
  }

  private static func look(
    _ image: ImageFile, for user: UInt32, _ configuration: SymbolCaches.Configuration
  ) -> Result<ImageFile, SystemError> {
    let cpu = configuration.cpu
    guard cpu.wait_ns(for: user) == 0 else {
      return .failure(SystemError("open image '\(image.path)' within the CPU time of its user", code: EAGAIN))
    }
    return cpu.charging(user) {
      do throws(SystemError) {
        return .success(try image.look(for: user, in: configuration.symbolDirectories))
      } catch {
        return .failure(error)
      }
    }
  }
}
