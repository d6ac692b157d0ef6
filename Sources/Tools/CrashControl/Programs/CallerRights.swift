internal import CLinux
import Glibc

/// Whether crashctl has more privileges than its caller, by sudo, doas or pkexec, or by the kernel's AT_SECURE.
///
/// A crashctl with more privileges starts no program that gives the caller a shell. A sudo rule that allows crashctl
/// must not allow everything.
///
/// Limit: `sudo -s` leaves `SUDO_UID` set. The user of that shell can unset the variable. The caller of a single
/// allowed command cannot.
struct CallerRights {
  /// The evidence for additional privileges, such as `SUDO_UID is set`, or nil if there is none.
  let surplus: String?

  init(environment: [String: String], isSecure: Bool = cs_process_is_secure(), user: uid_t = geteuid()) {
    if isSecure {
      surplus = "crashctl has more privileges than its caller"
      return
    }
    // sudo and pkexec set these variables, and their callers cannot unset them.
    let raised = ["SUDO_UID", "PKEXEC_UID"].first { name in environment[name].map { uid_t($0) != user } ?? false }
    if let raised {
      surplus = "\(raised) is set"
    } else {
      surplus = environment["DOAS_USER"].map { $0 != "root" } ?? false ? "DOAS_USER is set" : nil
    }
  }
}
