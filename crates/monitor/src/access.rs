//! Who may read the pages.

use data_encoding::BASE64;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use zeroize::Zeroizing;

use crate::{Config, Error};

/// The token that every request must carry, if the configuration has one.
#[derive(Default)]
pub(crate) struct Access {
    token: Option<Zeroizing<Vec<u8>>>,
}

/// Minimum length of a token in bytes: a shorter one could be guessed.
const SHORTEST: usize = 16;

impl Access {
    /// Reads the token file.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::BadConfig`] if the token is too short.
    pub(crate) fn load(config: &Config) -> Result<Self, Error> {
        let Some(path) = &config.token_file else { return Ok(Self::default()) };
        let bytes = pki::read_secret(path).map_err(|source| Error::File { path: path.clone(), source })?;
        let token = Zeroizing::new(bytes.trim_ascii().to_vec());
        if token.len() < SHORTEST {
            let why = format!("a token has {SHORTEST} characters or more, such as the output of: openssl rand -hex 32");
            return Err(Error::BadConfig { path: path.clone(), why });
        }
        Ok(Self { token: Some(token) })
    }

    /// Whether a request with these headers may be answered. The token is sent as a bearer token, or as the password
    /// of any user, because browsers ask for that.
    pub(crate) fn allows(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(given_token);
        given.is_some_and(|given| aws_lc_rs::constant_time::verify_slices_are_equal(&given, token).is_ok())
    }
}

fn given_token(header: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (scheme, rest) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(Zeroizing::new(rest.trim().as_bytes().to_vec()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = Zeroizing::new(BASE64.decode(rest.trim().as_bytes()).ok()?);
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(Zeroizing::new(decoded.get(colon.checked_add(1)?..)?.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(authorization: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, authorization.parse().unwrap())])
    }

    #[test]
    fn without_a_token_everybody_may_read() {
        assert!(Access::default().allows(&HeaderMap::new()));
    }

    #[test]
    fn the_token_comes_as_bearer_token_or_as_password() {
        let access = Access { token: Some(Zeroizing::new(b"0123456789abcdef".to_vec())) };
        let basic = |text: &str| format!("Basic {}", BASE64.encode(text.as_bytes()));
        for good in ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", &basic("admin:0123456789abcdef")] {
            assert!(access.allows(&headers(good)), "{good}");
        }
        for bad in [
            "Bearer 0123456789abcde",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Digest x",
            &basic("0123456789abcdef"),
            &basic("0123456789abcdef:"),
            "Basic ====",
            "Bearer 0123456789abcdef0",
        ] {
            assert!(!access.allows(&headers(bad)), "{bad}");
        }
        assert!(!access.allows(&HeaderMap::new()));
    }
}
