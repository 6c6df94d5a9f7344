//! Authentication of websocket clients: with a capability token, or with a token signed with a shared secret.
//!
//! Tokens are sent as `Bearer` tokens in the `Authorization` header of the upgrade. A signed token is a JSON Web
//! Token with the algorithm HS256 and an expiry time. Secrets are compared in constant time and never printed.

use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64_URL;
use ring::{digest, hmac};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The authentication that a listener requires.
#[derive(Debug)]
pub enum Auth {
    /// The token itself.
    Capability(Secret),
    /// A token signed with the shared secret.
    Signed(Box<SignedTokens>),
}

/// The digest of a token.
pub struct Secret([u8; 32]);

/// The rules for signed tokens.
pub struct SignedTokens {
    key: hmac::Key,
    issuer: Option<String>,
    audience: Option<String>,
    clock_skew: Duration,
}

/// Why a client may not connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthError {
    /// There is no token.
    MissingToken,
    /// The header has another scheme.
    InvalidHeader,
    /// The token is wrong.
    WrongToken,
    /// The token is malformed or its signature is wrong.
    InvalidSigned,
    /// The token has expired.
    Expired,
    /// The token is not valid yet.
    NotYetValid,
    /// The token has another issuer.
    WrongIssuer,
    /// The token has another audience.
    WrongAudience,
}

impl AuthError {
    /// The text of the reply.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::MissingToken => "missing websocket bearer token",
            Self::InvalidHeader => "invalid authorization header",
            Self::WrongToken => "invalid websocket bearer token",
            Self::InvalidSigned => "invalid websocket jwt",
            Self::Expired => "expired websocket jwt",
            Self::NotYetValid => "websocket jwt is not valid yet",
            Self::WrongIssuer => "websocket jwt issuer mismatch",
            Self::WrongAudience => "websocket jwt audience mismatch",
        }
    }
}

impl Auth {
    /// Whether a client with this `Authorization` header may connect.
    pub(super) fn check(&self, header: Option<&[u8]>) -> Result<(), AuthError> {
        let token = bearer(header.ok_or(AuthError::MissingToken)?)?;
        match self {
            Self::Capability(secret) if secret.is(token) => Ok(()),
            Self::Capability(_) => Err(AuthError::WrongToken),
            Self::Signed(tokens) => tokens.check(token, SystemTime::now()),
        }
    }
}

fn bearer(header: &[u8]) -> Result<&str, AuthError> {
    let text = std::str::from_utf8(header)
        .ok()
        .filter(|text| text.is_ascii());
    let (scheme, token) = text
        .and_then(|text| text.split_once(' '))
        .ok_or(AuthError::InvalidHeader)?;
    let token = token.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() {
        Ok(token)
    } else {
        Err(AuthError::InvalidHeader)
    }
}

impl Secret {
    /// The digest of a token.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self(sha256(token))
    }

    /// Parses a digest of 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(digest: &str) -> Option<Self> {
        let digits: Option<Vec<u8>> = digest
            .chars()
            .map(|digit| {
                digit
                    .to_digit(16)
                    .and_then(|digit| u8::try_from(digit).ok())
            })
            .collect();
        let bytes: Vec<u8> = digits?
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte * 16 + digit))
            .collect();
        let is_whole = digest.len() == 64;
        bytes.try_into().ok().filter(|_| is_whole).map(Self)
    }

    /// Compares in constant time.
    fn is(&self, token: &str) -> bool {
        let differences = self.0.iter().zip(sha256(token));
        differences.fold(0, |all, (own, other)| all | (own ^ other)) == 0
    }
}

fn sha256(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    bytes
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
    /// Critical extensions. None is supported.
    #[serde(default)]
    crit: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims<'a> {
    exp: i64,
    nbf: Option<i64>,
    iss: Option<String>,
    /// A string or a list of strings.
    #[serde(borrow)]
    aud: Option<&'a RawValue>,
}

impl SignedTokens {
    /// The shortest secret.
    pub const SECRET_BYTES: usize = 32;

    /// Rules for tokens with this secret and, if given, issuer and audience.
    #[must_use]
    pub fn new(
        secret: &[u8],
        issuer: Option<String>,
        audience: Option<String>,
        clock_skew: Duration,
    ) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, secret),
            issuer,
            audience,
            clock_skew,
        }
    }

    fn check(&self, token: &str, now: SystemTime) -> Result<(), AuthError> {
        let claims = self.verified(token).ok_or(AuthError::InvalidSigned)?;
        let claims: Claims<'_> =
            serde_json::from_slice(&claims).map_err(|_| AuthError::InvalidSigned)?;
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        let now = i64::try_from(since.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
        let skew = i64::try_from(self.clock_skew.as_secs()).unwrap_or(i64::MAX);
        if now > claims.exp.saturating_add(skew) {
            return Err(AuthError::Expired);
        }
        if claims.nbf.is_some_and(|nbf| now < nbf.saturating_sub(skew)) {
            return Err(AuthError::NotYetValid);
        }
        if self.issuer.is_some() && self.issuer != claims.iss {
            return Err(AuthError::WrongIssuer);
        }
        match &self.audience {
            Some(audience) if !claims.is_for(audience) => Err(AuthError::WrongAudience),
            _ => Ok(()),
        }
    }

    /// The claims of a token with a valid signature.
    fn verified(&self, token: &str) -> Option<Vec<u8>> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: TokenHeader = serde_json::from_slice(&BASE64_URL.decode(header).ok()?).ok()?;
        let signature = BASE64_URL.decode(signature).ok()?;
        if header.alg != "HS256" || header.crit.is_some() {
            return None;
        }
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        BASE64_URL.decode(claims).ok()
    }
}

