internal import CrashRing
internal import CrashSymbols
import Glibc
internal import LinuxSystem

/// A temporary directory with links, by build id, to the files that contain the symbols for the crash records of a log.
///
/// The private crashd searches this directory (`symbol-directories`). If this machine has an image of a record at the
/// recorded path, crashd opens the image without a link.
struct RecordSymbols: ~Copyable {
  private static let fileLimit = 100_000
  private static let depthLimit = 16
  private static let fetch_ms = 90_000
  private static let stopCheck_ms: Int32 = 250

  private let directories: [String]
  private let servers: [String]
  private let environment: [String: String]
  private let storage: PrivateDirectory
  /// The bytes and the number of files that can still be fetched.
  ///
  /// They are limited, because a log can name any number of builds.
  private var fetchRoom = (bytes: 4 << 30, files: 64)
  /// The files in `directories` and their subdirectories, by build id; nil until the first search.
  private var files: [String: String]?
  /// The builds whose files were already searched.
  private var searched: Set<String> = []

  /// The path of the temporary directory.
  var path: String { storage.path }

  init(directories: [String], servers: [String], environment: [String: String]) throws(Failure) {
    for directory in directories where unsafe access(directory, R_OK | X_OK) != 0 {
      throw Failure(.usage, "cannot read the directory '\(directory)' (\(SystemError.text(errno)))")
    }
    let storage = try PrivateDirectory(keep: false, environment: environment)
    (self.directories, self.servers, self.environment) = (directories, servers, environment)
    self.storage = storage
  }

  /// Finds the files of the images that a record uses.
  ///
  /// Returns early if the caller stops the search.
  mutating func find(_ images: [RingContents.Image], until isStopped: () -> Bool) throws(Failure) {
    for image in images where !isStopped() && !image.buildID.isEmpty && searched.insert(image.buildID).inserted {
      let isHere = image.path.hasPrefix("/") && ImageBuildID.read(image.path) == image.buildID
      if let file = given(image.buildID) {
        // If this machine has the image, crashd reads code and symbols from the image, and lines from the debug file.
        try link(image.buildID, to: file, suffixes: isHere ? [".debug"] : ["", ".debug"])
      } else if !isHere {
        var file = Self.beside(image, images) ?? Self.debugFile(image.buildID, in: DebugFilePaths.standardDirectory)
        if file == nil { file = try fetched(image, until: isStopped) }
        if let file { try link(image.buildID, to: file, suffixes: [""]) }
      }
    }
  }

  /// Returns the file of a build in `directories`.
  private mutating func given(_ buildID: String) -> String? {
    for directory in directories {
      if let image = DebugFilePaths.ofBuild(buildID, in: directory), ImageBuildID.read(image) == buildID {
        return image
      }
      if let file = Self.debugFile(buildID, in: directory) { return file }
    }
    if files == nil { files = search() }
    return files?[buildID]
  }

  /// Returns the file of an image that the record names without a directory, because the whole path did not fit.
  ///
  /// The file is searched in the directories of the record's other images, and in the system's library directories.
  private static func beside(_ image: RingContents.Image, _ images: [RingContents.Image]) -> String? {
    guard DebugFilePaths.isName(image.path) else { return nil }
    let known = images.compactMap { image in image.path.lastIndex(of: "/").map { String(image.path[..<$0]) } }
    var seen: Set<String> = []
    return (known.filter { $0.hasPrefix("/") } + ["/lib64", "/usr/lib64", "/usr/lib"])
      .filter { seen.insert($0).inserted }.lazy.map { "\($0)/\(image.path)" }
      .first { ImageBuildID.read($0) == image.buildID }
  }

  private static func debugFile(_ buildID: String, in directory: String) -> String? {
    guard let path = DebugFilePaths.ofBuild(buildID, in: directory).map({ $0 + ".debug" }) else { return nil }
    return ImageBuildID.read(path) == buildID ? path : nil
  }

