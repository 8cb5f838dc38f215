//! Credentials: from a file, the environment, a program, or the metadata service of the machine.

mod metadata;

use std::{
    env, fmt, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use files::regular::{self, Links};
use jiff::Timestamp;
use process::Program;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::Error;

/// Maximum length of a file of credentials.
const MAX_FILE_BYTES: usize = 1 << 16;
/// Size of the first buffer for the file.
const FIRST_BYTES: usize = 4 << 10;
/// Time limit of a program that prints credentials.
const PROGRAM_LIMIT: Duration = Duration::from_secs(60);
/// Credentials are replaced this long before they expire.
const BEFORE_EXPIRY: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

/// Pause after an attempt to replace credentials has failed, while the current ones are valid.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Credentials to sign requests with.
#[derive(Clone)]
pub struct Credentials {
    /// Identifier of the key, which is not secret.
    pub access_key: String,
    /// The secret key.
    pub secret: Zeroizing<String>,
    /// Token of temporary credentials.
    pub token: Option<Zeroizing<String>>,
    expires: Option<Timestamp>,
}

/// Source of credentials, and those in use.
pub struct Source {
    file: Option<PathBuf>,
    cached: Mutex<Option<Cached>>,
}

/// Credentials in use.
struct Cached {
    credentials: Credentials,
    /// Before this time they are not replaced, because the last attempt has failed.
    next_attempt: Option<Instant>,
}

/// The output of a program, or the answer of a service.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "AccessKeyId")]
    access_key: String,
    #[serde(rename = "SecretAccessKey")]
    secret: String,
    #[serde(rename = "SessionToken", alias = "Token")]
    token: Option<String>,
    #[serde(rename = "Expiration")]
    expires: Option<Timestamp>,
}

impl Credentials {
    /// Credentials that do not expire.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if one of the texts is not valid in HTTP headers; `origin` is where they come from.
    pub fn new(access_key: &str, secret: &str, origin: &str) -> Result<Self, Error> {
        let failed = |reason| Error::Unreadable { origin: origin.to_owned(), reason };
        plain(access_key, secret, None).map_err(failed)
    }

    /// Whether they need not be replaced yet.
    fn is_fresh(&self) -> bool {
        let soon = Timestamp::now().checked_add(BEFORE_EXPIRY).unwrap_or(Timestamp::MAX);
        self.expires.is_none_or(|expires| expires > soon)
    }

    /// Whether they have not expired.
    fn is_valid(&self) -> bool {
        self.expires.is_none_or(|expires| expires > Timestamp::now())
    }
}

impl Cached {
    /// Whether the next request may use them without an attempt to replace them.
    fn is_usable(&self) -> bool {
        let is_too_early = self.next_attempt.is_some_and(|next| Instant::now() < next);
        self.credentials.is_fresh() || is_too_early && self.credentials.is_valid()
    }
}

impl Source {
    /// The file, or without one the environment and then the metadata service.
    #[must_use]
    pub const fn new(file: Option<PathBuf>) -> Self {
        Self { file, cached: Mutex::new(None) }
    }

    /// The current credentials; fetches new ones if they are about to expire.
    ///
    /// # Errors
    /// [`Error`].
    pub fn current(&self) -> Result<Credentials, Error> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(usable) = cached.as_ref().filter(|cached| cached.is_usable()) {
            return Ok(usable.credentials.clone());
        }
        match (self.fetch(), cached.as_mut()) {
            (Ok(credentials), _) => Ok(cached.insert(Cached { credentials, next_attempt: None }).credentials.clone()),
            (Err(_), Some(cached)) if cached.credentials.is_valid() => {
                cached.next_attempt = Some(Instant::now() + RETRY_AFTER);
                Ok(cached.credentials.clone())
            }
            (Err(error), _) => Err(error),
        }
    }

    fn fetch(&self) -> Result<Credentials, Error> {
        match &self.file {
            Some(path) => of_file(path),
            None => match of_environment()? {
                Some(found) => Ok(found),
                None => metadata::fetch(),
            },
        }
    }

    /// Drops the current credentials, which a service rejected; the next request fetches new ones.
    pub fn forget(&self) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(path) => write!(f, "credentials of {}", path.display()),
            None => f.write_str("credentials of the environment"),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// Reads the section `[default]` of a file in the format of AWS's tools.
