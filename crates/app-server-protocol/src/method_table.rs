//! What a row of the method table becomes: an enum variant, a type to dispatch on, a description for
//! the exporters.

use std::any::TypeId;
use std::borrow::Cow;

use codex_protocol::{Experimental, JsonError, Releases, from_json};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;

/// Who sends a method and whether it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    /// The client asks, the server answers.
    ClientRequest,
    /// The server asks, the client answers.
    ServerRequest,
    /// A notification of the server.
    ServerNotification,
    /// A notification of the client.
    ClientNotification,
}

impl Direction {
    /// Whether it is answered.
    pub fn has_reply(self) -> bool {
        matches!(self, Self::ClientRequest | Self::ServerRequest)
    }
}

/// A row of the method table.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// The name in Rust, and of the named variant in the generated types.
    pub variant: &'static str,
    /// Who sends it.
    pub direction: Direction,
    /// Whether a client must opt in.
    pub experimental: bool,
    /// Which releases have it.
    pub releases: Releases,
    /// One line for people.
    pub description: &'static str,
    /// The type of `params`; none if there are none.
    pub params: Option<TypeReference>,
    /// The type of `result`; none for notifications.
    pub response: Option<TypeReference>,
}

/// A type of the vocabulary, as the exporters need it.
#[derive(Clone, Copy, Debug)]
pub struct TypeReference {
    /// Its name in the generated types.
    pub name: fn() -> Cow<'static, str>,
    /// Adds it to a generator's definitions and answers a reference to it.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

impl TypeReference {
    /// The reference to `T`; none for [`NoParams`].
    pub(crate) fn for_type<T: JsonSchema>() -> Option<Self> {
        let reference = Self {
            name: T::schema_name,
            schema: SchemaGenerator::subschema_for::<T>,
        };
        (T::schema_name() != NoParams::schema_name()).then_some(reference)
    }
}

/// A request as a type: what it takes and what it answers.
pub trait RequestMethod {
    /// The name on the wire.
    const NAME: &'static str;
    /// What it takes.
    type Params: Serialize + DeserializeOwned;
    /// What it answers.
    type Response: Serialize + DeserializeOwned;
}

/// The params of a method that takes none. Whatever a sender puts there is ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoParams;

impl Serialize for NoParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for NoParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Experimental for NoParams {}

impl JsonSchema for NoParams {
    fn schema_name() -> Cow<'static, str> {
        "NoParams".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "null" })
    }
}

/// Why a message could not be read.
#[derive(Debug, Error)]
pub enum MessageReadError {
    /// No row of the table has this name.
    #[error("unknown method `{method}`")]
    UnknownMethod {
        /// The name that was sent.
        method: String,
    },
    /// The method takes params, and there are none.
    #[error("missing field `params`")]
    NoParams,
    /// The params are a list; every method names them.
    #[error("invalid type: sequence, expected params by name")]
    ParamsList,
    /// The params or the result do not have the shape that the table names.
    #[error(transparent)]
    WrongShape(#[from] JsonError),
}

/// Reads a result; where nothing was sent, an empty object is read.
pub(crate) fn read_result<T: DeserializeOwned>(
    raw: Option<&RawValue>,
) -> Result<T, MessageReadError> {
    let text = match raw.map(RawValue::get) {
        None | Some("null") => "{}",
        Some(text) => text,
    };
    Ok(from_json(text)?)
}

/// Reads params. They may be left out if none is required; a list is none.
pub(crate) fn read_params<P: DeserializeOwned + 'static>(
    raw: Option<&RawValue>,
) -> Result<P, MessageReadError> {
    let takes_none = TypeId::of::<P>() == TypeId::of::<NoParams>();
    match raw.map(RawValue::get) {
        None => read_result(None).map_err(|_| MessageReadError::NoParams),
        Some(text) if text.starts_with('[') && !takes_none => Err(MessageReadError::ParamsList),
        Some(text) => Ok(from_json(text)?),
    }
}

