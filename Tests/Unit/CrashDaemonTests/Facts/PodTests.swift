import CrashReport
import Testing

@testable import CrashDaemon

/// Tests how crashd finds the container and the pod of a process in control groups and mounts.
///
/// The description of each sample names its source. A sample of only one line is a line of a file in that source.
@Suite("Containers and pods")
struct PodTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var id: String
    var runtime: String?
    var pod: String?
  }

  static let samples = [
    Sample(
      testDescription: "version 1, driver cgroupfs, docker (neuvector, cgroup_test.go, TestDockerIDKubepods)",
      text: """
        3:rdma:/
        1:name=systemd:/kubepods/besteffort/pod74ba62da-1a3d-11e7-bb11-080027cb0e22/\
        cb1eadb7abe3a6545e9856411207073277838e1bdc003337c2f8685faeedc32c

        """, id: "cb1eadb7abe3a6545e9856411207073277838e1bdc003337c2f8685faeedc32c",
      pod: "74ba62da-1a3d-11e7-bb11-080027cb0e22"),
    Sample(
      testDescription: "version 1, driver systemd, docker (neuvector, cgroup_test.go, TestDockerIDKubepods2)",
      text: """
        11:cpuset:/kubepods.slice/kubepods-besteffort.slice/\
        kubepods-besteffort-pod045b1e35_7f13_11e7_ac42_0050568ffca0.slice/\
        docker-b5b6f2da8008be266864f896f93789762b2ce50792114a5c5f2cc3315af0bc70.scope
        """, id: "b5b6f2da8008be266864f896f93789762b2ce50792114a5c5f2cc3315af0bc70", runtime: "docker",
      pod: "045b1e35-7f13-11e7-ac42-0050568ffca0"),
    Sample(
      testDescription: "version 1, driver systemd, containerd (neuvector, cgroup_test.go, TestK8sBottleRocket)",
      text: """
        1:name=systemd:/kubepods.slice/kubepods-besteffort.slice/\
        kubepods-besteffort-poddd1bf9d1_241d_47f5_8e25_12de83135812.slice/\
        cri-containerd-f45298cd514d1930c4fe3afc4412e59547f7e3148fddd22ca33cefce046eb830.scope
        """, id: "f45298cd514d1930c4fe3afc4412e59547f7e3148fddd22ca33cefce046eb830", runtime: "containerd",
      pod: "dd1bf9d1-241d-47f5-8e25-12de83135812"),
    Sample(
      testDescription: "a static pod's uid is a hash (netdata/netdata#4868)",
      text: """
        0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod187bff14cccb94f179e943eacce55bb3.slice/\
        cri-containerd-c203a2647ef1ad78e990157c50331f3b6ef0b03336cf08535d6bf7faa5421415.scope
        """, id: "c203a2647ef1ad78e990157c50331f3b6ef0b03336cf08535d6bf7faa5421415", runtime: "containerd",
      pod: "187bff14cccb94f179e943eacce55bb3"),
    Sample(
      testDescription: "version 2, driver systemd, CRI-O inside docker (kubernetes/minikube#11280)",
      text: """
        0::/docker/d6701ec289c56e4391acb11d07474b3139466857a305490575508a8b7a9fcf22/kubepods.slice/\
        kubepods-besteffort.slice/kubepods-besteffort-podae7a96fb_2bdc_46b0_96e2_78e4af94847b.slice/\
        crio-89e8f450417b56acf3089925dfd8f050dd50e950e18cfe83ea923269df601102.scope
        """, id: "89e8f450417b56acf3089925dfd8f050dd50e950e18cfe83ea923269df601102", runtime: "cri-o",
      pod: "ae7a96fb-2bdc-46b0-96e2-78e4af94847b"),
    Sample(
      testDescription: "containerd with the driver systemd in kubelet and cgroupfs in containerd (a k3s node)",
      text: """
        0::/system.slice/containerd.service/kubepods-burstable-pod57e67067_89e4_4001_bdd4_8632d39ea02b.slice:\
        cri-containerd:6d393320601b821561e43bd46f658284cb172cf297ecc3d3665be657870d32e2
        """, id: "6d393320601b821561e43bd46f658284cb172cf297ecc3d3665be657870d32e2", runtime: "containerd",
      pod: "57e67067-89e4-4001-bdd4-8632d39ea02b"),
    Sample(
      testDescription: "kubelet with a root of its own (kind), a pod of the class guaranteed",
      text: """
        0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-poda45947e4_314c_4694_8f05_5e1425a02de4.slice/\
        cri-containerd-abb37780fc913b3720641a4039186adb06f5d1de0229de0e8707f12e2fde5a21.scope
        """, id: "abb37780fc913b3720641a4039186adb06f5d1de0229de0e8707f12e2fde5a21", runtime: "containerd",
      pod: "a45947e4-314c-4694-8f05-5e1425a02de4"),
    Sample(
      testDescription: "a group that a program made in its container (neuvector, cgroup_test.go, TestK8sProxyProcess)",
      text: """
        10:memory:/kubepods/besteffort/podf8a694f2-7c08-11e9-98da-000c29077430/\
        c04e0a88a1de067f25bece337d4dbb897396e0b623c2a65330850fc9823f1903/kube-proxy
        """, id: "c04e0a88a1de067f25bece337d4dbb897396e0b623c2a65330850fc9823f1903",
      pod: "f8a694f2-7c08-11e9-98da-000c29077430"),
    Sample(
      testDescription: "podman without a pod (podman-container-tools/podman#20423)",
      text: """
        0::/user.slice/user-0.slice/user@0.service/machine.slice/\
        libpod-cf21d19260ace8544fe8b769fc2638bf2c0873dfbfff0b6253f0569b26a1d5eb.scope/container
        """, id: "cf21d19260ace8544fe8b769fc2638bf2c0873dfbfff0b6253f0569b26a1d5eb", runtime: "podman"),
    Sample(
      testDescription: "podman's pod, driver systemd (the CgroupPath of podman-pod-inspect(1))",
      text: """
        0::/machine.slice/machine-libpod_pod_71b289d2028f1c5a5557efaee6f352615311e199997f0ec2fa5b579876eb9e07.slice/\
        libpod-6d6d61f09fc1c86833314aa7ed0065c087b707c3cf5687d5b5e9c7699d7dcc72.scope/container
        """, id: "6d6d61f09fc1c86833314aa7ed0065c087b707c3cf5687d5b5e9c7699d7dcc72", runtime: "podman",
      pod: "71b289d2028f1c5a5557efaee6f352615311e199997f0ec2fa5b579876eb9e07"),
    Sample(
      testDescription: "podman's pod, driver cgroupfs",
      text: """
        2:memory:/libpod_parent/71b289d2028f1c5a5557efaee6f352615311e199997f0ec2fa5b579876eb9e07/\
        libpod-6d6d61f09fc1c86833314aa7ed0065c087b707c3cf5687d5b5e9c7699d7dcc72
        """, id: "6d6d61f09fc1c86833314aa7ed0065c087b707c3cf5687d5b5e9c7699d7dcc72", runtime: "podman",
      pod: "71b289d2028f1c5a5557efaee6f352615311e199997f0ec2fa5b579876eb9e07"),
    Sample(
      testDescription: "a container of the same pod, as crashd's own cgroup namespace shows it",
      text: "0::/../cri-containerd-f45298cd514d1930c4fe3afc4412e59547f7e3148fddd22ca33cefce046eb830.scope\n",
      id: "f45298cd514d1930c4fe3afc4412e59547f7e3148fddd22ca33cefce046eb830", runtime: "containerd"),
    Sample(
      testDescription: "docker inside docker (neuvector, cgroup_test.go, TestDockerIDRancherOS)",
      text: """
        9:name=systemd:/docker/a9a5ad238e59234193ee7ec3fcff5e735b3708ea1068826952255b69e3cfa413/docker/\
        ec08435e04266c5ba381fccbb829f626d11d8ddf5f8f547263c7a2d79ab4787a
        """, id: "ec08435e04266c5ba381fccbb829f626d11d8ddf5f8f547263c7a2d79ab4787a", runtime: "docker"),
  ]

  @Test("the container's id, its runtime and its pod are found in each layout of control groups", arguments: samples)
  func groups(_ sample: Sample) {
    #expect(
      ContainerName.of(cgroups: sample.text)
        == CrashReport.Container(id: sample.id, runtime: sample.runtime, source: "cgroup", podUID: sample.pod))
  }

  @Test(
    "control groups whose names contain no pod uid are not read as pods",
    arguments: [
      "kubepods-pod.slice", "kubepods-pod1.slice", "kubepods-podUID.slice", "pod", "podUID0", "pod../UID", "xpodUID",
      "kubepods-xpodUID.slice", "kubepods-podUID.scope", "POD74ba62da-1a3d-11e7-bb11-080027cb0e22",
      "pod74BA62DA-1A3D-11E7-BB11-080027CB0E22", "pod74ba62da-1a3d-11e7-bb11-080027cb0e2\u{fffd}",
      "pod74ba62da_1a3d-11e7-bb11080027cb0e22", "libpod_pod_74ba.slice", "-pod-pod-pod.slice", ".slice", ":::",
    ])
  func hostile(name: String) {
    let id = String(repeating: "0123456789abcdef", count: 4)
    let part = name.replacing("UID", with: "74ba62da-1a3d-11e7-bb11-080027cb0e2g")
    let found = ContainerName.of(cgroups: "0::/\(part)/cri-containerd-\(id).scope\n")
    #expect(found?.id == id && found?.podUID == nil)
  }

  @Test("a very long or deep path takes a time that grows with its length only, and gives no pod")
  func long() {
    let id = String(repeating: "0123456789abcdef", count: 4)
    for path in [
      String(repeating: "/pod", count: 1_000), "/" + String(repeating: "-pod", count: 1_000) + ".slice",
      String(repeating: "/libpod_parent", count: 300),
    ] {
      #expect(ContainerName.of(cgroups: "0::\(path)/docker-\(id).scope")?.podUID == nil)
    }
  }

  // The mounts of a pod of containerd, from a Kubernetes node: the lines for /etc/hosts, /dev/termination-log and
  // /etc/hostname of /proc/PID/mountinfo.
  private static let pod = """
    1535 1517 8:1 /var/lib/kubelet/pods/28478e30-384f-41e5-9d85-eae249ae8506/etc-hosts /etc/hosts rw,relatime - ext4 \
    /dev/sda1 rw
    1536 1519 8:1 /var/lib/kubelet/pods/28478e30-384f-41e5-9d85-eae249ae8506/containers/alpine/e3d5dec7 \
    /dev/termination-log rw,relatime - ext4 /dev/sda1 rw
    1537 1517 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/\
    b5b6f2da8008be266864f896f93789762b2ce50792114a5c5f2cc3315af0bc70/hostname /etc/hostname rw - ext4 /dev/sda1 rw

    """

  @Test("the mounts of kubelet give the pod's uid and the container's name")
  func mounts() {
    let found = ContainerName.of(mounts: Self.pod)
    #expect(found?.podUID == "28478e30-384f-41e5-9d85-eae249ae8506" && found?.name == "alpine")
    #expect(found?.id == nil && found?.runtime == nil && found?.source == "mountinfo" && found?.claimed == nil)
    // If kubelet's directory is a mount point, the paths in mountinfo begin at its root.
    #expect(
      ContainerName.of(mounts: Self.pod.replacing("/var/lib/kubelet/pods", with: "/pods"))?.podUID
        == "28478e30-384f-41e5-9d85-eae249ae8506")
  }

  @Test("in a pod of CRI-O, the file for the host name belongs to the sandbox, and gives no container id")
  func sandbox() {
    let hostname =
      "812 780 8:1 /c/storage/overlay-containers/\(String(repeating: "0123456789abcdef", count: 4))/userdata/hostname"
      + " /etc/hostname rw - ext4 /dev/sda1 rw\n"
    #expect(ContainerName.of(mounts: hostname)?.runtime == "podman")
    #expect(ContainerName.of(mounts: hostname + Self.pod)?.id == nil)
    #expect(ContainerName.of(mounts: Self.pod + hostname)?.id == nil)
  }

  @Test(
    "no pod is read from mounts that kubelet did not make",
    arguments: [
      "/var/lib/kubelet/pods/UID/etc-hosts /mnt/hosts", "/pods/UID/etc-hosts/x /etc/hosts",
      "/pods/etc-hosts /etc/hosts",
      "/etc-hosts /etc/hosts", "/pods/UIDx/etc-hosts /etc/hosts", "/pods/UID/containers/a /dev/termination-log",
      "/pods/UID/containers/A_b/c /dev/termination-log", "/pods/UID/containers//c /dev/termination-log",
      "/pods/UID/volumes/a/c /dev/termination-log", "/pods/x/containers/a/c /dev/termination-log",
      "/pods/UID/containers/\(String(repeating: "a", count: 64))/c /dev/termination-log",
    ])
  func otherMounts(mount: String) {
    let line = "1 2 8:1 \(mount) rw - ext4 /dev/sda1 rw\n"
    #expect(ContainerName.of(mounts: line.replacing("UID", with: "28478e30-384f-41e5-9d85-eae249ae8506")) == nil)
  }

  @Test("a pod or container name that the process claims is marked, and never replaces a name that crashd found")
  func claims() {
    var found = ContainerName.of(cgroups: Self.samples[0].text)
    let words = [
      "k8s.pod.name": "shop-1", "k8s.namespace.name": "prod", "k8s.container.name": "web", "k8s.node.name": "",
      "k8s.pod.uid": "wrong", "container.id": "wrong",
    ]
    found = .merged(found, claims: words)
    #expect(found?.pod == "shop-1" && found?.namespace == "prod" && found?.name == "web" && found?.node == nil)
    #expect(found?.claimed == ["name", "namespace", "pod"])
    #expect(found?.id == Self.samples[0].id && found?.podUID == Self.samples[0].pod)
    #expect(CrashReport.Container.merged(found, claims: words) == found)
    // Later, crashd itself finds the name of the container in the mounts. The name then no longer counts as claimed.
    let later = found?.added(to: ContainerName.of(mounts: Self.pod))
    #expect(later?.name == "alpine" && later?.claimed == ["namespace", "pod"] && later?.podUID == found?.podUID)
    #expect(CrashReport.Container.merged(later, claims: words) == later)
    #expect(CrashReport.Container.merged(nil, claims: ["region": "eu"]) == nil)
    #expect(CrashReport.Container.merged(nil, claims: words)?.source == nil)
  }
}
