internal import CLinux
import Glibc

/// Whether crashctl has more privileges than its caller, by sudo, doas or pkexec, or by the kernel's AT_SECURE.
///
/// If crashctl has more privileges than its caller, it does not start programs that give the caller a shell. Otherwise,
/// a sudo rule that allows only crashctl would allow every command.
///
/// Limit: crashctl also refuses in a shell of `sudo -s`, because `SUDO_UID` is set there. The user of that shell can
/// unset the variable. A caller whom sudo allows to run only crashctl cannot unset it.
struct CallerRights {
  /// The evidence for additional privileges, such as `SUDO_UID is set`; nil if there is no evidence.
  let surplus: String?

  init(environment: [String: String], isSecure: Bool = cs_process_is_secure(), user: uid_t = geteuid()) {
    if isSecure {
      surplus = "crashctl has more privileges than its caller"
      return
    }
    // sudo and pkexec set these variables in crashctl's environment, and the caller cannot prevent this.
    let raised = ["SUDO_UID", "PKEXEC_UID"].first { name in environment[name].map { uid_t($0) != user } ?? false }
    if let raised {
      surplus = "\(raised) is set"
    } else {
      surplus = environment["DOAS_USER"].map { $0 != "root" } ?? false ? "DOAS_USER is set" : nil
    }
  }
}
