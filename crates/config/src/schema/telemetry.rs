//! `[otel]`, and tables that hold nothing but a switch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A table with a switch, such as `[analytics]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SwitchFile {
    /// The switch.
    pub enabled: Option<bool>,
}

/// `[feedback]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedbackFile {
    /// Whether there may be reports.
    pub enabled: Option<bool>,
    /// The URL that they are sent to; absent: they stay on this machine.
    pub endpoint: Option<String>,
}

/// `[otel]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OtelFile {
    /// Whether prompts are part of what is exported.
    pub log_user_prompt: Option<bool>,
    /// The name of the deployment.
    pub environment: Option<String>,
    /// Where logs go.
    pub exporter: Option<Exporter>,
    /// Where traces go; as logs if absent.
    pub trace_exporter: Option<Exporter>,
    /// Where metrics go.
    pub metrics_exporter: Option<Exporter>,
}

/// Where telemetry goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exporter {
    /// Nowhere.
    None,
    /// To the metrics service of the vendor.
    Statsig,
    /// To an OTLP server over HTTP.
    OtlpHttp {
        /// Its address.
        endpoint: String,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// How data is written.
        protocol: OtlpProtocol,
        /// Certificates.
        #[serde(default)]
        tls: Option<TlsFile>,
    },
    /// To an OTLP server over gRPC.
    OtlpGrpc {
        /// Its address.
        endpoint: String,
        /// Headers of every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// Certificates.
        #[serde(default)]
        tls: Option<TlsFile>,
    },
}

/// How telemetry is written over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtlpProtocol {
    /// As protocol buffers.
    Binary,
    /// As JSON.
    Json,
}

/// Certificates of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TlsFile {
    /// Who may sign the server's certificate.
    pub ca_certificate: Option<PathBuf>,
    /// Our own certificate.
    pub client_certificate: Option<PathBuf>,
    /// The key of our own certificate.
    pub client_private_key: Option<PathBuf>,
}
