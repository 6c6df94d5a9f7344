//! Layer: capability. Talks to a model: providers, requests, the event stream, retries, errors.
//!
//! It owns everything between a prompt and typed stream events. It knows neither sessions nor tools.
