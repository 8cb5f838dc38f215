//! Writes large files without filling the page cache, so that a server's pages stay cached.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::unix::fs::FileExt,
};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::{Buffer, fill};

/// Length of a write. Direct writes wait for the disk, so short ones would be slow.
const PIECE_BYTES: usize = 1 << 20;

/// Copies all of `input` to the start of `file`, and returns the number of bytes. Whole pieces are written by direct
/// I/O if the file system has it.
pub(crate) fn copy(input: &mut dyn Read, file: &File) -> io::Result<u64> {
    let mut buffer = Buffer::new(PIECE_BYTES);
    let piece = buffer.take(PIECE_BYTES);
    let (mut copied, mut is_direct) = (0_u64, None);
    loop {
        let mut filled = 0;
        fill(input, piece, &mut filled)?;
        let bytes = piece.get(..filled).unwrap_or_default();
        let is_whole = filled == PIECE_BYTES;
        if is_whole && is_direct.is_none() {
            is_direct = Some(set_direct(file, true));
        } else if !is_whole && is_direct == Some(true) {
            set_direct(file, false);
        }
        match file.write_all_at(bytes, copied) {
            // Direct I/O was accepted at open, but refused for this write: the alignment differs.
            Err(error) if error.kind() == ErrorKind::InvalidInput && is_direct == Some(true) => {
                set_direct(file, false);
                is_direct = Some(false);
                file.write_all_at(bytes, copied)?;
            }
            written => written?,
        }
        copied = copied.saturating_add(filled as u64);
        if !is_whole {
            return Ok(copied);
        }
    }
}

/// Returns whether the file's I/O now is direct.
fn set_direct(file: &File, direct: bool) -> bool {
    let set = |flags: OFlags| {
        let flags = if direct { flags | OFlags::DIRECT } else { flags.difference(OFlags::DIRECT) };
        fcntl_setfl(file, flags)
    };
    fcntl_getfl(file).and_then(set).is_ok() && direct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_copied() {
        for directory in [".", "/dev/shm"] {
            let file = tempfile::tempfile_in(directory).unwrap();
            for length in [0, 1, 4096, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 4097] {
                file.set_len(0).unwrap();
                let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
                assert_eq!(copy(&mut bytes.as_slice(), &file).unwrap(), length as u64);
                let mut found = vec![0; length + 1];
                assert_eq!(crate::read_at::read_up_to(&file, 0, &mut found).unwrap(), length);
                assert!(found[..length] == bytes, "{directory} {length}");
            }
        }
    }

    #[test]
    fn whole_pieces_do_not_stay_in_the_page_cache() {
        let mut named = tempfile::NamedTempFile::new_in(".").unwrap();
        let bytes = vec![7; 4 * PIECE_BYTES + 100];
        if !set_direct(named.as_file(), true) {
            return;
        }
        set_direct(named.as_file(), false);
        copy(&mut bytes.as_slice(), named.as_file_mut()).unwrap();
        named.as_file().sync_all().unwrap();
        let reader = crate::Reader::open(named.path()).unwrap();
        let mut buffer = Buffer::new(PIECE_BYTES);
        assert_eq!(reader.read_cached(0, buffer.take(PIECE_BYTES)), 0);
    }
}
