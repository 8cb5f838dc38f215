//! A session with a HashiCorp Vault.

use std::{
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use ureq::Agent;
use zeroize::Zeroizing;

use crate::{
    address::{Address, plain_path},
    credentials::{self, AppRole, Login},
    error::{Error, Fault},
    http::{self, Reply, agent},
    kv::{Engine, EngineVersion, engine_of},
    secret::{Answer, Stored, max_versions, may_create, names, new_secret, withdrawn},
};

/// Time limit of a request, as in Percona's and MariaDB's plug-ins.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);
/// Minimum pause before repeating a request that exceeded a rate limit.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum size of an answer with a secret; the largest key in base64, with everything that Vault adds, is smaller.
const MAX_SECRET_BYTES: u64 = 1 << 18;
/// Maximum size of a list; 100,000 names of keys are smaller.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// How many versions of a secret an engine keeps unless told otherwise. Source: Vault's documentation, "KV version 2
/// (API)", `max_versions`.
const DEFAULT_MAX_VERSIONS: u32 = 10;
/// Time limit for revoking a token, which expires by itself anyway.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(2);
/// Prefix of Vault's error for a path where nothing is mounted.
const NO_ROUTE: &[u8] = b"no handler for route";
/// Part of Vault's error for a valid token whose policies do not permit the request; of an unknown token it says
/// `permission denied` alone, or with a second error. Seen with Vault 1.14.
const REFUSED_BY_POLICY: &[u8] = b"1 error occurred:";
/// Part of Vault's error for a secret that exists, where none was expected.
const CHECK_AND_SET: &[u8] = b"check-and-set parameter did not match";

/// How to reach a Vault.
#[derive(Clone, Debug)]
pub struct Access {
    /// Address of the Vault, `https://HOST:PORT`; `http://` only for this machine.
    pub address: String,
    /// Certificates of the authorities to trust for the Vault's certificate; required with https.
    pub authorities: Option<PathBuf>,
    /// The namespace, for a Vault with namespaces.
    pub namespace: Option<String>,
    /// How to authenticate.
    pub login: Login,
    /// Time limit of a request.
    pub timeout: Duration,
}

/// A session. A token that it created is revoked on drop.
pub struct Vault {
    agent: Agent,
    address: Address,
    namespace: Option<String>,
    token: Zeroizing<String>,
    owns_token: bool,
    timeout: Duration,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("address", &self.address).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct RoleLogin<'a> {
    role_id: &'a str,
    secret_id: &'a str,
}

#[derive(Serialize)]
struct CapabilitiesOf<'a> {
    paths: [&'a str; 1],
}

#[derive(Deserialize)]
struct LoggedIn<'a> {
    #[serde(borrow)]
    auth: Option<Auth<'a>>,
}

#[derive(Deserialize)]
struct Auth<'a> {
    client_token: &'a str,
}

impl Vault {
    /// Reads the credentials, and logs in unless they are a token. The token is not tested: the first request does
    /// that.
    ///
    /// # Errors
    /// [`Error`].
    pub fn connect(access: &Access) -> Result<Self, Error> {
        let address = Address::parse(&access.address)?;
        let agent = agent(access.authorities.as_deref(), address.is_https)?;
        if let Some(namespace) = &access.namespace {
            plain_path(namespace).map_err(|_| Error::Namespace { namespace: namespace.clone() })?;
        }
        let namespace = access.namespace.clone();
        let (token, timeout) = (Zeroizing::default(), access.timeout);
        let mut vault = Self { agent, address, namespace, token, owns_token: false, timeout };
        vault.token = match &access.login {
            Login::TokenFile(path) => credentials::read(path, "Vault token")?,
            Login::Token(token) => token.clone(),
            Login::AppRole(role) => {
                let token = vault.log_in(role)?;
                vault.owns_token = true;
                token
            }
        };
        Ok(vault)
    }

