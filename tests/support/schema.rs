//! Validates reports with the published schemas.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Asserts that a report conforms to `docs/schema/NAME.json`.
#[track_caller]
pub(crate) fn has_its_schema(report: &Value, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(format!("{name}.json"));
    let schema = serde_json::from_slice(&fs::read(path).expect("the schema is there")).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let errors: Vec<String> = validator.iter_errors(report).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
