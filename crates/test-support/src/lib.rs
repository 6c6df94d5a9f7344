//! Layer: tests. What end-to-end tests share: a scripted model server, temporary homes, a JSON-RPC
//! driver, the protocol observer.
