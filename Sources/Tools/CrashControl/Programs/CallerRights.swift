internal import CLinux
import Glibc

/// Whether crashctl has more rights than its caller: by sudo, doas or pkexec, or because the kernel says so (AT_SECURE).
///
/// Then crashctl starts nothing that gives the caller a shell: a rule that allows crashctl must not allow everything.
///
/// Limit: `sudo -s` leaves `SUDO_UID` set. The user of that shell can unset it; a caller of one allowed command cannot.
struct CallerRights {
  /// Why crashctl has more rights, such as `SUDO_UID is set`; nil when it has not.
  let surplus: String?

  init(environment: [String: String], isSecure: Bool = cs_process_is_secure(), user: uid_t = geteuid()) {
    if isSecure {
      surplus = "crashctl has more rights than its caller"
      return
    }
    // The tools that raise rights set these, and their callers cannot take them away.
    let raised = ["SUDO_UID", "PKEXEC_UID"].first { name in environment[name].map { uid_t($0) != user } ?? false }
    if let raised {
      surplus = "\(raised) is set"
    } else {
      surplus = environment["DOAS_USER"].map { $0 != "root" } ?? false ? "DOAS_USER is set" : nil
    }
  }
}
