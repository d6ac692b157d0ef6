import Glibc

extension Output {
  /// Writes a file that nobody else may read; one that is there already is replaced once the new one is whole.
  /// - Throws: `Failure` with the path and the reason; then there is nothing new.
  public static func write(_ bytes: [UInt8], toFile path: String) throws(Failure) {
    let temporary = "\(path).\(getpid()).new"
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Failure(.nothingFound, "cannot write '\(path)' (\(errorText(errno)))") }
    do throws(Failure) {
      try write(bytes, to: descriptor)
      close(descriptor)
    } catch {
      close(descriptor)
      unsafe unlink(temporary)
      throw Failure(.nothingFound, "cannot write '\(path)': \(error.message)")
    }
    guard unsafe rename(temporary, path) == 0 else {
      let reason = errorText(errno)
      unsafe unlink(temporary)
      throw Failure(.nothingFound, "cannot write '\(path)' (\(reason))")
    }
  }
}