fn of_file(path: &Path) -> Result<Credentials, Error> {
    let failed = |reason: String| Error::Unreadable { origin: path.display().to_string(), reason };
    let text = read_secret(path).map_err(|error| failed(error.to_string()))?;
    let (mut access_key, mut secret, mut token, mut program) = (None, None, None, None);
    let mut is_default = true;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(section) = line.strip_prefix('[') {
            is_default = section.trim_end_matches(']').trim() == "default";
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_default) else { continue };
        let value = value.trim();
        match name.trim() {
            "aws_access_key_id" => access_key = Some(value),
            "aws_secret_access_key" => secret = Some(value),
            "aws_session_token" => token = Some(value),
            "credential_process" => program = Some(value),
            _ => {}
        }
    }
    match (access_key, secret, program) {
        (Some(access_key), Some(secret), _) => plain(access_key, secret, token).map_err(failed),
        (None, None, Some(program)) => of_program(program).map_err(failed),
        _ => Err(failed(
            "it has neither aws_access_key_id and aws_secret_access_key nor credential_process in [default]".to_owned(),
        )),
    }
}

/// Reads a file that must not be accessible to others.
///
/// # Errors
/// It cannot be read, others may read or write it, it is too long, or it is no text.
pub fn read_secret(path: &Path) -> io::Result<Zeroizing<String>> {
    let mut file = regular::open(path, Links::Followed)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        return Err(io::Error::other("others may read or write it: chmod 600"));
    }
    let too_long = || io::Error::other(format!("is longer than {MAX_FILE_BYTES} bytes"));
    let bytes = files::read_wiped(&mut file, FIRST_BYTES, MAX_FILE_BYTES)?.ok_or_else(too_long)?;
    str::from_utf8(&bytes).map(|text| Zeroizing::new(text.to_owned())).map_err(io::Error::other)
}

fn of_environment() -> Result<Option<Credentials>, Error> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty()).map(Zeroizing::new);
    let failed = |reason: String| Error::Unreadable { origin: "the environment".to_owned(), reason };
    match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(access_key), Some(secret)) => {
            let token = variable("AWS_SESSION_TOKEN");
            plain(&access_key, &secret, token.as_ref().map(|token| token.as_str())).map(Some).map_err(failed)
        }
        (None, None) => Ok(None),
        _ => Err(failed("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set".to_owned())),
    }
}

/// Checks that the texts are valid in HTTP headers.
fn plain(access_key: &str, secret: &str, token: Option<&str>) -> Result<Credentials, String> {
    let sound = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if ![Some(access_key), Some(secret), token].into_iter().flatten().all(sound) {
        return Err("an access key, its secret or the token is empty or has invalid characters".to_owned());
    }
    Ok(Credentials {
        access_key: access_key.to_owned(),
        secret: Zeroizing::new(secret.to_owned()),
        token: token.map(|token| Zeroizing::new(token.to_owned())),
        expires: None,
    })
}

/// Runs a program that prints credentials: `credential_process` of AWS's tools. Words are separated by spaces or
/// quoted.
fn of_program(line: &str) -> Result<Credentials, String> {
    let words = words(line).ok_or("credential_process has a quote that does not end")?;
    let (program, arguments) = words.split_first().ok_or("credential_process names no program")?;
    if !Path::new(program).is_absolute() {
        return Err(format!("credential_process: {program} is not an absolute path"));
    }
    let output = Program::at(program).args(arguments).limit(PROGRAM_LIMIT).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let output = output.ok_or_else(|| format!("{program}: did not end within {} s", PROGRAM_LIMIT.as_secs()))?;
    if !output.is_success() {
        return Err(format!("{program} failed: {}", output.error_output()));
    }
    let output = Zeroizing::new(output.stdout);
    answer(output.as_bytes()).ok_or_else(|| format!("{program} did not print credentials"))
}

/// Parses the output of a program or the answer of a service.
fn answer(bytes: &[u8]) -> Option<Credentials> {
    let Answer { access_key, secret, token, expires } = serde_json::from_slice(bytes).ok()?;
    let (secret, token) = (Zeroizing::new(secret), token.map(Zeroizing::new));
    let plain = plain(&access_key, &secret, token.as_ref().map(|token| token.as_str())).ok()?;
    Some(Credentials { expires, ..plain })
}

fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (character, quote) {
            (end, Some(open)) if end == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (space, None) if space.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("credentials");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (directory, path)
    }

    const TEXT: &str = "# comment\n[default]\naws_access_key_id = AK\naws_secret_access_key=s3cr3t\n\
        [other]\naws_access_key_id = OTHER\n";

    #[test]
    fn a_file_is_read_if_nobody_else_may() {
        let (_directory, path) = file(TEXT, 0o600);
        let found = of_file(&path).unwrap();
        assert_eq!((found.access_key.as_str(), found.secret.as_str()), ("AK", "s3cr3t"));
        for mode in [0o640, 0o604, 0o660] {
            let (_directory, path) = file(TEXT, mode);
            assert!(of_file(&path).unwrap_err().to_string().contains("chmod 600"), "{mode:o}");
        }
        let (_directory, path) = file("[default]\naws_access_key_id = AK\n", 0o600);
        assert!(of_file(&path).unwrap_err().to_string().contains("neither"));
    }

    #[test]
    fn a_program_prints_credentials_until_they_expire() {
        let json = r#"{"Version": 1, "AccessKeyId": "AK", "SecretAccessKey": "s3cr3t", "SessionToken": "t",
            "Expiration": "2020-01-01T00:00:00Z"}"#;
        let (_directory, path) = file(&format!("credential_process = /bin/echo '{json}'").replace('\n', " "), 0o600);
        let source = Source::new(Some(path.clone()));
        let found = source.current().unwrap();
        assert_eq!(found.token.as_deref().map(String::as_str), Some("t"));
        assert!(!found.is_fresh());
        fs::write(&path, "aws_access_key_id = NEW\naws_secret_access_key = x").unwrap();
        assert_eq!(source.current().unwrap().access_key, "NEW", "expired ones are replaced");
        fs::write(&path, TEXT).unwrap();
        assert_eq!(source.current().unwrap().access_key, "NEW");
        source.forget();
        assert_eq!(source.current().unwrap().access_key, "AK");

        for (line, says) in [
            ("credential_process = /bin/false", "failed"),
            ("credential_process = /bin/echo {}", "did not print"),
            ("credential_process = echo", "absolute"),
            ("credential_process = \"", "quote"),
        ] {
            fs::write(&path, line).unwrap();
            let error = of_file(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn credentials_are_used_until_they_expire_if_no_new_ones_can_be_fetched() {
        let source_of = |expires: Timestamp| {
            let json = format!(r#"{{"AccessKeyId": "AK", "SecretAccessKey": "s3cr3t", "Expiration": "{expires}"}}"#);
            let (directory, path) = file(&format!("credential_process = /bin/echo '{json}'"), 0o600);
            let source = Source::new(Some(path.clone()));
            source.current().unwrap();
            let attempts = directory.path().join("attempts");
            let program = format!("/bin/sh -c 'echo >>{}; exit 1'", attempts.display());
            fs::write(&path, format!("credential_process = {program}")).unwrap();
            (directory, source, attempts)
        };
        let now = Timestamp::now();
        let (_directory, valid, attempts) = source_of(now.checked_add(jiff::SignedDuration::from_mins(2)).unwrap());
        for _ in 0..3 {
            assert_eq!(valid.current().unwrap().access_key, "AK");
        }
        assert_eq!(fs::read_to_string(attempts).unwrap(), "\n", "not with each request");
        valid.forget();
        assert!(valid.current().unwrap_err().to_string().contains("failed"), "the service has rejected them");
        let (_directory, expired, _) = source_of(now.checked_sub(jiff::SignedDuration::from_mins(2)).unwrap());
        assert!(expired.current().is_err());
    }

    #[test]
    fn no_secret_is_shown() {
        let (_directory, path) = file(TEXT, 0o600);
        let source = Source::new(Some(path));
        let shown = format!("{:?} {source:?}", source.current().unwrap());
        assert!(!shown.contains("s3cr3t") && !shown.contains("AK"), "{shown}");
    }

    #[test]
    fn words_are_separated_as_in_a_shell() {
        assert_eq!(words("/a  'b c' \"d'e\"f ''").unwrap(), ["/a", "b c", "d'ef", ""]);
        assert_eq!(words("/a 'b"), None);
    }
}
