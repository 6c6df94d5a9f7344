//! `[otel]`, and tables with a single switch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table with a switch, such as `[analytics]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SwitchFile {
    /// The switch.
    pub enabled: Option<bool>,
}

/// `[feedback]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FeedbackFile {
    /// Whether feedback reports are allowed.
    pub enabled: Option<bool>,
    /// The URL that reports are sent to; if absent, they stay on this machine.
    pub endpoint: Option<String>,
}

/// `[otel]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OtelFile {
    /// Whether exported logs include prompts.
    pub log_user_prompt: Option<bool>,
    /// The name of the deployment environment.
    pub environment: Option<String>,
    /// The exporter of logs.
    pub exporter: Option<Exporter>,
    /// The exporter of traces; that of logs if absent.
    pub trace_exporter: Option<Exporter>,
    /// The exporter of metrics.
    pub metrics_exporter: Option<Exporter>,
}

/// The destination of telemetry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exporter {
    /// None.
    None,
    /// To the metrics service of the vendor.
    Statsig,
    /// To an OTLP server over HTTP.
    OtlpHttp {
        /// The URL.
        endpoint: String,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The encoding.
        protocol: OtlpProtocol,
        /// The certificates.
        #[serde(default)]
        tls: Option<TlsFile>,
    },
    /// To an OTLP server over gRPC.
    OtlpGrpc {
        /// The URL.
        endpoint: String,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The certificates.
        #[serde(default)]
        tls: Option<TlsFile>,
    },
}

/// The encoding of telemetry over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OtlpProtocol {
    /// Protocol buffers.
    Binary,
    /// JSON.
    Json,
}

/// The certificates of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct TlsFile {
    /// The certificate authority of the server.
    pub ca_certificate: Option<PathBuf>,
    /// The client certificate.
    pub client_certificate: Option<PathBuf>,
    /// The key of the client certificate.
    pub client_private_key: Option<PathBuf>,
}
