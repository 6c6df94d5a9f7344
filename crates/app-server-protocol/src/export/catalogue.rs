//! Everything that there is to describe: the methods, and the schema of every type that they reach, with marks that say
//! which surface and which releases have a part.
//!
//! It is made from the Rust types once and written to `schema/catalogue.json`. The program has that file in it, and so
//! needs none of the code that makes schemas from types.

use std::collections::BTreeMap;

use codex_protocol::{Release, Releases};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definitions;
use super::error::CatalogueError;
use super::forms::Forms;
use super::unused::{UnusedNotification, UnusedParts};
use crate::method_table::{Direction, Method};
use crate::methods::methods;

/// The methods and types of all surfaces and releases.
#[derive(Debug)]
pub struct Catalogue {
    pub(super) methods: Vec<MethodRow>,
    pub(super) definitions: BTreeMap<String, Value>,
    pub(super) forms: Forms,
}

/// A method.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MethodRow {
    pub(super) name: String,
    pub(super) variant: String,
    pub(super) direction: Direction,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) experimental: bool,
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) params: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<String>,
    /// The type of params that releases describe where nothing is read here, and the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unread_params: Option<UnreadParams>,
    /// What releases describe otherwise.
    #[serde(flatten)]
    pub(super) by_release: MethodByRelease,
    /// Releases have it, and this program does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) not_used: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

/// What some releases describe otherwise of a method.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MethodByRelease {
    /// The first release in which it has params.
    #[serde(skip_serializing_if = "Option::is_none")]
    params_since: Option<String>,
    /// The last release in which it is experimental.
    #[serde(skip_serializing_if = "Option::is_none")]
    experimental_until: Option<String>,
}

/// Params that releases describe and that are not read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UnreadParams {
    since: String,
    pub(super) ty: String,
}

impl MethodRow {
    /// The type of the params in the messages of a release.
    pub(super) fn params_of(&self, release: Release) -> Option<&str> {
        let unread = self.unread_params.as_ref().filter(|unread| {
            let since = Release::parse(&unread.since);
            release != Release::OWN && since.is_some_and(|since| since <= release)
        });
        let since = self.by_release.params_since.as_deref();
        let since = since.and_then(Release::parse);
        let params = self.params.as_deref();
        let params = params.filter(|_| since.is_none_or(|since| since <= release));
        params.or(unread.map(|unread| unread.ty.as_str()))
    }

    /// Whether only clients of a release that have opted in can use it.
    pub(super) fn is_experimental(&self, release: Release) -> bool {
        let until = self.by_release.experimental_until.as_deref();
        let until = until.and_then(Release::parse);
        self.experimental || until.is_some_and(|until| release <= until)
    }

    /// Which releases have the method.
    pub(super) fn releases(&self) -> Releases {
        read_releases(self.since.as_deref(), self.until.as_deref())
    }
}

/// Reads marks; one that names no release counts as none.
pub(super) fn read_releases(since: Option<&str>, until: Option<&str>) -> Releases {
    Releases {
        since: since.and_then(Release::parse).unwrap_or(Release::FIRST),
        until: until.and_then(Release::parse),
    }
}

impl From<Method> for MethodRow {
    fn from(method: Method) -> Self {
        let since = method.releases.since;
        Self {
            name: method.name.to_owned(),
            variant: method.variant.to_owned(),
            direction: method.direction,
            experimental: method.experimental,
            description: method.description.to_owned(),
            params: method.params.map(|ty| (ty.name)().into_owned()),
            response: method.response.map(|ty| (ty.name)().into_owned()),
            unread_params: None,
            by_release: MethodByRelease::default(),
            not_used: false,
            since: (since != Release::FIRST).then(|| since.to_string()),
            until: method.releases.until.map(|until| until.to_string()),
        }
    }
}

impl From<UnusedNotification> for MethodRow {
    fn from(notification: UnusedNotification) -> Self {
        Self {
            name: notification.name,
            variant: notification.variant,
            direction: Direction::ServerNotification,
            experimental: false,
            description: "Not sent by this program.".to_owned(),
            params: Some(notification.params),
            response: None,
            unread_params: None,
            by_release: MethodByRelease::default(),
            not_used: true,
            since: Some(notification.since),
            until: None,
        }
    }
}

#[derive(Deserialize)]
struct Written {
    methods: Vec<MethodRow>,
    definitions: BTreeMap<String, Value>,
    forms: Forms,
}

impl Catalogue {
    /// Makes it from the method table and the types.
    pub fn of_types() -> Result<Self, CatalogueError> {
        let methods = methods();
        let mut definitions = definitions::define_all(&methods);
        let mut methods: Vec<_> = methods.into_iter().map(MethodRow::from).collect();
        let unused = UnusedParts::read()?;
        let forms = Forms::read()?;
        unused.check_names(&forms)?;
        unused.add_to(&mut methods, &mut definitions)?;
        let names: Vec<_> = methods.iter().map(|method| &*method.name).collect();
        forms.check_names(&names, &definitions)?;
        Ok(Self {
            methods,
            definitions,
            forms,
        })
    }

    /// Reads what [`Self::text`] wrote.
    pub fn read(text: &[u8]) -> Result<Self, CatalogueError> {
        let read =
            serde_json::from_slice(text).map_err(CatalogueError::for_document("the catalogue"));
        let Written {
            methods,
            definitions,
            forms,
        } = read?;
        Ok(Self {
            methods,
            definitions,
            forms,
        })
    }

    /// The text of it, with a line for each method and type.
    pub fn text(&self) -> String {
        let methods: Vec<String> = (self.methods.iter())
            .map(|method| serde_json::to_string(method).unwrap_or_default())
            .collect();
        let definitions: Vec<String> = (self.definitions.iter())
            .map(|(name, schema)| format!("{name:?}:{schema}"))
            .collect();
        let forms = self.forms.text();
        format!(
            "{{\"methods\":[\n{}\n],\n\"definitions\":{{\n{}\n}},\n\"forms\":{forms}}}\n",
            methods.join(",\n"),
            definitions.join(",\n"),
        )
    }
}