    fn log_in(&self, role: &AppRole) -> Result<Zeroizing<String>, Error> {
        let role_id = credentials::read(&role.role_id_file, "role id")?;
        let secret_id = credentials::read(&role.secret_id_file, "secret id")?;
        let path = format!("auth/{}/login", plain_path(&role.mount)?);
        // Full capacity from the start: a vector that grows leaves copies behind.
        let capacity = role_id.len().saturating_add(secret_id.len()).saturating_mul(2).saturating_add(64);
        let mut body = Zeroizing::new(Vec::with_capacity(capacity));
        let login = RoleLogin { role_id: &role_id, secret_id: &secret_id };
        let address = self.address.url(&path, "");
        let failed = |fault| Error::Request { address: address.clone(), fault };
        serde_json::to_writer(&mut *body, &login).map_err(|error| failed(Fault::Protocol(error.to_string())))?;
        let reply = self.send(&address, Some(&body), MAX_SECRET_BYTES).map_err(failed)?;
        match reply.status {
            200 => {}
            400 | 401 | 403 | 404 => return Err(failed(Fault::LoginRefused(reply.status))),
            _ => return Err(failed(status_fault(&reply))),
        }
        let answer: LoggedIn<'_> = serde_json::from_slice(&reply.body).map_err(|_| failed(Fault::NotJson))?;
        let token = answer.auth.and_then(|auth| credentials::plain(auth.client_token.as_bytes()));
        token.ok_or_else(|| failed(Fault::LoginRefused(reply.status)))
    }

    /// The engine and directory of a path such as `secret/mysql`.
    ///
    /// # Errors
    /// [`Error::Request`]: [`Fault::NoMount`], [`Fault::WrongEngine`] and others.
    pub fn engine(&self, path: &str) -> Result<Engine, Error> {
        let path = plain_path(path)?;
        let address = self.address.url(&format!("sys/internal/ui/mounts/{path}"), "");
        let reply = self.ask(&address, MAX_SECRET_BYTES)?;
        let found = match reply.status {
            200 => engine_of(&reply.body, path),
            // A Vault that does not know this request has only engines of version 1.
            404 => Ok(Engine::at(path, EngineVersion::First)),
            // The Vault does not distinguish an unmounted path from one for which the token has no permission.
            403 if self.token_is_known() => Err(Fault::NoAccess),
            403 => Err(Fault::TokenUnknown),
            _ => Err(status_fault(&reply)),
        };
        found.map_err(|fault| Error::Request { address, fault })
    }

