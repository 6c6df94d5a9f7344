//! What is printed for each form that a type can take, held against a second opinion: ts-rs, which
//! makes TypeScript from the Rust types by another way.

#![expect(dead_code, reason = "of the types below only the forms matter")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use ts_rs::TS;

use super::*;

#[derive(Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
struct Plain {
    some_text: String,
    flag: bool,
    count: u32,
    ratio: f64,
    list: Vec<String>,
    table: BTreeMap<String, u32>,
    nested: Vec<Option<bool>>,
}

#[derive(Serialize, JsonSchema, TS)]
struct Maybe {
    always: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional = nullable)]
    sometimes: Option<u32>,
}

#[derive(Serialize, JsonSchema, TS)]
#[serde(rename_all = "kebab-case")]
enum Words {
    OnRequest,
    Never,
}

#[derive(Serialize, JsonSchema, TS)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum TaggedUnion {
    OneThing { the_value: String },
    Nothing,
}

#[derive(Serialize, JsonSchema, TS)]
#[serde(rename_all = "camelCase")]
enum OuterTag {
    Bare,
    With { number: u32 },
    Around(String),
}

#[derive(Serialize, JsonSchema, TS)]
#[serde(untagged)]
enum Either {
    Text(String),
    Number(u32),
}

/// The type expression that we print for what is written of `T`.
fn print<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft07().for_serialize();
    let schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let forms = Forms::default();
    let mut printer = Printer {
        ty: "T",
        variant: None,
        release: Release::OWN,
        forms: &forms,
        scalars: ScalarForm::Usual,
        sent_by_server: true,
        sent_by_client: true,
        objects: 0,
        uses_json_value: false,
    };
    printer.print(&Shape::read(&schema), 0)
}

/// A type expression without layout: blanks, quotes around names, how members are separated, and
/// whether a map says that a key may be missing.
fn bare(expression: &str) -> String {
    let bare: String = expression
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '"')
        .collect();
    let bare = bare
        .replace(';', ",")
        .replace(",}", "}")
        .replace("]?:", "]:");
    bare.strip_prefix('|').unwrap_or(&bare).to_owned()
}

#[track_caller]
fn check<T: JsonSchema + TS>() {
    assert_eq!(
        bare(&print::<T>()),
        bare(&T::inline(&ts_rs::Config::default()))
    );
}

#[test]
fn agrees_with_ts_rs() {
    check::<Plain>();
    check::<Maybe>();
    check::<Words>();
    check::<TaggedUnion>();
    check::<OuterTag>();
    check::<Either>();
}

#[test]
fn comments_and_layout() {
    #[derive(JsonSchema)]
    struct Commented {
        /// One line.
        #[schemars(rename = "needs-quotes")]
        first: String,
        /// Several
        /// lines, with an end mark */ inside.
        second: Option<Vec<u8>>,
    }
    insta::assert_snapshot!(print::<Commented>(), @r#"
    {
      /** One line. */
      "needs-quotes": string;
      /**
       * Several
       * lines, with an end mark * / inside.
       */
      second: Array<number> | null;
    }
    "#);
}