impl Claims<'_> {
    fn is_for(&self, audience: &str) -> bool {
        let Some(list) = self.aud.map(RawValue::get) else {
            return false;
        };
        match serde_json::from_str::<String>(list) {
            Ok(one) => one == audience,
            Err(_) => serde_json::from_str::<Vec<String>>(list)
                .is_ok_and(|many| many.iter().any(|one| one == audience)),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

impl fmt::Debug for SignedTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SignedTokens")
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .field("clock_skew", &self.clock_skew)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
    const NOW_SECONDS: u64 = 1_000_000;

    fn token(header: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            BASE64_URL.encode(header.to_string()),
            BASE64_URL.encode(claims.to_string())
        );
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
        let signature = BASE64_URL.encode(hmac::sign(&key, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn checked(token: &str) -> Result<(), AuthError> {
        let tokens = SignedTokens::new(
            SECRET,
            Some("us".to_owned()),
            Some("them".to_owned()),
            Duration::from_secs(30),
        );
        tokens.check(
            token,
            SystemTime::UNIX_EPOCH + Duration::from_secs(NOW_SECONDS),
        )
    }

    #[track_caller]
    fn check(claims: Value, expected: Result<(), AuthError>) {
        let token = token(&json!({ "alg": "HS256", "typ": "JWT" }), &claims);
        assert_eq!(checked(&token), expected, "{claims}");
    }

    #[test]
    fn signed_tokens_are_held_to_their_claims() {
        let with = |name: &str, value: Value| {
            let mut claims =
                json!({ "exp": NOW_SECONDS + 1, "iss": "us", "aud": ["others", "them"] });
            claims[name] = value;
            claims
        };
        check(with("aud", json!("them")), Ok(()));
        check(with("exp", json!(NOW_SECONDS - 30)), Ok(()));
        check(
            with("exp", json!(NOW_SECONDS - 31)),
            Err(AuthError::Expired),
        );
        check(with("exp", json!("soon")), Err(AuthError::InvalidSigned));
        check(with("exp", Value::Null), Err(AuthError::InvalidSigned));
        check(with("nbf", json!(NOW_SECONDS + 30)), Ok(()));
        check(
            with("nbf", json!(NOW_SECONDS + 31)),
            Err(AuthError::NotYetValid),
        );
        check(with("iss", json!("others")), Err(AuthError::WrongIssuer));
        check(
            with("aud", json!(["others"])),
            Err(AuthError::WrongAudience),
        );
        check(with("aud", Value::Null), Err(AuthError::WrongAudience));
    }

    #[test]
    fn tokens_with_other_signatures_are_rejected() {
        let claims = json!({ "exp": NOW_SECONDS + 1, "iss": "us", "aud": "them" });
        let good = token(&json!({ "alg": "HS256" }), &claims);
        let mut forged = good.clone();
        forged.replace_range(forged.len() - 4.., "AAAA");
        for bad in [
            forged,
            token(&json!({ "alg": "none" }), &claims),
            token(
                &json!({ "alg": "HS256", "crit": ["b64"], "b64": false }),
                &claims,
            ),
            good.replace('.', ""),
            String::new(),
        ] {
            assert_eq!(checked(&bad), Err(AuthError::InvalidSigned), "{bad}");
        }
    }

    #[test]
    fn a_capability_is_known_by_its_digest() {
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let secret = Secret::from_hex(digest);
        assert!(secret.is_some_and(|secret| secret.is("test") && !secret.is("Test")));
        assert!(Secret::from_hex(&digest[1..]).is_none());
        assert!(Secret::from_hex(&digest.replace('9', "g")).is_none());
    }

    #[test]
    fn the_header_is_a_bearer_token() {
        let auth = Auth::Capability(Secret::new("token"));
        let check = |header: &str| auth.check(Some(header.as_bytes()));
        assert_eq!(check("bEARER token"), Ok(()));
        assert_eq!(check("Bearer other"), Err(AuthError::WrongToken));
        for header in ["token", "Basic token", "Bearer ", "Bearer t\u{f6}ken"] {
            assert_eq!(check(header), Err(AuthError::InvalidHeader), "{header}");
        }
        assert_eq!(auth.check(None), Err(AuthError::MissingToken));
    }
}
