//! Reports of `sealant luks`: human-readable tables, JSON for scripts, messages.

mod boot;
mod header;
mod plan;
mod volume;

pub use boot::{
    luks_boot_foreign_messages, luks_boot_installed_messages, luks_boot_removed_message, write_luks_boot_json,
    write_luks_boot_table,
};
pub use header::{
    luks_header_messages, luks_restore_messages, write_luks_backup, write_luks_check_json, write_luks_check_table,
    write_luks_differences, write_luks_header_changed, write_luks_json, write_luks_slots, write_luks_table,
};
pub use plan::{luks_plan_messages, write_luks_plan_json, write_luks_plan_table};
pub use volume::{
    luks_created_message, luks_key_added_message, luks_mount_messages, luks_reencrypted_message,
    luks_stale_backup_messages, write_luks_closed, write_luks_created, write_luks_key_added, write_luks_mounted,
    write_luks_opened, write_luks_reencrypted,
};
