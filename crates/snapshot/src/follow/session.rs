//! The session that holds the server's backup locks. The server releases them when it ends, for whatever reason.

use std::{
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use server::{
    Connection, Grants, Identity, Options, Target, TlsMode, describe,
    login::{Login, PasswordSource, Prompt},
};
use zeroize::Zeroizing;

use server::{
    dialect::{
        backup_lock,
        capability::{Capability, dotted_version},
        statement::{SHOW_GRANTS, set_idle_timeout, set_lock_timeout, show_status},
    },
    error_code::LOCK_WAIT_TIMEOUT,
};

use crate::choice::{Provider, ProviderChoice};
use crate::lock_holder::Holder;
use crate::{Error, LOCK_WAIT};

/// Pause between two looks for imports that are still running.
const IMPORT_POLL: Duration = Duration::from_millis(20);

/// How to connect to the server.
#[derive(Clone, Debug)]
pub struct Account {
    /// Address of the server, and the account.
    pub target: Target,
    /// All other connection options.
    pub options: Options,
}

impl Account {
    /// The account for a choice of provider, on the server that listens on a socket. User and password default to those
    /// in option files; there is no password prompt. `None` if no account is needed and none is configured.
    ///
    /// # Errors
    /// [`Error::Server`] if a file cannot be read and an account is requested or needed.
    pub fn for_choice(
        choice: ProviderChoice,
        socket: Option<&Path>,
        user: Option<&str>,
        password_file: Option<&Path>,
    ) -> Result<Option<Self>, Error> {
        let Some(socket) = socket else { return Ok(None) };
        let account = Self::at_socket(socket, user, password_file);
        match choice {
            ProviderChoice::Only(Provider::Follow) => account.map(Some),
            _ if user.is_some() || password_file.is_some() => account.map(Some),
            ProviderChoice::Auto => Ok(account.ok()),
            ProviderChoice::Only(_) | ProviderChoice::Stream(_) => Ok(None),
        }
    }

    /// The account in a URL. The server's certificate must be issued by an authority in `ca` for the URL's host.
    ///
    /// # Errors
    /// [`Error::Server`] if a file cannot be read, or the URL is invalid.
    pub fn at_url(url: &str, password_file: Option<&Path>, ca: &Path) -> Result<Self, Error> {
        let login = Login {
            password: password_file.map_or(PasswordSource::OptionFiles, |path| PasswordSource::File(path.to_owned())),
            tls: Some(TlsMode::VerifyIdentity),
            ca_file: Some(ca.to_owned()),
            ..Login::default()
        };
        Self::by(login, Some(url), None)
    }

    fn at_socket(socket: &Path, user: Option<&str>, password_file: Option<&Path>) -> Result<Self, Error> {
        let login = Login {
            user: user.map(str::to_owned),
            password: password_file.map_or(PasswordSource::OptionFiles, |path| PasswordSource::File(path.to_owned())),
            ..Login::default()
        };
        Self::by(login, None, Some(socket))
    }

    /// Resolves a login without a password prompt.
    fn by(login: Login, url: Option<&str>, socket: Option<&Path>) -> Result<Self, Error> {
        let login = Login { timeout: Options::default().connect_timeout, ..login };
        let failed = |source| Error::Server { doing: "the account".to_owned(), source: Box::new(source) };
        let files = login.option_files().map_err(failed)?;
        let target = login.target(url, socket, &files).map_err(failed)?.ok_or(Error::NoAccount)?;
        let options = login.options(&target, &files, &NoPrompt).map_err(failed)?;
        Ok(Self { target, options })
    }
}

/// Refuses to prompt: scripts and timers take copies.
struct NoPrompt;

impl Prompt for NoPrompt {
    fn is_possible(&self) -> bool {
        false
    }

    fn password(&self, _: &str) -> io::Result<Zeroizing<String>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Longest idle time of the session: the server's maximum, a year.
const MAX_IDLE: Duration = Duration::from_secs(31_536_000);
/// Time limit of a statement, including the wait for a lock.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(300);

pub(super) struct Session {
    connection: Connection,
    pub(super) identity: Identity,
    lock_wait: Duration,
}

impl Session {
    /// Connects, with timeouts for a session that lasts as long as the copy.
    pub(super) fn open(account: &Account) -> Result<Self, Error> {
        let options = Options { changes: true, statement_timeout: STATEMENT_TIMEOUT, ..account.options.clone() };
        let failed = |source| Error::Server {
            doing: format!("the server at {} cannot be queried", account.target.endpoint),
            source: Box::new(source),
        };
        let mut connection = Connection::open(&account.target, &options).map_err(failed)?;
        let identity = describe(&mut connection).map_err(failed)?;
        let mut session = Self { connection, identity, lock_wait: LOCK_WAIT };
        // The session is idle while files are copied, which may take hours.
        session.run(&set_idle_timeout(MAX_IDLE))?;
        Ok(session)
    }

    /// Limits how long the session waits for locks.
    pub(super) fn wait_for_locks(&mut self, longest: Duration) -> Result<(), Error> {
        self.lock_wait = longest;
        self.run(&set_lock_timeout(longest))
    }

    /// Takes a backup lock, or names the sessions that hold it up.
    pub(super) fn lock(&mut self, privilege: Privilege, statement: &str) -> Result<(), Error> {
        match self.run_with(privilege, statement) {
            Err(Error::Server { source, .. }) if source.code() == Some(LOCK_WAIT_TIMEOUT) => {
                let (holders, grant) = self.holders();
                Err(Error::Lock { statement: statement.to_owned(), waited: self.lock_wait, holders, grant })
            }
            locked => locked,
        }
    }

    /// MariaDB: waits for the imports of tablespaces that had begun before DDL was blocked, by clients or as a replica.
    /// The file of such a table has the ID of another tablespace until its import ends, and no server recovers a copy
    /// with it.
    pub(super) fn wait_for_imports(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        while self.is_importing()? {
            if began.elapsed() > self.lock_wait {
                let (holders, grant) = self.holders();
                let statement = backup_lock::STAGE_BLOCK_DDL.to_owned();
                return Err(Error::Lock { statement, waited: self.lock_wait, holders, grant });
            }
            thread::sleep(IMPORT_POLL);
        }
        Ok(())
    }

    /// MariaDB: whether an import of a tablespace is running. Without the privilege PROCESS, only those of this account
    /// are seen.
    fn is_importing(&mut self) -> Result<bool, Error> {
        let running = self.rows(backup_lock::MARIADB_RUNNING, Privilege::Unknown)?;
        let is_import = |row| running.value(row, "statement").is_some_and(backup_lock::is_import);
        Ok((0..running.rows.len()).any(is_import))
    }

    /// Sessions that hold up a backup lock, `None` if this account may not see them; and the privilege for that.
    fn holders(&mut self) -> (Option<Vec<Holder>>, &'static str) {
        let is_mysql = self.identity.version.flavor.is_mysql_like();
        let mut found = |query| self.rows(query, Privilege::Unknown).ok().map(|rows| Holder::from_rows(&rows));
        if is_mysql {
            let holders = found(backup_lock::MYSQL_HOLDERS);
            // Without the instrument, an empty list says nothing.
            let is_unseen = holders.as_ref().is_some_and(Vec::is_empty)
                && self.scalar(backup_lock::MYSQL_SEES_HOLDERS).is_ok_and(|sees| sees.as_deref() == Some("0"));
            return match is_unseen {
                true => (None, backup_lock::ENABLE_MYSQL_HOLDERS),
                false => (holders, backup_lock::GRANT_MYSQL_HOLDERS),
            };
        }
        let running = found(backup_lock::MARIADB_RUNNING).unwrap_or_default();
        let changing: Vec<Holder> = running.into_iter().filter(Holder::changes).collect();
        // An account without the privilege gets an empty list.
        (Some(changing).filter(|changing| !changing.is_empty()), backup_lock::GRANT_MARIADB_RUNNING)
    }

    /// Checks the format of the redo log. Everything else that the copy needs exists in older versions too.
    pub(super) fn check_supported(&self) -> Result<(), Error> {
        let version = &self.identity.version;
        if version.can(Capability::FollowRedo) {
            return Ok(());
        }
        let since = Capability::FollowRedo.since(version.flavor).map(dotted_version).unwrap_or_default();
        Err(Error::Unsupported {
            version: version.text.clone(),
            reason: format!("its redo log has a format that is not followed, that of {since} and newer is"),
        })
    }

    /// What the account may do.
    pub(super) fn grants(&mut self) -> Result<Grants, Error> {
        Grants::of_session(&mut self.connection)
            .map_err(|source| Error::Server { doing: SHOW_GRANTS.to_owned(), source: Box::new(source) })
    }

    /// Runs a statement that every account may run.
    pub(super) fn run(&mut self, statement: &str) -> Result<(), Error> {
        self.rows(statement, Privilege::Unknown).map(drop)
    }

    /// Runs a statement for which the account needs a privilege.
    pub(super) fn run_with(&mut self, privilege: Privilege, statement: &str) -> Result<(), Error> {
        self.rows(statement, privilege).map(drop)
    }

    /// A column of the first row of a result; `None` for NULL or if there is no row.
    pub(super) fn value(&mut self, query: &str, column: &str) -> Result<Option<String>, Error> {
        self.value_with(Privilege::Unknown, query, column)
    }

    /// Like [`Self::value`], for a query that needs a privilege.
    pub(super) fn value_with(
        &mut self,
        privilege: Privilege,
        query: &str,
        column: &str,
    ) -> Result<Option<String>, Error> {
        Ok(self.rows(query, privilege)?.value(0, column).map(str::to_owned))
    }

    /// The only value of a result; `None` for NULL.
    pub(super) fn scalar(&mut self, query: &str) -> Result<Option<String>, Error> {
        Ok(self.rows(query, Privilege::Unknown)?.scalar().map(str::to_owned))
    }

    pub(super) fn rows(&mut self, statement: &str, privilege: Privilege) -> Result<server::Rows, Error> {
        self.connection.query(statement).map_err(|source| {
            let (doing, source) = (statement.to_owned(), Box::new(source));
            match source.is_privilege() {
                true => Error::Privilege { doing, source, grant: privilege.grant() },
                false => Error::Server { doing, source },
            }
        })
    }

    /// A numeric status variable from `SHOW GLOBAL STATUS`.
    pub(super) fn status(&mut self, name: &'static str) -> Result<u64, Error> {
        let value = self.value(&show_status(name), "Value")?;
        value.and_then(|value| value.parse().ok()).ok_or(Error::NoAnswer(name))
    }
}

/// Privilege that a statement needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Privilege {
    /// For MySQL's backup lock, and to register as consumer of the redo log.
    Backup,
    /// To read MySQL's position.
    LogStatus,
    /// To lock MySQL's tables of other engines.
    LockTables,
    /// To flush logs, and for MariaDB's backup stages.
    Reload,
    /// To read MariaDB's position.
    BinlogMonitor,
    /// To see which sessions of MySQL wait for a backup lock.
    Waiting,
    /// A privilege that messages cannot name.
    Unknown,
}

impl Privilege {
    const fn grant(self) -> &'static str {
        match self {
            Self::Backup => "GRANT BACKUP_ADMIN ON *.* TO the account",
            Self::LogStatus => "GRANT SELECT ON performance_schema.log_status TO the account",
            Self::LockTables => "GRANT SELECT, LOCK TABLES ON the tables that are not of InnoDB TO the account",
            Self::Reload => "GRANT RELOAD ON *.* TO the account",
            Self::BinlogMonitor => "GRANT BINLOG MONITOR ON *.* TO the account",
            Self::Waiting => backup_lock::GRANT_MYSQL_HOLDERS,
            Self::Unknown => "grant the account the privilege that the server's message names",
        }
    }
}
