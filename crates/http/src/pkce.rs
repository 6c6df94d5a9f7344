//! The secrets of one OAuth login with PKCE.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The system provides no random numbers.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the system provides no random numbers")]
pub struct NoRandomNumbers;

/// Secrets that only this process knows until the login ends.
pub struct PkceSecrets {
    /// Proves that a callback belongs to this login.
    pub state: String,
    /// Proves to the identity server that the code is redeemed by the program that requested it.
    pub verifier: String,
}

impl PkceSecrets {
    /// Generates new secrets.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new() -> Result<Self, NoRandomNumbers> {
        Ok(Self {
            state: random::<32>()?,
            verifier: random::<64>()?,
        })
    }

    /// The digest of the verifier, for the authorization URL.
    #[must_use]
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier))
    }
}

impl std::fmt::Debug for PkceSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets(…)")
    }
}

fn random<const LENGTH: usize>() -> Result<String, NoRandomNumbers> {
    let mut bytes = [0; LENGTH];
    let provider = rustls::crypto::ring::default_provider();
    let filled = provider.secure_random.fill(&mut bytes);
    filled.map_err(|_| NoRandomNumbers)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkce_secrets_differ_and_the_challenge_follows_the_standard() {
        let (one, other) = (PkceSecrets::new().unwrap(), PkceSecrets::new().unwrap());
        assert!(one.state != other.state && one.verifier != other.verifier);
        assert_eq!((one.state.len(), one.verifier.len()), (43, 86));
        let example = PkceSecrets {
            state: String::new(),
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
        };
        assert_eq!(
            example.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }
}
