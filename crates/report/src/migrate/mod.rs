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
    proof::{migrate_unproven, write_migrate_html, write_migrate_proof, write_migrate_proof_lines},
    run::{
        migrate_abort_change, migrate_aborted, migrate_copied, migrate_cut_over, migrate_event, migrate_fell_back,
        migrate_finished, migrate_more_differ, migrate_paused, migrate_proof_saved, migrate_ready, migrate_resumed,
        migrate_verified, migrate_watched, migrate_watching, migrate_way_back, migrate_way_back_ended,
        write_migrate_status,
    },
};

use serde_json::{Map, Value};

use crate::{Error, json};

/// A line of JSON with these fields first, then those of an object.
fn json_line<const N: usize>(first: [(&str, Value); N], fields: Value) -> Result<Vec<u8>, Error> {
    let mut object: Map<String, Value> = first.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    let mut text = Vec::new();
    json::line(&object, &mut text)?;
    Ok(text)
}
