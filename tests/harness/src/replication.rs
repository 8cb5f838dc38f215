//! Replication from one server to another.

use crate::command::run;
use crate::{Error, Kind, Server, limit, within};

/// Time limit until a replica runs, and until it has caught up.
const SECONDS: u64 = 60;

/// How a replica connects to its source.
#[derive(Clone, Debug)]
pub struct Replication {
    /// Account on the source; created there if it does not exist.
    pub user: String,
    /// Password of this account.
    pub password: String,
    /// Whether the link uses TLS; the certificate is not verified.
    pub tls: bool,
    /// More clauses for `CHANGE … TO`, for example `SOURCE_DELAY=1`.
    pub clauses: Vec<String>,
}

impl Default for Replication {
    fn default() -> Self {
        Self { user: "replica".to_owned(), password: "Replica-1".to_owned(), tls: false, clauses: Vec::new() }
    }
}

impl Server {
    /// Makes this server a replica of `source`, from its first binary log on,
    /// and waits until both threads run.
    ///
    /// # Errors
    /// [`Error::Replication`] with the replica's own message;
    /// [`Error::Unsupported`] if the source writes no binary log (MariaDB needs
    /// `--log-bin`).
    pub fn replicate_from(&mut self, source: &Self, how: &Replication) -> Result<(), Error> {
        let logs = source.sql("SHOW BINARY LOGS")?;
        let first = logs.split('\t').next().filter(|name| !name.is_empty());
        let first = first.ok_or(Error::Unsupported("the source has no binary log"))?;
        source.sql(&format!(
            "CREATE USER IF NOT EXISTS '{0}'@'%' IDENTIFIED BY '{1}'; \
             GRANT REPLICATION SLAVE ON *.* TO '{0}'@'%'",
            how.user, how.password
        ))?;
        let dialect = self.dialect();
        let clauses = self.clauses(source, how, first);
        self.sql(&format!("CHANGE {} TO {clauses}; START {}", dialect.change, dialect.thread))?;
        self.wait_for_threads()
    }

    /// Waits until this replica has applied everything `source` has logged.
    ///
    /// # Errors
    /// [`Error::Replication`] if the applier stops, [`Error::TimedOut`].
    pub fn catch_up_with(&self, source: &Self) -> Result<(), Error> {
        let status = source.sql(source.dialect().log_status)?;
        let mut fields = status.split('\t');
        let (file, position) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        let wait = self.dialect().wait;
        let limit = limit(SECONDS);
        let seconds = limit.as_secs();
        match self.value(&format!("SELECT {wait}('{file}', {position}, {seconds})"))?.as_str() {
            "NULL" => Err(self.replication_error()),
            "-1" => Err(Error::TimedOut { what: "replica to catch up".to_owned(), limit }),
            _ => Ok(()),
        }
    }

    fn clauses(&self, source: &Self, how: &Replication, first_log: &str) -> String {
        let prefix = self.dialect().prefix;
        let mut clauses = vec![
            format!("{prefix}_HOST='127.0.0.1'"),
            format!("{prefix}_PORT={}", source.port()),
            format!("{prefix}_USER='{}'", how.user),
            format!("{prefix}_PASSWORD='{}'", how.password),
            format!("{prefix}_LOG_FILE='{first_log}'"),
            format!("{prefix}_LOG_POS=4"),
            format!("{prefix}_CONNECT_RETRY=1"),
            format!("{prefix}_SSL={}", u8::from(how.tls)),
            format!("{prefix}_SSL_VERIFY_SERVER_CERT=0"),
        ];
        if prefix == MYSQL.prefix {
            // Without TLS, the client encrypts the password with the source's public key.
            clauses.push("GET_SOURCE_PUBLIC_KEY=1".to_owned());
        }
        clauses.extend(how.clauses.iter().cloned());
        clauses.join(", ")
    }

    fn wait_for_threads(&self) -> Result<(), Error> {
        let running = |status: &str| status.lines().filter(|line| line.ends_with("_Running: Yes")).count() >= 2;
        let over = |status: Result<String, Error>| match status {
            Ok(status) if running(&status) => Some(Ok(())),
            Ok(status) => last_error(&status).map(|_| Err(self.replication_error())),
            Err(error) => Some(Err(error)),
        };
        within(limit(SECONDS), || over(self.replication_status())).unwrap_or_else(|_| Err(self.replication_error()))
    }

    /// The status, as lines `name: value`.
    fn replication_status(&self) -> Result<String, Error> {
        let query = format!("SHOW {} STATUS", self.dialect().thread);
        let mut client = self.client();
        let output = run(client.args(["--vertical", "--column-names"]), query.as_bytes(), limit(SECONDS))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn replication_error(&self) -> Error {
        let status = self.replication_status().unwrap_or_default();
        Error::Replication(last_error(&status).unwrap_or("not running").to_owned())
    }

    fn dialect(&self) -> Dialect {
        match self.kind() {
            kind if kind.is_mariadb() => MARIADB,
            // The syntax of MySQL before 8.0.23, which MariaDB kept.
            Kind::MySql56 | Kind::MySql57 | Kind::Percona57 => MARIADB,
            Kind::MySql80 => Dialect { log_status: MARIADB.log_status, ..MYSQL },
            _ => MYSQL,
        }
    }
}

/// Statements that differ between the two dialects.
struct Dialect {
    change: &'static str,
    prefix: &'static str,
    thread: &'static str,
    log_status: &'static str,
    wait: &'static str,
}

const MYSQL: Dialect = Dialect {
    change: "REPLICATION SOURCE",
    prefix: "SOURCE",
    thread: "REPLICA",
    log_status: "SHOW BINARY LOG STATUS",
    wait: "SOURCE_POS_WAIT",
};

const MARIADB: Dialect = Dialect {
    change: "MASTER",
    prefix: "MASTER",
    thread: "SLAVE",
    log_status: "SHOW MASTER STATUS",
    wait: "MASTER_POS_WAIT",
};

/// The text of `Last_IO_Error` or `Last_SQL_Error`.
fn last_error(status: &str) -> Option<&str> {
    status.lines().find_map(|line| {
        let (name, text) = line.trim().split_once(": ")?;
        let error = matches!(name, "Last_IO_Error" | "Last_SQL_Error");
        (error && !text.trim().is_empty()).then_some(text)
    })
}