/// Writes `method` and, where there are any, `params`.
pub(crate) fn write<P: Serialize + 'static, S: Serializer>(
    serializer: S,
    method: &'static str,
    params: &P,
) -> Result<S::Ok, S::Error> {
    let has_params = TypeId::of::<P>() != TypeId::of::<NoParams>();
    let mut message = serializer.serialize_struct("Message", 1 + usize::from(has_params))?;
    message.serialize_field("method", method)?;
    if has_params {
        message.serialize_field("params", params)?;
    }
    message.end()
}

/// Writes the enums, the dispatch types and the list of rows from the table.
macro_rules! method_table {
    (
        client_requests { $($client_requests:tt)* }
        server_requests { $($server_requests:tt)* }
        server_notifications { $($server_notifications:tt)* }
        client_notifications { $($client_notifications:tt)* }
    ) => {
        $crate::method_table::method_enum! {
            /// A request of the client.
            ClientRequest, ClientResponse, client_method; $($client_requests)*
        }
        $crate::method_table::method_enum! {
            /// A request of the server.
            ServerRequest, ServerResponse, server_method; $($server_requests)*
        }
        $crate::method_table::method_enum! {
            /// A notification of the server.
            ServerNotification; $($server_notifications)*
        }
        $crate::method_table::method_enum! {
            /// A notification of the client.
            ClientNotification; $($client_notifications)*
        }

        /// Every row of the table, in its order.
        pub fn methods() -> Vec<$crate::method_table::Method> {
            [
                ClientRequest::methods(),
                ServerRequest::methods(),
                ServerNotification::methods(),
                ClientNotification::methods(),
            ]
            .concat()
        }
    };
}

