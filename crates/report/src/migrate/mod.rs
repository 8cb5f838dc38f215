//! Plans and runs of `sealant migrate`.

mod plan;
mod run;

pub use self::{
    plan::{write_migrate_json, write_migrate_plan},
    run::{
        migrate_copied, migrate_cut_over, migrate_event, migrate_ready, migrate_status_line, migrate_verified,
        write_migrate_status,
    },
};
