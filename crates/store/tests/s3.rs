//! Buckets of a real server: the same rules as for a directory, and what only buckets have.

#[path = "support/conformance.rs"]
mod conformance;

use std::{
    io::{Cursor, Read},
    time::Duration,
};

use harness::{
    faulty::{Fault, FaultyStore, Seen},
    s3::{S3Server, S3User, careless_s3_server, s3_server},
};
use store::{
    Deletion, Error, LockState, Name, Put, S3, Store,
    s3::{Address, Lock, LockMode, S3Fault, Settings},
};

fn settings(server: &S3Server, user: &S3User, url: &str) -> Settings {
    Settings {
        address: Address::new(url, Some(&server.endpoint()), None, None).expect("an address"),
        ca: server.ca(),
        credentials: Some(user.file.clone()),
        lock: None,
        timeout: Duration::from_secs(30),
        give_up: Duration::from_secs(20),
    }
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn put(store: &S3, text: &str, body: &[u8]) -> Result<Put, Error> {
    store.put_new(&name(text), &mut Cursor::new(body), body.len() as u64)
}

fn fault(result: Result<impl std::fmt::Debug, Error>) -> S3Fault {
    match result {
        Err(Error::S3 { fault, .. }) => fault,
        other => panic!("no fault of a bucket: {other:?}"),
    }
}

#[test]
fn a_bucket_keeps_objects_as_every_store_does() {
    for is_encrypted in [false, true] {
        let Some(server) = s3_server(is_encrypted) else { return };
        let root = server.root().expect("root");
        server.create_bucket("backups", false).expect("a bucket");
        for url in ["s3://backups", "s3://backups/below/a-prefix"] {
            // The bucket's root sees what is below its prefixes, so it comes first.
            let store = S3::open(&settings(&server, &root, url)).expect("a store");
            conformance::check(&store, true);
            assert!(store.warnings().is_empty());
        }
    }
}

/// A store that does less than S3 promises has the same conditions, ranges and listings, and what it ignores is observed.
#[test]
fn a_careless_store_keeps_objects_and_is_seen_through() {
    let Some(server) = careless_s3_server() else { return };
    let root = server.root().expect("root");
    server.create_bucket("backups", false).expect("a bucket");
    let store = S3::open(&settings(&server, &root, "s3://backups/below/a-prefix")).expect("a store");
    // It looks whether there is an object, and then writes: several can do so at once.
    conformance::check(&store, false);

    let lock = Some(Lock { mode: LockMode::Compliance, days: 1 });
    let store = S3::open(&Settings { lock, ..settings(&server, &root, "s3://backups/db") }).expect("a store");
    assert_eq!(put(&store, "existing", b"x").expect("put"), Put::New);
    let (observed, faults) = store.observe(&name("existing"), Put::New, &name("absent"));
    assert!(faults.is_empty(), "{faults:?}");
    let seen = (observed.checksums, observed.versions, observed.locks);
    assert_eq!(seen, (Some(false), Some(false), Some(false)), "{observed:?}");
    assert_eq!(observed.warnings().len(), 2, "{observed:?}");
    assert_eq!(store.list("").expect("a listing").len(), 1, "nothing is left of what it kept with a wrong checksum");
    assert_eq!(store.delete(&name("existing")).expect("deleted"), Deletion::Done);
    assert_eq!(store.lock_end(&name("existing")).expect("answered"), None);
}

#[test]
fn what_a_store_does_is_observed() {
    let Some(server) = s3_server(false) else { return };
    let root = server.root().expect("root");
    for (bucket, is_locking) in [("locking", true), ("plain", false)] {
        server.create_bucket(bucket, is_locking).expect("a bucket");
        let lock = is_locking.then_some(Lock { mode: LockMode::Governance, days: 1 });
        let open = |endpoint: &str| {
            let mut settings = Settings { lock, ..settings(&server, &root, "s3://unused") };
            settings.address =
                Address::new(&format!("s3://{bucket}/db"), Some(endpoint), None, None).expect("an address");
            S3::open(&settings).expect("a store")
        };
        let store = open(&server.endpoint());
        put(&store, "existing", b"x").expect("put");
        let (observed, faults) = store.observe(&name("existing"), Put::New, &name("absent"));
        assert_eq!((observed.checksums, faults.len()), (Some(true), 0), "{observed:?} {faults:?}");
        assert_eq!((observed.versions, observed.locks), (Some(is_locking), is_locking.then_some(true)), "{observed:?}");
        assert!(observed.warnings().is_empty(), "{observed:?}");
        assert_eq!(store.list("").expect("a listing").len(), 1, "nothing is left");

        // An object from before the bucket locked.
        if is_locking {
            put(
                &S3::open(&Settings { lock: None, ..settings(&server, &root, "s3://locking/db") }).expect("a store"),
                "old",
                b"x",
            )
            .expect("put");
            let locks = |put| store.observe(&name("old"), put, &name("absent")).0.locks;
            assert_eq!((locks(Put::New), locks(Put::Exists)), (Some(false), None));
            store.delete(&name("old")).expect("deleted");
        }

        // A refusal for another reason is no verdict.
        let fault = |seen: &Seen| if seen.method == "PUT" { Fault::Answer(422, "odd") } else { Fault::None };
        let proxy = FaultyStore::start(server.port(), fault).expect("a proxy");
        let (odd, faults) = open(&proxy.endpoint()).observe(&name("existing"), Put::New, &name("absent"));
        assert_eq!((odd.checksums, odd.versions, faults.len()), (None, Some(is_locking), 1), "{faults:?}");

        // A store that takes everything, and whose answers say so.
        let fault = |seen: &Seen| if seen.method == "PUT" { Fault::Answer(200, "taken") } else { Fault::None };
        let proxy = FaultyStore::start(server.port(), fault).expect("a proxy");
        let (careless, _) = open(&proxy.endpoint()).observe(&name("existing"), Put::New, &name("absent"));
        assert_eq!(careless.checksums, Some(false));
        assert!(careless.warnings()[0].contains("checksum"), "{:?}", careless.warnings());
    }
    // In a bucket without locks the store may refuse to lock, or ignore that; it is not called locked.
    let nobody = server.create_user("nobody").expect("a user");
    let denied = S3::open(&settings(&server, &nobody, "s3://plain/db")).expect("a store");
    let (unknown, faults) = denied.observe(&name("existing"), Put::New, &name("absent"));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!((unknown.checksums, unknown.versions, unknown.clock_ahead_seconds), (None, None, None));
}

#[test]
fn long_listings_large_objects_locks_and_refusals() {
    let Some(server) = s3_server(false) else { return };
    let root = server.root().expect("root");
    server.create_bucket("backups", true).expect("a bucket");
    let open = |change: &dyn Fn(&mut Settings)| {
        let mut settings = settings(&server, &root, "s3://backups/db");
        change(&mut settings);
        S3::open(&settings).expect("a store")
    };
    let store = open(&|_| {});

    // More than a page of a listing.
    std::thread::scope(|scope| {
        for part in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..260 {
                    assert_eq!(put(store, &format!("many/{part}/{number:04}"), b"x").expect("put"), Put::New);
                }
            });
        }
    });
    let listed = store.list("many/").expect("a listing");
    assert_eq!(listed.len(), 1040);
    assert!(listed.is_sorted_by(|one, other| one.name < other.name) && listed.iter().all(|one| one.bytes == 1));

    // The body is sent after the store has accepted its headers.
    let large: Vec<u8> = (0_u32..3 << 20).map(|number| number.to_le_bytes()[1]).collect();
    assert_eq!(put(&store, "large", &large).expect("put"), Put::New);
    // This store may close the connection before its answer can be read.
    let hurried = open(&|settings| settings.give_up = Duration::from_secs(2));
    assert!(matches!(put(&hurried, "large", &large).expect("put"), Put::Exists | Put::Unclear));
    let mut read = Vec::new();
    store.get(&name("large"), None).expect("got").read_to_end(&mut read).expect("read");
    assert!(read == large);
    read.clear();
    store.get(&name("large"), Some(1000..5000)).expect("got").read_to_end(&mut read).expect("read");
    assert!(read == large[1000..5000]);

    let locking = open(&|settings| settings.lock = Some(Lock { mode: LockMode::Compliance, days: 2 }));
    assert_eq!(put(&locking, "locked", b"kept").expect("put"), Put::New);
    assert_eq!(locking.delete(&name("locked")).expect("answered"), Deletion::Locked);
    let extend = |store: &S3| store.extend_lock(&name("locked")).expect("answered");
    let first = extend(&locking);
    assert!(first.until.is_some() && first.was_locked && !first.is_extended, "more than half of its time is left");
    let unlocked = locking.extend_lock(&name("large")).expect("answered");
    assert!(unlocked.is_extended && !unlocked.was_locked, "it was put without a lock: {unlocked:?}");
    let longer = open(&|settings| settings.lock = Some(Lock { mode: LockMode::Compliance, days: 9 }));
    let extended = extend(&longer);
    assert!(extended.is_extended && extended.until > first.until, "{extended:?}");
    let after = LockState { is_extended: false, ..extended };
    assert_eq!(extend(&longer), after, "it is locked for nine days now");
    assert_eq!(extend(&store), LockState::default(), "it has no locks");
    let end = |object: &str| store.lock_end(&name(object)).expect("answered");
    assert_eq!((end("locked"), end("nothing")), (extended.until, None));

    // What is wrong is named, with the permission that is missing.
    let nobody = server.create_user("nobody").expect("a user");
    let denied = open(&|settings| settings.credentials = Some(nobody.file.clone()));
    assert!(matches!(fault(put(&denied, "a", &large)), S3Fault::Denied { action: "s3:PutObject" }));
    let head = denied.head(&name("a"));
    assert!(head.as_ref().is_err_and(Error::is_denied));
    assert!(matches!(fault(head), S3Fault::Unexplained { key } if key == "db/a"));
    assert!(matches!(fault(denied.list("")), S3Fault::Denied { action: "s3:ListBucket" }));
    let gone = open(&|settings| {
        settings.address = Address::new("s3://nowhere", Some(&server.endpoint()), None, None).expect("an address");
    });
    assert!(matches!(fault(put(&gone, "a", b"x")), S3Fault::NoBucket { .. }));
    assert!(matches!(fault(gone.list("")), S3Fault::NoBucket { .. }));
    let wrong = server.path("wrong");
    let text = std::fs::read_to_string(&root.file).expect("a file").replace("root-secret", "another-secret");
    std::fs::write(&wrong, text).expect("written");
    std::fs::set_permissions(&wrong, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
    let rejected = fault(open(&|settings| settings.credentials = Some(wrong.clone())).list(""));
    assert!(matches!(&rejected, S3Fault::Rejected { code } if code == "SignatureDoesNotMatch"), "{rejected:?}");
    let region = open(&|settings| {
        settings.address =
            Address::new("s3://backups", Some(&server.endpoint()), Some("eu-west-1"), None).expect("an address");
    });
    let region = fault(region.list(""));
    assert!(matches!(region, S3Fault::WrongRegion { right: Some(_), .. }), "{region:?}");
    let silent = open(&|settings| {
        let port = harness::free_port().expect("a port");
        settings.address =
            Address::new("s3://backups", Some(&format!("http://127.0.0.1:{port}")), None, None).expect("an address");
        settings.give_up = Duration::from_secs(1);
    });
    assert!(matches!(fault(silent.list("")), S3Fault::Unreachable { attempts: 2.., .. }));
}
