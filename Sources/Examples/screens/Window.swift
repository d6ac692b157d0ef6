/// A rectangle that others lie on.
@MainActor
final class View {
  private weak var parent: View?
  private var children: [View] = []

  /// Lays a view on this one, and takes it from where it lay.
  func add(_ view: View) {
    // The words are those by which a navigation controller ends an app whose screens it has lost count of.
    precondition(view !== self, "Can't add self as subview")
    view.remove()
    view.parent = self
    children.append(view)
  }

  func remove() {
    parent?.children.removeAll { $0 === self }
    parent = nil
  }
}

/// Something to be seen.
@MainActor
final class Screen {
  nonisolated let name: String
  let view = View()

  init(_ name: String) { self.name = name }
}

/// Shows one screen, and has the next one slide over it.
///
/// As a navigation controller's, it does not check its callers: the visible screen is the one whose slide ended last,
/// and a screen that comes during another slide appears at once. So a slide that ends late makes an older screen
/// visible; when the next change goes back to that screen, it lies on itself.
@MainActor
final class Window {
  private let view = View()
  private let slide: Duration
  /// The visible screen; during a slide the old one.
  private(set) var shown: Screen
  private(set) var isSliding = false

  init(_ root: Screen, slide: Duration) {
    shown = root
    self.slide = slide
    view.add(root.view)
  }

  /// Shows a screen, and says when it is there.
  func show(_ screen: Screen, finished: @escaping @MainActor () -> Void = {}) {
    shown.view.add(screen.view)
    if isSliding {
      settle(screen)
      finished()
      return
    }
    isSliding = true
    Task {
      try? await Task.sleep(for: slide)
      isSliding = false
      settle(screen)
      finished()
    }
  }

  private func settle(_ screen: Screen) {
    view.add(screen.view)
    if shown !== screen { shown.view.remove() }
    shown = screen
  }
}
