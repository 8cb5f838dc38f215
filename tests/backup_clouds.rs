//! Backups in containers of Azure, by an emulator; only built with the feature `clouds`.

use harness::clouds::azurite;

use crate::support::backup::{Backups, files, is_same, stopped_mysql, with_keeper};
use crate::support::disk::text;

#[test]
fn a_container_stores_backups_like_a_directory() {
    let Some(azure) = azurite(true) else { return };
    let Some((mut server, keyring)) = stopped_mysql() else { return };
    azure.create_container("backups").expect("a container");
    let lines = format!("keyring = {keyring:?}");
    let credentials = azure.credentials().expect("credentials");
    let backups =
        Backups::at_store(server.datadir(), &lines, &azure.endpoint(), azure.ca(), &credentials, "az://backups/mysql");
    backups.backup(&["run"]).is(0).says("it is the first backup");
    let first = files(server.datadir());
    server.start().expect("it starts");
    server.sql("UPDATE demo.enc SET name = 'changed' WHERE id < 5").expect("changed");
    server.stop().expect("it stops");
    backups.backup(&["run"]).is(0).says("continues from 1");
    let check = backups.backup(&["check", "all", "--objects"]).is(0);
    assert_eq!(check.number("/objects/named"), check.number("/objects/read"), "{}", check.json);
    let keys = ["--keyring", text(&keyring)];
    backups.restore("1", &backups.path("first"), &keys).is(0);
    is_same(&backups.path("first"), &first);
    with_keeper(&backups, "keep_last = 1\ndaily = 0\nweekly = 0\nmonthly = 0\nmin_good = 1");
    assert_eq!(backups.backup(&["prune", "--yes"]).is(0).number("/pruned/backups"), 1);
    backups.restore("2", &backups.path("second"), &keys).is(0);
    is_same(&backups.path("second"), &files(server.datadir()));
    backups.configure("timeout", "lock_days = 2\ntimeout");
    let refused = backups.backup(&["list"]).says("repository.lock_days is for s3:// alone");
    assert_ne!(refused.code, 0);
}
