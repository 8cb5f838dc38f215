//! Group Replication's TLS settings.

use server::SslMode;
use server::dialect::variable;
use server::switch::is_on;

use crate::facts::Observed;
use crate::facts::sql::SqlFacts;

/// TLS settings of a server with the plug-in; `None` if unknown.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    /// TLS between members: `DISABLED`, `REQUIRED`, `VERIFY_CA`, `VERIFY_IDENTITY`.
    pub mode: Option<&'a str>,
    /// Whether recovery of a joining member uses TLS.
    pub recovery_tls: Option<bool>,
    /// Whether recovery verifies the donor's certificate.
    pub recovery_verified: Option<bool>,
}

impl Group<'_> {
    /// Whether messages between members are in clear text.
    #[must_use]
    pub fn messages_clear(&self) -> Option<bool> {
        self.mode.map(|mode| SslMode::parse(mode) == Some(SslMode::Disabled))
    }

    /// Whether members verify each other's certificates.
    #[must_use]
    pub fn messages_verified(&self) -> Option<bool> {
        self.mode.map(|mode| SslMode::parse(mode).is_some_and(SslMode::verifies))
    }
}

/// Number of members that the server sees in its group, including itself; `None` if it is not in a group now.
///
/// # Errors
/// [`crate::facts::Unavailable`] if the members were not listed.
pub fn members(sql: &SqlFacts) -> Observed<Option<usize>> {
    let states: Vec<&str> = sql.rows("group_members")?.iter().map(|row| row.text("state")).collect();
    let takes_part = states.iter().any(|state| !["", "OFFLINE", "ERROR"].contains(state));
    Ok(takes_part.then_some(states.len()))
}

/// Group Replication's settings, if the plug-in is active.
///
/// Without the privilege to list plug-ins, the plug-in's variables show this: they exist only while it is loaded.
#[must_use]
pub fn group(sql: &SqlFacts) -> Option<Group<'_>> {
    let mode = sql.variable_or_none(variable::GROUP_REPLICATION_SSL_MODE);
    let loaded = match sql.active_plugins() {
        Ok(plugins) => plugins.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("group_replication")),
        Err(_) => mode.is_some(),
    };
    let switch = |name: &str| sql.variable_or_none(name).map(is_on);
    loaded.then(|| Group {
        mode,
        recovery_tls: switch(variable::GROUP_REPLICATION_RECOVERY_USE_SSL),
        recovery_verified: switch(variable::GROUP_REPLICATION_RECOVERY_SSL_VERIFY_SERVER_CERT),
    })
}
