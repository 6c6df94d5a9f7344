//! Any value that the schemas allow reads, and what is read survives writing and reading again.

use std::sync::LazyLock;

use codex_app_server_protocol::{
    ClientNotification, ClientRequest, ClientResponse, Direction, MessageReadError, Method,
    ServerNotification, ServerRequest, ServerResponse, methods,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::sample::{Sampler, Seeded};
use crate::schemas::definitions;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_message_survives(seed: u64) {
        static DEFINITIONS: LazyLock<Value> = LazyLock::new(definitions);
        let mut sampler = Sampler { definitions: &DEFINITIONS, chooser: Seeded(seed) };
        for method in methods() {
            if let Some(params) = method.params {
                let wire = sampler.sample_named(&(params.name)());
                check_params(&method, &wire);
            }
            if let Some(response) = method.response {
                let wire = sampler.sample_named(&(response.name)());
                check_response(&method, &wire);
            }
        }
    }
}

fn check_params(method: &Method, wire: &Value) {
    match method.direction {
        Direction::ClientRequest => survives(wire, |raw| ClientRequest::read(method.name, raw)),
        Direction::ServerRequest => survives(wire, |raw| ServerRequest::read(method.name, raw)),
        Direction::ServerNotification => {
            survives(wire, |raw| ServerNotification::read(method.name, raw));
        }
        Direction::ClientNotification => {
            survives(wire, |raw| ClientNotification::read(method.name, raw));
        }
    }
}

fn check_response(method: &Method, wire: &Value) {
    if method.direction == Direction::ClientRequest {
        survives(wire, |raw| ClientResponse::read(method.name, raw));
    } else {
        survives(wire, |raw| ServerResponse::read(method.name, raw));
    }
}

/// Reads, writes, reads again: both readings are the same value.
fn survives<T: Serialize + PartialEq + std::fmt::Debug>(
    wire: &Value,
    read: impl Fn(Option<&RawValue>) -> Result<T, MessageReadError>,
) {
    let first = read(Some(&to_raw_value(wire).unwrap()));
    let first = first.unwrap_or_else(|error| panic!("{error}\n{wire:#}"));
    let written = serde_json::to_value(&first).unwrap();
    let written = written.get("params").unwrap_or(&written);
    let second = read(Some(&to_raw_value(written).unwrap()));
    let second = second.unwrap_or_else(|error| panic!("{error}\n{written:#}"));
    assert_eq!(first, second, "{wire:#}");
}
