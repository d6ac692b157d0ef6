/// A rectangle that contains other views.
@MainActor
final class View {
  private weak var parent: View?
  private var children: [View] = []

  /// Adds another view to this view, and removes the other view from its previous superview.
  func add(_ view: View) {
    // The error message is that of UIKit, whose navigation controller ends an app in this inconsistent state.
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

/// A screen with a title.
@MainActor
final class Screen {
  nonisolated let name: String
  let view = View()

  init(_ name: String) { self.name = name }
}

/// Shows one screen, and slides the next screen over it.
///
/// Like a navigation controller, the window trusts its callers, and does not check that one slide ends before the next
/// begins. A screen that is shown during a slide appears at once. When the slide ends, its target screen becomes the
/// visible screen. If the program then shows the visible screen again, the window adds the screen's view to itself,
/// which traps.
@MainActor
final class Window {
  private let view = View()
  private let slide: Duration
  /// The visible screen.
  ///
  /// During a slide, this is the old screen.
  private(set) var shown: Screen
  private(set) var isSliding = false

  init(_ root: Screen, slide: Duration) {
    shown = root
    self.slide = slide
    view.add(root.view)
  }

  /// Shows a screen, and calls `finished` when the slide has ended.
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