  /// Reads the build ids of all files in the directories.
  ///
  /// The numbers of files and of nested directories are limited, and links to directories are not followed. If two
  /// files have the same build id, the larger one is used, because the smaller one can be stripped.
  private func search() -> [String: String] {
    var (found, sizes): ([String: String], [String: Int]) = ([:], [:])
    var left = Self.fileLimit
    var waiting = directories.map { (path: $0, depth: 0) }
    while let (directory, depth) = waiting.popLast() {
      for name in Self.entries(of: directory) {
        if left == 0 { return found }
        left -= 1
        let path = directory + "/" + name
        var status = stat()
        // Invariant: lstat fills in the structure.
        guard unsafe lstat(path, &status) == 0 else { continue }
        if status.st_mode & S_IFMT == S_IFDIR {
          if depth < Self.depthLimit { waiting.append((path, depth + 1)) }
        } else if let buildID = ImageBuildID.read(path), sizes[buildID, default: -1] < Int(status.st_size) {
          (found[buildID], sizes[buildID]) = (path, Int(status.st_size))
        }
      }
    }
    return found
  }

  private static func entries(of directory: String) -> [String] {
    // Invariant: closedir closes the stream after its last use.
    guard let stream = unsafe opendir(directory) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while names.count < fileLimit, let entry = unsafe readdir(stream) {
      // Invariant: d_name is a null-terminated string inside the entry, which stays valid until the next readdir.
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Asks the servers for the debug file of an image; returns nil if no server has it.
  private mutating func fetched(
    _ image: RingContents.Image, until isStopped: () -> Bool
  ) throws(Failure) -> String? {
    guard fetchRoom.bytes > 0, fetchRoom.files > 0 else { return nil }
    fetchRoom.files -= 1
    guard !servers.isEmpty, !image.path.hasPrefix("[") else { return nil }
    let path = storage.path + "/" + image.buildID
    // Invariant: open reads the path only during the calls.
    let output = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    let nothing = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer {
      close(output)
      close(nothing)
    }
    guard output >= 0, nothing >= 0 else {
      throw Failure(.unreachable, "cannot make '\(path)' (\(SystemError.text(errno)))")
    }
    Output.complain("asking \(servers.joined(separator: ", ")) for the symbols of \(image.path)")
    do throws(ChildProcess.StartError) {
      let child = try ChildProcess(
        Programs.find("crash-fetch"),
        [
          "--build-id", image.buildID, "--limit-bytes", "\(fetchRoom.bytes)", "--timeout-ms", "\(Self.fetch_ms)",
        ] + servers,
        .init(standardInput: nothing, standardOutput: output, endsWithParent: true, environment: environment))
      var end: ChildProcess.End?
      while end == nil {
        if isStopped() {
          child.stop()
          return nil
        }
        end = child.wait(timeout_ms: Self.stopCheck_ms)
      }
      guard end == .exited(0) else { return nil }
    } catch {
      throw error.failure
    }
    var status = stat()
    // Invariant: stat fills in the structure.
    if unsafe stat(path, &status) == 0 { fetchRoom.bytes -= Int(status.st_size) }
    return ImageBuildID.read(path) == image.buildID ? path : nil
  }

  /// Links a file at the paths of its build in the temporary directory.
  private func link(_ buildID: String, to file: String, suffixes: [String]) throws(Failure) {
    guard let place = DebugFilePaths.ofBuild(buildID, in: storage.path), let target = Self.whole(file) else { return }
    let parents = [storage.path + "/.build-id", String(place[..<(place.lastIndex(of: "/") ?? place.endIndex)])]
    for parent in parents where unsafe mkdir(parent, 0o700) != 0 && errno != EEXIST {
      throw Failure(.unreachable, "cannot make '\(parent)' (\(SystemError.text(errno)))")
    }
    var status = stat()
    // Invariant: stat fills in the structure.
    if unsafe stat(target, &status) == 0, ![0, geteuid()].contains(status.st_uid) {
      Output.complain("crashd does not read '\(target)', which belongs to uid \(status.st_uid): copy the file")
    }
    for suffix in suffixes where unsafe symlink(target, place + suffix) != 0 && errno != EEXIST {
      throw Failure(.unreachable, "cannot make '\(place + suffix)' (\(SystemError.text(errno)))")
    }
  }

  /// Returns the absolute path of a file.
  private static func whole(_ path: String) -> String? {
    // Invariant: realpath allocates the string, which is freed after it was copied.
    guard let pointer = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(pointer) }
    return unsafe String(cString: pointer)
  }
}
