//! Newtypes for numbers that must not be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Number of a tablespace; 0 is the system tablespace.
    SpaceId(u32)
}
id! {
    /// Number of a page inside its tablespace, from 0.
    PageNo(u32)
}
id! {
    /// Position in the redo log, in bytes since the server was initialised.
    Lsn(u64)
}
id! {
    /// Version of a MariaDB encryption key; 0 means "not encrypted".
    KeyVersion(u32)
}
id! {
    /// Number of a MySQL master key: the last part of its name `INNODBKey-<uuid>-<number>`.
    MasterKeyId(u32)
}
