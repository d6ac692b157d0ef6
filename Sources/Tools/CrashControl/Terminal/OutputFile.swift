import Glibc
internal import LinuxSystem

extension Output {
  /// Writes a file that only its owner can read.
  ///
  /// If the file exists, it is replaced when the new file is complete.
  ///
  /// If the path is not a regular file, but for example `/dev/null`, a pipe or a terminal, the bytes are written to it
  /// directly.
  /// - Throws: `Failure` with the path and the reason. If the write fails, an existing file stays unchanged.
  public static func write(_ bytes: [UInt8], toFile path: String) throws(Failure) {
    if isStream(path) { return try write(bytes, toStream: path) }
    let temporary = "\(path).\(getpid()).new"
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Failure(.nothingFound, "cannot write '\(path)' (\(SystemError.text(errno)))") }
    do throws(Failure) {
      try write(bytes, to: descriptor)
      close(descriptor)
    } catch {
      close(descriptor)
      unsafe unlink(temporary)
      throw Failure(.nothingFound, "cannot write '\(path)': \(error.message)")
    }
    guard unsafe rename(temporary, path) == 0 else {
      let reason = SystemError.text(errno)
      unsafe unlink(temporary)
      throw Failure(.nothingFound, "cannot write '\(path)' (\(reason))")
    }
  }

  private static func isStream(_ path: String) -> Bool {
    var status = stat()
    // Invariant: stat fills in the structure.
    guard unsafe stat(path, &status) == 0 else { return false }
    return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }

  private static func write(_ bytes: [UInt8], toStream path: String) throws(Failure) {
    let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw Failure(.nothingFound, "cannot write '\(path)' (\(SystemError.text(errno)))") }
    defer { close(descriptor) }
    do throws(Failure) { try write(bytes, to: descriptor) } catch {
      throw Failure(.nothingFound, "cannot write '\(path)': \(error.message)")
    }
  }
}
