//! Whatever is edited: it reads back, and nothing else changes.

use proptest::prelude::*;

use super::*;
use crate::value;

/// Files of every style; `{}` are the places of the values of `slots`.
const STYLES: &[(&str, &[&str])] = &[
    (
        "# c\na = {} # d\n\n[t]   # e\n  x={}\n'q.r' = {}\n\n[t.u]\ny = {}\n",
        &["a", "t.x", "t.'q.r'", "t.u.y"],
    ),
    (
        "a.b = {}\na.c = { d = {}, e = {} } # x\n[[l]]\nz = 1\n[v]\n",
        &["a.b", "a.c.d", "a.c.e"],
    ),
    (
        "[z]\nx = {}\n[a.b.c]\nx = {}\n[a]\ny = {}",
        &["z.x", "a.b.c.x", "a.y"],
    ),
    (
        "m = '''\nlong\n'''\nk = [ 1, # one\n 2 ]\ni = {}\r\nj = 2\r\n",
        &["i"],
    ),
];

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1.0e9..1.0e9).prop_map(|number: f64| Json::from(number)),
        any::<String>().prop_map(Json::from),
        "[a-z\"'\\\\\n]{0,8}".prop_map(Json::from),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[a-z.]{1,3}", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a"),
        Just("a.b"),
        Just("a.b.c"),
        Just("t"),
        Just("t.u"),
        Just("t.u.new"),
        Just("n.e.w"),
        Just("z.x"),
        Just("l"),
        Just("m"),
        Just("\"k.k\".x"),
        Just("a.c"),
        Just("a.c.f"),
        Just("v.w"),
    ]
    .prop_map(str::to_owned)
}

fn read_value(text: &str, path: &KeyPath) -> Option<Json> {
    let table: Table = text.parse().unwrap();
    value::get(&table, path.segments()).map(value::to_json)
}

/// The same without empty tables, which may come and go.
fn without_empty(json: Json) -> Json {
    match json {
        Json::Object(map) => {
            let entries = map
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)));
            Json::Object(entries.filter(|(_, value)| *value != json!({})).collect())
        }
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    /// A scalar that takes the place of a scalar changes nothing but itself.
    #[test]
    fn only_the_value_changes(
        style in prop::sample::select(STYLES),
        slot in any::<prop::sample::Index>(),
        new in scalar(),
    ) {
        let (template, slots) = style;
        let slot = slot.index(slots.len());
        let fill = |chosen: &str| {
            let mut text = String::new();
            for (at, piece) in template.split("{}").enumerate() {
                if at > 0 {
                    text.push_str(if at - 1 == slot { chosen } else { "0x1_0" });
                }
                text.push_str(piece);
            }
            text
        };
        let before = fill("-7");
        let edits = [replace(slots[slot], new.clone())];
        let after = edit_text(&before, &edits).unwrap();
        prop_assert_eq!(read_value(&after, &edits[0].path), Some(new.clone()));
        if template.contains('\r') {
            // Mixed line ends become one kind.
            return Ok(());
        }
        let written = new_text(&new);
        prop_assert_eq!(after, fill(&written));
    }

    /// Any edit of any file reads back, or is refused; the rest reads as before.
    #[test]
    fn an_edit_reads_back(
        style in prop::sample::select(STYLES),
        path in path(),
        new in value(),
        strategy in prop_oneof![Just(MergeStrategy::Replace), Just(MergeStrategy::Upsert)],
    ) {
        let before = style.0.replace("{}", "1");
        let edit = edit(&path, new.clone(), strategy);
        let after = edit_text(&before, std::slice::from_ref(&edit)).unwrap();
        let read = read_value(&after, &edit.path).map(without_empty).filter(|read| *read != json!({}));
        if strategy == MergeStrategy::Replace || !new.is_object() {
            let new = Some(without_empty(new)).filter(|new| *new != json!({}));
            prop_assert_eq!(read, new);
        }
        let removed = edit_text(&after, &[replace(&path, json!(null))]).unwrap();
        prop_assert_eq!(read_value(&removed, &edit.path), None);
    }
}

fn new_text(value: &Json) -> String {
    let text = edit_text("x = 0", &[replace("x", value.clone())]).unwrap();
    text.strip_prefix("x = ").unwrap_or("0").to_owned()
}
