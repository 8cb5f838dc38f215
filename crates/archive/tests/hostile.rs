//! Damaged packs, manifests, receipts and signatures are read or refused, and nothing panics. The samples are seeds of
//! the fuzz targets.

use std::fs;

use archive::{
    Manifest, PackReader, Receipt,
    sshsig::{AllowedSigners, Signature, SigningKey},
};
use proptest::prelude::*;

fn sample(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"))).expect("the sample is there")
}

/// Changes some bytes, and may cut off the end.
fn changed(sample: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = sample.len();
    (proptest::collection::vec((0..length, any::<u8>()), 0..6), 0..=length).prop_map(move |(changes, end)| {
        let mut bytes = sample.clone();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        bytes.truncate(if end % 4 == 0 { end } else { length });
        bytes
    })
}

fn frames(bytes: &[u8]) -> usize {
    let mut reader = PackReader::new(bytes).expect("there is memory");
    let mut frames = 0;
    while let Ok(Some(frame)) = reader.next_frame() {
        assert_eq!(frame.data.len() as u64, frame.description.bytes());
        frames += 1;
    }
    frames
}

#[test]
fn the_samples_are_sound() {
    assert_eq!(frames(&sample("archive_pack/three-frames")), 3);
    assert_eq!(Manifest::read(&mut sample("archive_manifest/mysql").as_slice()).unwrap().files.len(), 8);
    let receipt = sample("archive_receipt/mysql");
    assert_eq!(Receipt::parse(&receipt).unwrap().encode().unwrap(), receipt);
    let signature = Signature::parse(&sample("archive_sshsig/signature")).unwrap();
    let key = signature.verify("sealant-receipt", &receipt).unwrap();
    let signers = AllowedSigners::parse(&String::from_utf8(sample("archive_sshsig/signers")).unwrap()).unwrap();
    signers.allow(key, "db1", "sealant-receipt").unwrap();
}

proptest! {
    #[test]
    fn packs_are_read_or_refused(bytes in changed(sample("archive_pack/three-frames"))) {
        prop_assert!(frames(&bytes) <= 3);
    }

    #[test]
    fn manifests_are_read_or_refused(bytes in changed(sample("archive_manifest/mysql"))) {
        if let Ok(manifest) = Manifest::read(&mut bytes.as_slice()) {
            let mut text = Vec::new();
            manifest.write(&mut text).unwrap();
            prop_assert_eq!(Manifest::read(&mut text.as_slice()).unwrap(), manifest);
        }
    }

    #[test]
    fn receipts_are_read_or_refused(bytes in changed(sample("archive_receipt/mysql"))) {
        if let Ok(receipt) = Receipt::parse(&bytes) {
            prop_assert_eq!(Receipt::parse(&receipt.encode().unwrap()).unwrap(), receipt);
        }
    }

    #[test]
    fn a_changed_receipt_or_signature_is_not_signed(
        receipt in changed(sample("archive_receipt/mysql")),
        signature in changed(sample("archive_sshsig/signature")),
    ) {
        let sound = Signature::parse(&sample("archive_sshsig/signature")).unwrap();
        let is_as_signed = receipt == sample("archive_receipt/mysql");
        prop_assert_eq!(sound.verify("sealant-receipt", &receipt).is_ok(), is_as_signed);
        if let Ok(other) = Signature::parse(&signature) {
            prop_assert!(other == sound || other.verify("sealant-receipt", &receipt).is_err());
        }
        let _ = SigningKey::parse(&String::from_utf8_lossy(&signature));
        let _ = AllowedSigners::parse(&String::from_utf8_lossy(&receipt));
    }
}
