// The container in which the process ran: the facts that crashd found, and the names that the process itself reported.
extension CrashReport {
  /// The container in which the process ran.
  ///
  /// crashd finds the id, the runtime and the uid of the pod in files of `/proc`. The names come from the process's
  /// environment variables, so they are only claims of the process. crashd finds `name` itself if the mounts of the
  /// process contain it.
  public struct Container: Codable, Sendable, Equatable {
    /// The id of the container, in 64 hexadecimal digits; nil if crashd did not find it.
    public var id: String?
    /// The container runtime, such as `docker`, `containerd`, `cri-o` or `podman`.
    ///
    /// The value is nil if the runtime cannot be derived from `source`.
    public var runtime: String?
    /// The file in which crashd found the id or, if it found no id, the pod: `cgroup` or `mountinfo`.
    ///
    /// The value is nil if crashd found neither the id nor the pod.
    public var source: String?
    /// The uid of the Kubernetes pod, or the id of the podman pod.
    public var podUID: String?
    /// The name of the pod.
    public var pod: String?
    /// The namespace of the pod.
    public var namespace: String?
    /// The name of the node on which the pod ran.
    public var node: String?
    /// The name of the container in its pod.
    public var name: String?
    /// The names of the properties that come only from the process, in alphabetical order; nil if there are none.
    public var claimed: [String]?

    /// Creates a container from its parts.
    public init(id: String? = nil, runtime: String? = nil, source: String? = nil, podUID: String? = nil) {
      (self.id, self.runtime, self.source, self.podUID) = (id, runtime, source, podUID)
    }
  }
}

extension CrashReport.Container {
  /// The annotations with the names of the container and its pod, by the name of the property.
  ///
  /// The keys are the names of OpenTelemetry's semantic conventions.
  package static let annotations: [(key: String, name: String, path: any WritableKeyPath<Self, String?> & Sendable)] = [
    ("k8s.container.name", "name", \.name), ("k8s.namespace.name", "namespace", \.namespace),
    ("k8s.node.name", "node", \.node), ("k8s.pod.name", "pod", \.pod),
  ]

  /// The values of this container that are tags of the report, by OpenTelemetry's names.
  var tags: [String: String] {
    var tags: [String: String] = [:]
    (tags["container.id"], tags["k8s.pod.uid"]) = (id, podUID)
    for (key, _, path) in Self.annotations { tags[key] = self[keyPath: path] }
    return tags
  }

  /// Adds the names that a process reported in its annotations to the facts that crashd found.
  ///
  /// A value that crashd found takes precedence.
  /// - Returns: The container; nil if crashd found nothing and the process reported nothing.
  package static func merged(_ found: Self?, claims annotations: [String: String]) -> Self? {
    var container = found ?? Self()
    var claimed = container.claimed ?? []
    for (key, name, path) in Self.annotations {
      guard container[keyPath: path] == nil, let value = annotations[key], !value.isEmpty else { continue }
      container[keyPath: path] = value
      claimed.append(name)
    }
    container.claimed = claimed.isEmpty ? nil : claimed.sorted()
    return container == Self() ? nil : container
  }

  /// Fills missing values with the values of a later reading.
  package func added(to later: Self?) -> Self {
    guard let later else { return self }
    var container = self
    (container.id, container.runtime) = id == nil ? (later.id, later.runtime) : (id, runtime)
    container.source = source ?? later.source
    container.podUID = podUID ?? later.podUID
    if later.name != nil, later.claimed?.contains("name") != true, name == nil || claimed?.contains("name") == true {
      container.name = later.name
      container.claimed = claimed.map { $0.filter { $0 != "name" } }.flatMap { $0.isEmpty ? nil : $0 }
    }
    return container
  }

  /// The facts that crashd found, such as `0123…, containerd, by its cgroup`.
  var text: String {
    let found = id ?? (claimed?.contains("name") == true ? nil : name.map { "container \($0)" })
    let origin = found == nil ? nil : source.map { "by its \($0)" }
    return [found, runtime, origin].compactMap { $0 }.joined(separator: ", ")
  }

  /// The pod, such as `shop-7c5 in production on node-2, container shop (claimed by the process), uid 2f7a…`.
  var podText: String {
    func isClaimed(_ name: String) -> Bool { claimed?.contains(name) == true }
    var words = [pod, namespace.map { "in \($0)" }, node.map { "on \($0)" }].compactMap { $0 }.joined(separator: " ")
    if let name, isClaimed("name") || id != nil { words += (words.isEmpty ? "" : ", ") + "container \(name)" }
    if !words.isEmpty, claimed != nil { words += " (claimed by the process)" }
    return [words.isEmpty ? nil : words, podUID.map { "uid \($0)" }].compactMap { $0 }.joined(separator: ", ")
  }
}
