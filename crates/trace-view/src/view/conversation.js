// A document: the conversation from its beginning, with the timeline as another tab.

class Conversation {
  constructor(viewer) {
    this.viewer = viewer;
    this.section = byId("conversation");
    this.story = new Story(viewer.details);
    this.tabs = [["Conversation", true], ["Timeline", false]].map(([name, isConversation]) => {
      const tab = button(name, () => this.setShown(isConversation), "tab");
      tab.setAttribute("role", "tab");
      return tab;
    });
    byId("tabs").hidden = false;
    byId("tabs").append(...this.tabs);
    this.list = element("div", "story");
    this.section.append(this.list);
    this.story.showFrom(this.list, 0);
    const [first] = this.story.turns;
    if (first !== undefined) this.setTitle(this.story.firstWords(first));
    addEventListener("beforeprint", () => this.showAll());
    this.setShown(location.hash.length < 2);
  }

  setTitle(words) {
    document.title = words;
    byId("title").textContent = words;
  }

  setShown(isShown) {
    const { classList } = document.documentElement;
    classList.toggle("reading", isShown);
    this.section.hidden = !isShown;
    this.tabs.forEach((tab, at) => tab.setAttribute("aria-selected", String((at === 0) === isShown)));
    if (!isShown) this.viewer.timeline.fit();
  }

  /** A printed page has every turn. */
  showAll() {
    this.list.replaceChildren(...this.story.turns.map((at) => this.story.turn(at, true)));
  }
}
