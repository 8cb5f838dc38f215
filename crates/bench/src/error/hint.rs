//! The next step after an error, and whether the request itself is wrong.

use std::borrow::Cow;

use super::Error;

impl Error {
    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            Self::NoInstallation { option, .. } => {
                return Some(Cow::Owned(format!("install MariaDB with Galera, or give {option}")));
            }
            Self::Link { .. } => {
                "--rate needs root, `unshare`, `nsenter`, `ip`, `tc`, and veth and sch_tbf in the kernel"
            }
            Self::OptionFile(error) | Self::Server { source: error, .. } => return error.hint(),
            Self::NoTables { .. } => {
                "an account sees tables on which it has a privilege, such as SHOW VIEW ON *.*, which reads no rows"
            }
            Self::NoAccount => "give --server-user NAME",
            Self::SamplesFile { .. } => {
                "give a file that --raw of `sealant cost` or of one of the measurements of `sealant bench` wrote"
            }
            // The first line has no sample.
            Self::SamplesCut { line: ..=2, .. } => "no sample before it is whole: measure again, with --raw",
            Self::SamplesCut { .. } => "the lines before it are whole: they can be judged without it",
            Self::NoArm { arms, .. } => {
                return Some(Cow::Owned(format!("give one of its arms to --to: {}", arms.join(", "))));
            }
            Self::CostFile { .. } => "give a file that `sealant cost --format json` wrote",
            Self::OtherMachine { .. } => "leave out --calibration: this machine is measured then",
            Self::CountersReset { .. } => "run it again, or observe for a shorter time with --for",
            Self::TooLittleTime { .. } => "give more --minutes, fewer --parts or fewer --rows",
            Self::NoFio => "install the package fio, or give --fio",
            Self::Sysbench { .. } => "install the package sysbench; `bench oltp --driver own` goes without it",
            Self::SysbenchLoad { .. } => "leave out --driver, or give --driver own",
            Self::NoServer => "install one, or name its program",
            Self::OtherVersion { .. } => "--mysqld takes the path of another server program",
            Self::Certificate(error) => error.hint()?,
            Self::Luks(error) => error.hint()?,
            Self::Snapshot(error) => return error.hint(),
            Self::ServerRuns { .. } => "stop it, or give a copy: see `sealant snapshot create`",
            Self::NoDirectory { .. } => "--into takes existing directories, one on each file system to measure",
            Self::InDataDirectory { .. } => "copies of it cannot be made in itself: give --into a directory elsewhere",
            Self::NoRoom { .. } => "give another directory with --into",
            Self::DataDirectory { .. } => "--dir takes a directory for scratch files, such as /var/tmp",
            Self::NotServerProgram { .. } => "--mysqld takes the path of mysqld or mariadbd",
            Self::NoServerRoom { .. } => "give another directory with --dir, or fewer rows or arms",
            Self::NoMemory { .. } => {
                "give `bench oltp` a smaller --buffer-pool or fewer arms; `cost` needs less with fewer --rows"
            }
            Self::SourceInUse { .. } | Self::OtherData { .. } => {
                "DIR has to be a still copy or a snapshot of the server's directory"
            }
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }

    /// Whether the request can never work.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        match self {
            Self::OptionFile(error) | Self::Server { source: error, .. } => error.is_misuse(),
            Self::WithinSource { .. }
            | Self::TooLittleTime { .. }
            | Self::SysbenchLoad { .. }
            | Self::PeerNeedsServer { .. }
            | Self::NoPeerOfServer
            | Self::PeerWithoutNetwork { .. }
            | Self::ServerOption { .. }
            | Self::NoAesSwitch
            | Self::NoAccount => true,
            _ => false,
        }
    }
}
