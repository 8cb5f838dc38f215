//! Names and values in the forms of server configuration for a service with keys.
//!
//! Source: docs/formats, "Keys in a HashiCorp Vault" and the sections after it.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use keyservice::DEFAULT_TIMEOUT;
use serde_json::value::RawValue;
use server::{
    dialect::key_store::{MARIADB_AWS_PREFIX, MARIADB_VAULT_PREFIX},
    option_group::is_server,
    option_name,
};

/// Longest time limit that Percona's and MariaDB's plug-ins accept; longer ones overflow the clock.
const MAX_TIMEOUT: Duration = Duration::from_secs(86400);
/// Sealant's own group in an option file.
const OWN_GROUP: &str = "sealant";

/// Names and values as in the configuration; MariaDB's names without their prefix.
#[derive(Default)]
pub(crate) struct Settings<'a> {
    values: BTreeMap<String, Cow<'a, str>>,
    /// Whether a name had the prefix that was asked for.
    has_prefixed: bool,
}

impl<'a> Settings<'a> {
    /// Settings of Percona's component, a JSON object, or of its plug-in, lines `name = value`.
    pub(crate) fn from_percona(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        if bytes.trim_ascii_start().starts_with(b"{") { json(bytes) } else { Ok(lines(bytes, None)) }
    }

    /// Settings of MariaDB's plug-in, in an option file.
    pub(crate) fn from_mariadb(bytes: &'a [u8]) -> Self {
        lines(bytes, Some(MARIADB_VAULT_PREFIX))
    }

    /// Settings of MariaDB's plug-in for AWS KMS, in an option file; none without a variable of the plug-in.
    pub(crate) fn from_mariadb_aws(bytes: &'a [u8]) -> Self {
        // The group [sealant] is there for other commands, too.
        Some(lines(bytes, Some(MARIADB_AWS_PREFIX))).filter(|settings| settings.has_prefixed).unwrap_or_default()
    }

    /// All settings of a MariaDB server, in an option file.
    pub(crate) fn from_mariadb_server(bytes: &'a [u8]) -> Self {
        lines(bytes, Some(""))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a name, unless it is empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The time limit of this name in the given unit; without a positive number, the default.
    pub(crate) fn time_limit(&self, name: &str, unit: fn(u64) -> Duration) -> Duration {
        let limit = self.text(name).and_then(|text| text.parse().ok()).filter(|limit| *limit > 0);
        limit.map_or(DEFAULT_TIMEOUT, unit).min(MAX_TIMEOUT)
    }
}

/// Whether the bytes are lines `name = value` of Percona's plug-in.
pub(crate) fn is_key_value(bytes: &[u8]) -> bool {
    let settings = lines(bytes.get(..bytes.len().min(65536)).unwrap_or_default(), None);
    ["vault_url", "secret_mount_point"].iter().any(|name| settings.values.contains_key(*name))
}

/// The scalar fields of a JSON object; numbers as they are written.
fn json(bytes: &[u8]) -> Result<Settings<'_>, serde_json::Error> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes)?;
    let values = fields.into_iter().filter_map(|(name, raw)| Some((name, value(raw)?))).collect();
    Ok(Settings { values, has_prefixed: false })
}

/// Borrowed from the buffer, which is wiped, unless the text has escapes.
fn value(raw: &RawValue) -> Option<Cow<'_, str>> {
    match raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        None => Some(Cow::Borrowed(raw.get())).filter(|text| *text != "null" && !text.starts_with(['{', '['])),
        Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
        Some(_) => serde_json::from_str(raw.get()).ok().map(Cow::Owned),
    }
}

/// Parses lines `name = value`; the last line of a name wins. With `prefix`, reads an option file: the names with this
/// prefix, which is removed, and all names in the group `[sealant]`.
fn lines<'a>(bytes: &'a [u8], prefix: Option<&str>) -> Settings<'a> {
    let mut settings = Settings::default();
    let mut group = "";
    for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok()).map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            group = name.trim();
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) else { continue };
        let name = option_name::with_underscores(name.trim());
        let name = match prefix {
            None => Some(name.as_str()),
            Some(_) if group == OWN_GROUP => Some(name.as_str()),
            Some(prefix) if is_server(group) => {
                let rest = option_name::without_loose(&name).strip_prefix(prefix);
                settings.has_prefixed |= rest.is_some();
                rest
            }
            Some(_) => None,
        };
        if let Some(name) = name {
            settings.values.insert(name.to_owned(), Cow::Borrowed(unquoted(value.trim())));
        }
    }
    settings
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}
