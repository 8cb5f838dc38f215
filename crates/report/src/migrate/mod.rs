//! Plans and runs of `sealant migrate`.

mod event;
mod plan;
mod progress;
mod proof;
mod run;

pub use self::{
    event::{MigrateLine, write_migrate_line},
    plan::{write_migrate_json, write_migrate_plan},
    progress::migrate_status_line,
    proof::{write_migrate_html, write_migrate_proof, write_migrate_proof_lines},
    run::{migrate_copied, migrate_cut_over, migrate_event, migrate_ready, migrate_verified, write_migrate_status},
};
