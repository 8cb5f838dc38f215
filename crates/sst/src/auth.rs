//! Credentials from the joiner's request, which the donor's server passes to this program: in the environment (MariaDB
//! 10.11) or on standard input (MariaDB 11.8). Source: `wsrep_sst_common` of both.

use std::io::Read;

use zeroize::Zeroizing;

/// Environment variable with the credentials, on servers that pass them there.
pub const REMOTE_AUTH: &str = "WSREP_SST_OPT_REMOTE_AUTH";

/// Maximum length of the input.
const MAX_BYTES: u64 = 64 << 10;

/// `USER:SECRET` from the environment, or from the lines of standard input.
#[must_use]
pub fn remote_auth(environment: Option<String>, input: impl Read) -> Option<Zeroizing<String>> {
    let environment = environment.map(Zeroizing::new);
    if let Some(auth) = environment.filter(|auth| !auth.is_empty() && auth.as_str() != "(null)") {
        return Some(auth);
    }
    let mut text = Zeroizing::new(String::new());
    input.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let (user, secret) = (value("sst_remote_user")?, value("sst_remote_password")?);
    Some(Zeroizing::new(format!("{user}:{secret}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_comes_from_option_or_environment() {
        let text = "sst_user=u\nsst_password=p\nsst_remote_user=sealant1-a\nsst_remote_password=b\n";
        let of = |environment: Option<&str>, input: &str| {
            remote_auth(environment.map(ToOwned::to_owned), input.as_bytes()).map(|auth| auth.to_string())
        };
        assert_eq!(of(None, text).as_deref(), Some("sealant1-a:b"));
        assert_eq!(of(Some("(null)"), text).as_deref(), Some("sealant1-a:b"));
        assert_eq!(of(Some("c:d"), "").as_deref(), Some("c:d"));
        assert_eq!(of(Some(""), "sst_user=u\nsst_remote_user=a\n"), None);
    }
}