    /// The names in a directory; those of subdirectories end with a slash. Empty if the directory does not exist.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn list(&self, engine: &Engine) -> Result<Vec<String>, Error> {
        let path = engine.list();
        let address = self.address.url(plain_path(&path)?, "?list=true");
        let reply = self.ask(&address, MAX_LIST_BYTES)?;
        match self.fault(&reply) {
            None => names(&reply.body),
            Some(Fault::Absent) => Ok(Vec::new()),
            Some(fault) => Err(fault),
        }
        .map_err(|fault| Error::Request { address, fault })
    }

    /// The newest version of a secret, or the given version.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn secret(&self, engine: &Engine, name: &str, version: Option<u32>) -> Result<Stored, Error> {
        let path = engine.secret(name);
        let query = version.map_or_else(String::new, |version| format!("?version={version}"));
        self.stored(&path, &query, engine.version == EngineVersion::Second)
    }

    /// Creates a secret with these fields. An engine of version 2 refuses atomically if the name has or had a value. In
    /// an engine of version 1, another client can write between the check and the write.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Fault::Exists`] if the name has a secret, or (in an engine of version 2) had one.
    pub fn create(&self, engine: &Engine, name: &str, fields: &[(&str, &str)]) -> Result<(), Error> {
        let is_second = engine.version == EngineVersion::Second;
        let path = engine.secret(name);
        if !is_second && !matches!(self.secret(engine, name, None)?, Stored::Absent) {
            return Err(self.failed(&path, Fault::Exists));
        }
        self.write(&path, new_secret(fields, is_second.then_some(0)))?.ok_or_else(|| self.failed(&path, Fault::Exists))
    }

    /// Fails if the token may not create a secret of this name. Nothing is written. A token without the default policy
    /// may not ask; then only writing shows it.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Fault::MayNotWrite`] if the Vault says so.
    pub fn check_may_create(&self, engine: &Engine, name: &str) -> Result<(), Error> {
        let path = engine.secret(name);
        let question = serde_json::to_vec(&CapabilitiesOf { paths: [plain_path(&path)?] });
        let question = question.map_err(|error| self.failed(&path, Fault::Protocol(error.to_string())))?;
        let address = self.address.url("sys/capabilities-self", "");
        let failed = |fault| Error::Request { address: address.clone(), fault };
        let reply = self.send(&address, Some(&question), MAX_SECRET_BYTES).map_err(failed)?;
        match reply.status {
            200 if may_create(&reply.body).map_err(failed)? => Ok(()),
            200 => Err(self.failed(&path, Fault::MayNotWrite)),
            403 => Ok(()),
            _ => Err(failed(status_fault(&reply))),
        }
    }

    /// Adds a version to a secret of an engine of version 2, as the successor of version `after`.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Fault::OtherVersion`] if another version is the newest.
    pub fn add_version(&self, engine: &Engine, name: &str, fields: &[(&str, &str)], after: u32) -> Result<(), Error> {
        let path = engine.secret(name);
        let written = self.write(&path, new_secret(fields, Some(after)))?;
        written.ok_or_else(|| self.failed(&path, Fault::OtherVersion { expected: after }))
    }

    /// How many versions of a secret an engine of version 2 keeps at least; `None` if the token may not ask.
    ///
    /// The engine keeps the larger of the numbers in its own settings and in those of the secret.
    /// Source: `vault-plugin-secrets-kv`, `KeyMetadata::AddVersion`.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn max_versions(&self, engine: &Engine, name: &str) -> Result<Option<u32>, Error> {
        let of_secret = self.limit_of_versions(&engine.about(name))?;
        let of_engine = self.limit_of_versions(&engine.settings())?;
        Ok(least_kept(of_secret, of_engine))
    }

    /// `max_versions` at a path: 0 if it is not set there, `None` if the token may not read it.
    fn limit_of_versions(&self, path: &str) -> Result<Option<u32>, Error> {
        let address = self.address.url(plain_path(path)?, "");
        let reply = self.ask(&address, MAX_LIST_BYTES)?;
        match self.fault(&reply) {
            None => max_versions(&reply.body).map(Some),
            // A token without the default policy may not even ask whether it is known.
            Some(Fault::Forbidden | Fault::TokenUnknown) => Ok(None),
            Some(fault) => Err(fault),
        }
        .map_err(|fault| Error::Request { address, fault })
    }

    /// Sends a body to a path; `None` if the check-and-set of the body fails.
    fn write(&self, path: &str, body: Result<Zeroizing<Vec<u8>>, Fault>) -> Result<Option<()>, Error> {
        let address = self.address.url(plain_path(path)?, "");
        let failed = |fault| Error::Request { address: address.clone(), fault };
        let body = body.map_err(failed)?;
        let reply = self.send(&address, Some(&body), MAX_SECRET_BYTES).map_err(failed)?;
        match reply.status {
            200 | 204 => Ok(Some(())),
            400 if reply.says(CHECK_AND_SET) => Ok(None),
            403 if self.token_is_known() => Err(failed(Fault::MayNotWrite)),
            403 => Err(failed(Fault::TokenUnknown)),
            _ => Err(failed(status_fault(&reply))),
        }
    }

    /// The secret at a path of the API in an engine of version 2, such as `secret/data/mysqldata`.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Fault::Absent`] too.
    pub fn secret_at(&self, path: &str) -> Result<Answer, Error> {
        match self.stored(path, "", true)? {
            Stored::Secret(answer) => Ok(answer),
            Stored::Withdrawn { how, .. } => Err(self.failed(path, Fault::Withdrawn(how))),
            Stored::Absent => Err(self.failed(path, Fault::Absent)),
        }
    }

    /// The error of a request for this path.
    #[must_use]
    pub fn failed(&self, path: &str, fault: Fault) -> Error {
        Error::Request { address: self.address.url(path.trim_matches('/'), ""), fault }
    }

    fn stored(&self, path: &str, query: &str, second_version: bool) -> Result<Stored, Error> {
        let address = self.address.url(plain_path(path)?, query);
        let reply = self.ask(&address, MAX_SECRET_BYTES)?;
        match self.fault(&reply) {
            None => Answer::new(reply.body, second_version).map(Stored::Secret),
            Some(Fault::Absent) if second_version => Ok(withdrawn(&reply.body)),
            Some(Fault::Absent) => Ok(Stored::Absent),
            Some(fault) => Err(fault),
        }
        .map_err(|fault| Error::Request { address, fault })
    }

    /// The fault that a response reports; `None` if it is successful.
    fn fault(&self, reply: &Reply) -> Option<Fault> {
        match status_fault(reply) {
            _ if reply.status == 200 => None,
            Fault::Forbidden if !self.token_is_known() => Some(Fault::TokenUnknown),
            fault => Some(fault),
        }
    }

    /// Whether the token is valid: the Vault answers both an unknown token and a forbidden path with 403. A token without
    /// the default policy may not even ask about itself, but only a valid one is refused by a policy.
    fn token_is_known(&self) -> bool {
        let address = self.address.url("auth/token/lookup-self", "");
        let reply = self.send(&address, None, MAX_SECRET_BYTES);
        reply.is_ok_and(|reply| reply.status == 200 || reply.status == 403 && reply.says(REFUSED_BY_POLICY))
    }

    fn ask(&self, address: &str, limit: u64) -> Result<Reply, Error> {
        self.send(address, None, limit).map_err(|fault| Error::Request { address: address.to_owned(), fault })
    }

    /// Sends a request; retries within the time limit if the Vault limits the rate of requests.
    fn send(&self, address: &str, body: Option<&[u8]>, limit: u64) -> Result<Reply, Fault> {
        let deadline = Instant::now().checked_add(self.timeout);
        let mut headers = vec![("X-Vault-Request", "true")];
        if !self.token.is_empty() {
            headers.push(("X-Vault-Token", self.token.as_str()));
        }
        if let Some(namespace) = &self.namespace {
            headers.push(("X-Vault-Namespace", namespace.as_str()));
        }
        loop {
            let left = deadline.map_or(self.timeout, |deadline| deadline.saturating_duration_since(Instant::now()));
            let reply = http::send(&self.agent, address, &headers, body, (limit, left.max(Duration::from_millis(1))))?;
            // `Retry-After: 0` must not become a loop without a pause.
            let pause = reply.retry_after.unwrap_or_default().max(PAUSE);
            if reply.status != 429 || left <= pause {
                return Ok(reply);
            }
            sleep(pause);
        }
    }
}

