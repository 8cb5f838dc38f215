//! The two ends of replication: the source and the new server.

use std::path::{Path, PathBuf};

use server::{Connection, Endpoint, Identity, Options, Password, Rows, Target, TlsOptions, auto_cnf, describe};

use crate::Error;

/// How to log in to the new server.
#[derive(Clone, Debug)]
pub struct NewServer {
    /// Its socket.
    pub socket: PathBuf,
    /// The account.
    pub user: String,
    /// Password of the account.
    pub password: Option<Password>,
}

impl NewServer {
    /// The server that runs on a data directory. `socket` is `None` if none does, or its socket is unknown.
    ///
    /// # Errors
    /// [`Error::NoNewServer`].
    pub fn on(
        datadir: &Path,
        socket: Option<PathBuf>,
        user: String,
        password: Option<Password>,
    ) -> Result<Self, Error> {
        let has_uuid = || datadir.join(auto_cnf::NAME).exists();
        let none = || Error::NoNewServer { datadir: datadir.to_owned(), has_uuid: has_uuid() };
        Ok(Self { socket: socket.ok_or_else(none)?, user, password })
    }
}

/// A connected server.
#[derive(Debug)]
pub struct Peer {
    connection: Connection,
    name: String,
    identity: Identity,
}

impl Peer {
    /// Connects, and asks the server for its identity.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::Server`].
    pub fn connect(target: &Target, options: &Options) -> Result<Self, Error> {
        let connect = |source| Error::Connect { endpoint: target.endpoint.clone(), source };
        let mut connection = Connection::open(target, options).map_err(connect)?;
        let name = target.endpoint.to_string();
        let identity = describe(&mut connection).map_err(|source| Error::Server { server: name.clone(), source })?;
        Ok(Self { connection, name, identity })
    }

    /// The server's address, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// UUID, version and family of the server.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(crate) fn is_mysql(&self) -> bool {
        self.identity.flavor().is_mysql_like()
    }

    pub(crate) fn rows(&mut self, sql: &str) -> Result<Rows, Error> {
        self.connection.query(sql).map_err(|source| Error::Server { server: self.name.clone(), source })
    }

    /// The first value of the result; the empty text if there is none.
    pub(crate) fn value(&mut self, sql: &str) -> Result<String, Error> {
        Ok(self.rows(sql)?.scalar().unwrap_or_default().to_owned())
    }

    /// The first value of the result, parsed as GTIDs.
    pub(crate) fn gtids<T>(&mut self, sql: &str) -> Result<T, Error>
    where
        T: std::str::FromStr<Err = crate::gtid::NotGtids>,
    {
        let text = self.value(sql)?;
        text.parse().map_err(|source| Error::NotGtids { server: self.name.clone(), source })
    }

    /// Runs a statement that may contain a password.
    pub(crate) fn run(&mut self, statement: &str) -> Result<(), Error> {
        let server = || self.name.clone();
        self.connection.query(statement).map(drop).map_err(|error| match error {
            server::Error::Server { code, .. } => Error::Refused { server: server(), code },
            source => Error::Server { server: server(), source },
        })
    }
}

/// A source, and a server that runs on a copy of its data.
#[derive(Debug)]
pub struct Peers {
    /// The server whose data was copied.
    pub source: Peer,
    /// The server that will replicate from it.
    pub new: Peer,
}

impl Peers {
    /// Connects to the source, and to the new server by its socket.
    ///
    /// # Errors
    /// [`Error::Connect`], [`Error::Server`], and those of [`Self::new`].
    pub fn connect(source: &Target, options: Options, new: NewServer) -> Result<Self, Error> {
        let from = Peer::connect(source, &options)?;
        let target = Target { endpoint: Endpoint::Socket(new.socket), user: new.user };
        let options = Options { password: new.password, tls: TlsOptions::default(), changes: true, ..options };
        Self::new(from, Peer::connect(&target, &options)?)
    }

    /// Checks that `new` can replicate from `source`.
    ///
    /// # Errors
    /// [`Error::OtherFamily`], [`Error::SameId`], [`Error::SameUuid`].
    pub fn new(source: Peer, new: Peer) -> Result<Self, Error> {
        let (theirs, ours) = (&source.identity, &new.identity);
        let server = new.name.clone();
        if source.is_mysql() != new.is_mysql() {
            let (version, source_version) = (ours.version.to_string(), theirs.version.to_string());
            return Err(Error::OtherFamily { server, version, source_version });
        }
        if theirs.server_id == ours.server_id {
            return Err(Error::SameId { server, id: theirs.server_id.to_string() });
        }
        if theirs.server_uuid.is_some() && theirs.server_uuid == ours.server_uuid {
            return Err(Error::SameUuid { server });
        }
        Ok(Self { source, new })
    }
}
