//! What every OAuth login with a browser needs on this side, whoever it is with: secrets, the form of
//! addresses, replies that are bounded, and the small server that the browser comes back to.

mod ask;
mod form;
mod secrets;
mod site;

pub use ask::Answer;
pub use ask::ask;
pub use form::form;
pub use form::parameters;
pub use secrets::Secrets;
pub use site::Ended;
pub use site::Reply;
pub use site::Site;
pub use site::listen;
pub use site::serve;
