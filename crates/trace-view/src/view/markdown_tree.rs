//! The Markdown of a message as elements, so that the page needs no parser and puts no markup into its document.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};
use serde::Serialize;

/// Elements inside more elements than this are not told apart from what they are in.
const DEPTH_LIMIT: usize = 24;

/// A text, or an element with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum MarkdownNode {
    Text(String),
    Element(MarkdownElement),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct MarkdownElement {
    /// The name of an element of HTML.
    tag: &'static str,
    /// Where a link leads. Only addresses of the web are links.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// The number of the first item of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    children: Vec<MarkdownNode>,
}

/// Reads a text. Markup in it is text.
pub(super) fn markdown_tree(text: &str) -> Vec<MarkdownNode> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tree = TreeBuilder::default();
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) if !is_of_web(&dest_url) => {
                tree.start_labelled(&dest_url);
            }
            Event::Start(Tag::Image { dest_url, .. }) => tree.start_labelled(&dest_url),
            Event::Start(tag) => tree.start(element(tag)),
            Event::End(_) => tree.end(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => tree.text(&text),
            Event::Code(text) => tree.leaf("code", &text),
            Event::SoftBreak => tree.text("\n"),
            Event::HardBreak => tree.leaf("br", ""),
            Event::Rule => tree.leaf("hr", ""),
            Event::TaskListMarker(is_done) => tree.text(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                tree.text(&text);
            }
        }
    }
    tree.finish()
}

/// The element of a tag; none where what is in it stands alone.
fn element(tag: Tag<'_>) -> Option<MarkdownElement> {
    let mut start = None;
    let (tag, link) = match tag {
        Tag::Paragraph => ("p", None),
        Tag::Heading { level, .. } => (heading(level), None),
        Tag::BlockQuote(_) => ("blockquote", None),
        Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => ("pre", None),
        Tag::List(Some(first)) => {
            start = Some(first).filter(|first| *first != 1);
            ("ol", None)
        }
        Tag::List(None) => ("ul", None),
        Tag::Item => ("li", None),
        Tag::Table(_) => ("table", None),
        Tag::TableHead | Tag::TableRow => ("tr", None),
        Tag::TableCell => ("td", None),
        Tag::Emphasis => ("em", None),
        Tag::Strong => ("strong", None),
        Tag::Strikethrough => ("del", None),
        Tag::Link { dest_url, .. } => ("a", Some(dest_url.into_string())),
        _ => return None,
    };
    Some(MarkdownElement {
        tag,
        link,
        start,
        children: Vec::new(),
    })
}

/// The page has headings of its own above these.
fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => "h4",
        HeadingLevel::H3 => "h5",
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => "h6",
    }
}

fn is_of_web(address: &str) -> bool {
    ["https://", "http://"]
        .iter()
        .any(|scheme| address.starts_with(scheme))
}

#[derive(Default)]
struct TreeBuilder {
    finished: Vec<MarkdownNode>,
    /// The elements around what comes next.
    open: Vec<MarkdownElement>,
    /// What has begun and not ended.
    begun: Vec<Begun>,
}

/// What the end of a tag ends.
enum Begun {
    Element,
    /// A label without an element, with the address that follows it.
    Label(String),
    /// What is in it belongs to the element around it.
    Nothing,
}

impl TreeBuilder {
    fn start(&mut self, element: Option<MarkdownElement>) {
        self.begun.push(match element {
            Some(element) if self.open.len() < DEPTH_LIMIT => {
                self.open.push(element);
                Begun::Element
            }
            _ => Begun::Nothing,
        });
    }

    /// A link or an image that is shown as text.
    fn start_labelled(&mut self, address: &str) {
        self.begun.push(Begun::Label(address.to_owned()));
    }

    fn end(&mut self) {
        match self.begun.pop() {
            Some(Begun::Element) => {
                let ended = self.open.pop().map(MarkdownNode::Element);
                self.around().extend(ended);
            }
            Some(Begun::Label(address)) => self.text(&format!(" ({address})")),
            Some(Begun::Nothing) | None => {}
        }
    }

    fn leaf(&mut self, tag: &'static str, text: &str) {
        let text = (!text.is_empty()).then(|| MarkdownNode::Text(text.to_owned()));
        self.around().push(MarkdownNode::Element(MarkdownElement {
            tag,
            link: None,
            start: None,
            children: text.into_iter().collect(),
        }));
    }

    fn text(&mut self, text: &str) {
        let around = self.around();
        if let Some(MarkdownNode::Text(before)) = around.last_mut() {
            before.push_str(text);
        } else {
            around.push(MarkdownNode::Text(text.to_owned()));
        }
    }

    fn around(&mut self) -> &mut Vec<MarkdownNode> {
        let open = self.open.last_mut();
        open.map_or(&mut self.finished, |element| &mut element.children)
    }

    fn finish(mut self) -> Vec<MarkdownNode> {
        while !self.begun.is_empty() {
            self.end();
        }
        self.finished
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        let tree = serde_json::to_value(markdown_tree(text)).unwrap();
        assert_eq!(tree, expected, "{text}");
    }

    fn node(tag: &str, children: Value) -> Value {
        json!({ "tag": tag, "children": children })
    }

    #[test]
    fn markdown_becomes_elements() {
        let strong = node("strong", json!(["now"]));
        check(
            "do it **now**",
            json!([node("p", json!(["do it ", strong]))]),
        );
        check(
            "```sh\nls | wc\n```",
            json!([node("pre", json!(["ls | wc\n"]))]),
        );
        let items = json!([node("li", json!(["a"])), node("li", json!(["☑ b"]))]);
        check("- a\n- [x] b", json!([node("ul", items)]));
        let link = json!({ "tag": "a", "link": "https://a.b/", "children": ["it"] });
        check("[it](https://a.b/)", json!([node("p", json!([link]))]));
        let item = json!([node("li", json!(["c"]))]);
        check("1. c", json!([node("ol", item.clone())]));
        check(
            "3. c",
            json!([{ "tag": "ol", "start": 3, "children": item }]),
        );
    }

    #[test]
    fn markup_and_other_addresses_are_text() {
        check("<b>x</b>", json!([node("p", json!(["<b>x</b>"]))]));
        check(
            "<script>alert(1)</script>",
            json!(["<script>alert(1)</script>"]),
        );
        check(
            "[it](javascript:a)",
            json!([node("p", json!(["it (javascript:a)"]))]),
        );
        check(
            "[it](src/a.rs) is",
            json!([node("p", json!(["it (src/a.rs) is"]))]),
        );
        check(
            "![it](https://a.b/)",
            json!([node("p", json!(["it (https://a.b/)"]))]),
        );
    }

    #[test]
    fn deep_nesting_is_flat_from_a_depth_on() {
        let deep = format!("{}{}deep", "> ".repeat(10_000), "a\n".repeat(10_000));
        let text = serde_json::to_string(&markdown_tree(&deep)).unwrap();
        assert_eq!(text.matches("blockquote").count(), DEPTH_LIMIT);
        assert!(text.contains("deep"));
    }
}
