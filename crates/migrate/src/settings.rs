//! Settings of a run.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::{
    Attestation, Error, Side,
    accounts::Accounts,
    catalog::{Catalog, Encrypt, Filter, read},
    fencing::Fencing,
    link::{self, Server},
    preflight::Request,
};

/// Default of [`Settings::max_blocked`].
pub const MAX_BLOCKED: Duration = Duration::from_secs(10);
/// Default of [`Settings::whole_bytes`]: what two servers compare in a second, at least.
const WHOLE_BYTES: u64 = 50 << 20;
/// Default of [`Settings::new_table_limit`].
const NEW_TABLE_LIMIT: Duration = Duration::from_secs(60);

/// How far a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// Until every row was copied and every change since then was applied once.
    Copied,
    /// Until every row was compared as well.
    #[default]
    Verified,
    /// Until the caller stops it; changes are applied all the time.
    Forever,
}

/// Limits of a batch: changes that are applied in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Number of rows.
    pub rows: usize,
    /// Length of their statements, in bytes.
    pub bytes: usize,
    /// Age of the oldest change in the batch.
    pub age: Duration,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self { rows: 20_000, bytes: 16 << 20, age: Duration::from_millis(250) }
    }
}

/// Settings of a migration.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server whose tables are moved.
    pub source: Server,
    /// The server that receives them.
    pub target: Server,
    /// The tables as defined at the source. They exist at the target, and are empty when the migration begins.
    pub catalog: Catalog,
    /// Which tables are encrypted at the target. If any table is, the state is encrypted too, because it contains keys
    /// of rows.
    pub encrypt: Encrypt,
    /// Which tables were chosen: rights on other schemas are not carried.
    pub filter: Filter,
    /// Whether a cut-over creates the accounts of the source at the target.
    pub accounts: Accounts,
    /// What a service says about the storage of the target.
    pub attestation: Option<Attestation>,
    /// How far [`run`](crate::run()) goes.
    pub until: Until,
    /// Number of connections that read chunks.
    pub readers: usize,
    /// Number of connections that load chunks.
    pub loaders: usize,
    /// Size of a chunk in bytes.
    pub chunk_bytes: usize,
    /// Bytes of changed chunks above which only the rows that have changed are compared again.
    pub whole_bytes: u64,
    /// Limits of batches.
    pub batch: BatchLimits,
    /// How long a table that was made at the source meanwhile, and is not moved, may be there before it ends a run that has
    /// nothing else left to do.
    pub new_table_limit: Duration,
    /// Longest time for which a cut-over blocks writes at the source before it gives up.
    pub max_blocked: Duration,
    /// How a cut-over stops writes at the source.
    pub fencing: Fencing,
    /// A program that a cut-over runs after the switch, to lead clients to the target.
    pub on_switch: Option<PathBuf>,
    /// For how long after a cut-over the source is kept ready for a fallback; `None` for no fallback.
    pub fallback: Option<Duration>,
    /// Whether it is the way back after a cut-over, to a server that has had the rows before. What that server encrypts
    /// beside the tables is not judged.
    pub way_back: bool,
    /// The caller sets it to end a run in an orderly way.
    pub stop: Arc<AtomicBool>,
}

impl Settings {
    /// Settings with the defaults.
    #[must_use]
    pub fn new(source: Server, target: Server, catalog: Catalog) -> Self {
        Self {
            source,
            target,
            catalog,
            encrypt: Encrypt::default(),
            filter: Filter::default(),
            accounts: Accounts::default(),
            attestation: None,
            until: Until::default(),
            readers: 2,
            loaders: 2,
            chunk_bytes: 16 << 20,
            whole_bytes: WHOLE_BYTES,
            batch: BatchLimits::default(),
            new_table_limit: NEW_TABLE_LIMIT,
            max_blocked: MAX_BLOCKED,
            fencing: Fencing::default(),
            on_switch: None,
            fallback: None,
            way_back: false,
            stop: Arc::default(),
        }
    }

    /// Settings for the tables that the source has now.
    ///
    /// # Errors
    /// [`Error::Server`]; [`Error::Unverified`].
    pub fn read(source: Server, target: Server, request: &Request) -> Result<Self, Error> {
        link::require_verified(Side::Target, &target)?;
        let mut connection = link::definitions(Side::Source, &source)?;
        let catalog = read(&mut connection, &request.filter).map_err(Error::at(Side::Source))?;
        Ok(Self::requested(source, target, catalog, request.clone()))
    }

    /// Settings for what the user asks for.
    pub(crate) fn requested(source: Server, target: Server, catalog: Catalog, request: Request) -> Self {
        let Request { filter, encrypt, accounts, attestation } = request;
        Self { encrypt, filter, accounts, attestation, ..Self::new(source, target, catalog) }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