impl Drop for Vault {
    fn drop(&mut self) {
        if self.owns_token {
            self.timeout = self.timeout.min(REVOKE_TIMEOUT);
            // The token also expires by itself.
            let _ = self.send(&self.address.url("auth/token/revoke-self", ""), Some(b""), MAX_SECRET_BYTES);
        }
    }
}

/// The meaning of a status other than 200.
fn status_fault(reply: &Reply) -> Fault {
    match reply.status {
        403 => Fault::Forbidden,
        404 if reply.says(NO_ROUTE) => Fault::NoMount,
        404 => Fault::Absent,
        code @ (429 | 472 | 473) => Fault::Busy(code),
        503 if reply.says(b"sealed") => Fault::Sealed,
        503 => Fault::NotAvailable,
        code @ 300..400 => Fault::Redirect(code),
        code => Fault::Status(code),
    }
}

/// How many versions an engine keeps at least, by what is set for the secret and for the engine: 0 if nothing is set,
/// `None` if that is not known.
fn least_kept(of_secret: Option<u32>, of_engine: Option<u32>) -> Option<u32> {
    match (of_secret, of_engine) {
        (Some(0), Some(0)) => Some(DEFAULT_MAX_VERSIONS),
        // What is unknown may be smaller than the default.
        (None | Some(0), None | Some(0)) => None,
        _ => of_secret.max(of_engine),
    }
}