/// Writes one of the four enums; requests bring their responses and dispatch types along.
macro_rules! method_enum {
    // `#[experimental]` on a row as a boolean.
    (@is_experimental) => { false };
    (@is_experimental [experimental] $($rest:tt)*) => { true };
    (@is_experimental [$($other:tt)*] $($rest:tt)*) => {
        $crate::method_table::method_enum!(@is_experimental $($rest)*)
    };
    // `#[since("0.140")]` and `#[until("0.170")]` on a row.
    (@since) => { ::codex_protocol::Release::FIRST };
    (@since [since $since:literal] $($rest:tt)*) => { ::codex_protocol::Release::of_mark($since) };
    (@since [$($other:tt)*] $($rest:tt)*) => {
        $crate::method_table::method_enum!(@since $($rest)*)
    };
    (@until) => { None };
    (@until [until $until:literal] $($rest:tt)*) => {
        Some(::codex_protocol::Release::of_mark($until))
    };
    (@until [$($other:tt)*] $($rest:tt)*) => {
        $crate::method_table::method_enum!(@until $($rest)*)
    };
    (@response) => { None };
    (@response $response:ty) => { $crate::method_table::TypeReference::for_type::<$response>() };

    // Requests.
    (
        $(#[$meta:meta])*
        $request:ident, $answer:ident, $dispatch:ident;
        $(
            #[doc = $description:literal]
            $(#[$mark:ident $(($release:literal))?])* $variant:ident = $name:literal: $params:ty => $response:ty;
        )*
    ) => {
        $crate::method_table::method_enum! {
            @messages $(#[$meta])* $request;
            $(
                $description [$([$mark $($release)?])*] $variant = $name: $params => [$response];
            )*
        }

        impl ::codex_protocol::Experimental for $request {
            fn experimental_use(&self) -> Option<&'static str> {
                match self {
                    $( Self::$variant(params) => {
                        if $crate::method_table::method_enum!(@is_experimental $([$mark $($release)?])*) {
                            Some($name)
                        } else {
                            params.experimental_use()
                        }
                    } )*
                }
            }

            fn clear_experimental(&mut self) {
                match self {
                    $( Self::$variant(params) => params.clear_experimental(), )*
                }
            }
        }

        impl $request {
            /// The members of the params of a method that not every release has.
            pub fn released_params(method: &str) -> &'static [::codex_protocol::ReleasedPart] {
                match method {
                    $( $name => <$params as ::codex_protocol::Experimental>::RELEASED, )*
                    _ => &[],
                }
            }
        }

        #[doc = concat!("The result of a [`", stringify!($request), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub enum $answer {
            $( #[doc = concat!("The result of `", $name, "`.")] $variant($response), )*
        }

        impl $answer {
            /// Reads the result of the method of this name.
            pub fn read(
                method: &str,
                result: Option<&::serde_json::value::RawValue>,
            ) -> Result<Self, $crate::method_table::MessageReadError> {
                match method {
                    $( $name => $crate::method_table::read_result(result).map(Self::$variant), )*
                    _ => Err($crate::method_table::MessageReadError::UnknownMethod {
                        method: method.to_owned(),
                    }),
                }
            }
        }

        impl ::serde::Serialize for $answer {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$variant(response) => response.serialize(serializer), )*
                }
            }
        }

        #[doc = concat!("A type for each method of [`", stringify!($request), "`], to dispatch on.")]
        pub mod $dispatch {
            use super::*;

            $(
                #[doc = $description]
                #[derive(Clone, Copy, Debug)]
                pub enum $variant {}

                impl $crate::method_table::RequestMethod for $variant {
                    const NAME: &'static str = $name;
                    type Params = $params;
                    type Response = $response;
                }
            )*
        }
    };

    // Notifications.
    (
        $(#[$meta:meta])*
        $notification:ident;
        $(
            #[doc = $description:literal]
            $(#[$mark:ident $(($release:literal))?])* $variant:ident = $name:literal: $params:ty;
        )*
    ) => {
        $crate::method_table::method_enum! {
            @messages $(#[$meta])* $notification;
            $(
                $description [$([$mark $($release)?])*] $variant = $name: $params => [];
            )*
        }
    };

    // What both have: the enum, reading by method name, writing `method` and `params`.
    (
        @messages $(#[$meta:meta])* $messages:ident;
        $(
            $description:literal [$([$($mark:tt)*])*] $variant:ident = $name:literal:
                $params:ty => [$($response:ty)?];
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $messages {
            $( #[doc = $description] $variant($params), )*
        }

        impl $messages {
            /// The rows of this kind.
            pub fn methods() -> Vec<$crate::method_table::Method> {
                vec![$(
                    $crate::method_table::Method {
                        name: $name,
                        variant: stringify!($variant),
                        direction: $crate::method_table::Direction::$messages,
                        experimental:
                            $crate::method_table::method_enum!(@is_experimental $([$($mark)*])*),
                        releases: Self::releases($name).unwrap_or(::codex_protocol::Releases::ALL),
                        description: $description.trim_ascii(),
                        params: $crate::method_table::TypeReference::for_type::<$params>(),
                        response: $crate::method_table::method_enum!(@response $($response)?),
                    },
                )*]
            }

            /// Which releases have the method of this name; none if there is no such method here.
            pub fn releases(method: &str) -> Option<::codex_protocol::Releases> {
                match method {
                    $( $name => Some(const {
                        ::codex_protocol::Releases {
                            since: $crate::method_table::method_enum!(@since $([$($mark)*])*),
                            until: $crate::method_table::method_enum!(@until $([$($mark)*])*),
                        }
                    }), )*
                    _ => None,
                }
            }

            /// The name on the wire.
            pub fn method(&self) -> &'static str {
                match self {
                    $( Self::$variant(_) => $name, )*
                }
            }

            /// Reads the params of the method of this name.
            pub fn read(
                method: &str,
                params: Option<&::serde_json::value::RawValue>,
            ) -> Result<Self, $crate::method_table::MessageReadError> {
                match method {
                    $( $name => $crate::method_table::read_params(params).map(Self::$variant), )*
                    _ => Err($crate::method_table::MessageReadError::UnknownMethod {
                        method: method.to_owned(),
                    }),
                }
            }
        }

        impl ::serde::Serialize for $messages {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$variant(params) => {
                        $crate::method_table::write(serializer, $name, params)
                    } )*
                }
            }
        }
    };
}

pub(crate) use method_enum;
pub(crate) use method_table;
