//! Lists of records of one length that need not be in memory: a backup of terabytes has many millions of parts and
//! hashes. They are written once, record after record or at their places, and then read in blocks.

use std::{fs::File, io, marker::PhantomData, os::unix::fs::FileExt, sync::Arc};

/// Bytes that are read or written at once.
const BLOCK_BYTES: usize = 32 << 10;

/// A value that is stored in a fixed number of bytes.
pub trait Record: Copy {
    /// Number of bytes.
    const BYTES: usize;

    /// Appends its bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// The value of [`Self::BYTES`] bytes; `None` if they are fewer.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Takes the first bytes of a record.
pub fn take<const BYTES: usize>(bytes: &mut &[u8]) -> Option<[u8; BYTES]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

/// Where the records of a list are kept.
#[derive(Debug, Default)]
pub enum Place {
    /// In memory.
    #[default]
    Memory,
    /// In this file, which is empty.
    File(File),
    /// Nowhere: they are counted, but cannot be read.
    Nowhere,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    File(File),
}

impl Storage {
    fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_data(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Consecutive records. A clone shares them.
#[derive(Debug)]
pub struct List<T> {
    /// `None` if it is empty, or if the records are nowhere.
    storage: Option<Arc<Storage>>,
    first: u64,
    count: u64,
    record: PhantomData<T>,
}

impl<T: Record> List<T> {
    /// Number of records.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Whether it has no record.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All records, in order. After an error there are no more.
    #[must_use]
    pub const fn iter(&self) -> Iter<'_, T> {
        self.iter_from(0)
    }

    /// The records from number `first` on.
    #[must_use]
    pub const fn iter_from(&self, first: u64) -> Iter<'_, T> {
        Iter { list: self, next: first, block: Vec::new(), read: 0 }
    }

    /// A record; `None` behind the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn get(&self, number: u64) -> io::Result<Option<T>> {
        let mut bytes = Vec::new();
        self.read(number, 1, &mut bytes)?;
        Ok(T::decode(&bytes))
    }

    /// Records from number `first` on, at most `count`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn range(&self, first: u64, count: u64) -> io::Result<Vec<T>> {
        self.iter_from(first).take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
    }

    /// Number of the first record for which `is_before` is false; it is true for all before that one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle)? {
                Some(record) if is_before(&record) => low = middle.saturating_add(1),
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// Reads the bytes of at most `count` records.
    fn read(&self, first: u64, count: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        let count = count.min(self.count.saturating_sub(first));
        let first = self.first.saturating_add(first);
        let length = usize::try_from(count).map_or(usize::MAX, |count| count.saturating_mul(T::BYTES));
        bytes.clear();
        match self.storage.as_deref() {
            _ if count == 0 => Ok(()),
            None => Err(io::Error::new(io::ErrorKind::Unsupported, "the list was not kept")),
            Some(Storage::Memory(all)) => {
                let from = usize::try_from(first).map_or(usize::MAX, |first| first.saturating_mul(T::BYTES));
                let found = all.get(from..from.saturating_add(length)).ok_or(io::ErrorKind::UnexpectedEof)?;
                bytes.extend_from_slice(found);
                Ok(())
            }
            Some(Storage::File(file)) => {
                bytes.resize(length, 0);
                read_at(file, bytes, offset::<T>(first))
            }
        }
    }

    /// A list whose place is not known yet.
    const fn placed(first: u64, count: u64) -> Self {
        Self { storage: None, first, count, record: PhantomData }
    }
}

fn offset<T: Record>(number: u64) -> u64 {
    number.saturating_mul(T::BYTES as u64)
}

/// Reads all of `bytes`; what was never written is zero, also behind the end of the file.
fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.read_at(bytes, at) {
            Ok(0) => {
                bytes.fill(0);
                return Ok(());
            }
            Ok(read) => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                at = at.saturating_add(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self { storage: self.storage.clone(), first: self.first, count: self.count, record: PhantomData }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { storage: None, first: 0, count: 0, record: PhantomData }
    }
}

/// Lists are equal if both can be read and have the same records.
impl<T: Record + PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        let same =
            |(one, other): (io::Result<T>, io::Result<T>)| matches!((one, other), (Ok(one), Ok(other)) if one == other);
        self.count == other.count && self.iter().zip(other.iter()).all(same)
    }
}

impl<T: Record + Eq> Eq for List<T> {}

/// A list in memory.
impl<T: Record> From<Vec<T>> for List<T> {
    fn from(records: Vec<T>) -> Self {
        let mut bytes = Vec::with_capacity(records.len().saturating_mul(T::BYTES));
        records.iter().for_each(|record| record.encode(&mut bytes));
        Self { storage: Some(Arc::new(Storage::Memory(bytes))), ..Self::placed(0, records.len() as u64) }
    }
}

/// Reads the records of a list, a block at a time.
#[derive(Debug)]
pub struct Iter<'l, T> {
    list: &'l List<T>,
    /// The first record behind the block.
    next: u64,
    block: Vec<u8>,
    /// Number of bytes of the block that were returned.
    read: usize,
}

impl<T: Record> Iterator for Iter<'_, T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read >= self.block.len() {
            let count = (BLOCK_BYTES.checked_div(T::BYTES).unwrap_or(1).max(1) as u64)
                .min(self.list.count.saturating_sub(self.next));
            if count == 0 {
                return None;
            }
            if let Err(error) = self.list.read(self.next, count, &mut self.block) {
                self.next = self.list.count;
                self.block.clear();
                return Some(Err(error));
            }
            (self.next, self.read) = (self.next.saturating_add(count), 0);
        }
        let record = self.block.get(self.read..).and_then(T::decode);
        self.read = self.read.saturating_add(T::BYTES);
        record.map(Ok)
    }
}

/// Writes lists one after the other.
#[derive(Debug)]
pub struct ListWriter<T> {
    storage: Option<Storage>,
    /// Records that are not in the file yet.
    buffer: Vec<u8>,
    flushed: u64,
    count: u64,
    record: PhantomData<T>,
}

impl<T: Record> ListWriter<T> {
    /// Begins the first list.
    #[must_use]
    pub fn new(place: Place) -> Self {
        let storage = match place {
            Place::Memory => Some(Storage::Memory(Vec::new())),
            Place::File(file) => Some(Storage::File(file)),
            Place::Nowhere => None,
        };
        Self { storage, buffer: Vec::new(), flushed: 0, count: 0, record: PhantomData }
    }

    /// Adds a record to a list, which is empty, or the last one to which a record was added; `false` if it is not.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, list: &mut List<T>, record: &T) -> io::Result<bool> {
        if list.count == 0 {
            list.first = self.count;
        }
        if list.first.saturating_add(list.count) != self.count {
            return Ok(false);
        }
        match &mut self.storage {
            None => {}
            Some(Storage::Memory(bytes)) => record.encode(bytes),
            Some(Storage::File(_)) => record.encode(&mut self.buffer),
        }
        (self.count, list.count) = (self.count.saturating_add(1), list.count.saturating_add(1));
        if self.buffer.len() >= BLOCK_BYTES { self.flush().map(|()| true) } else { Ok(true) }
    }

    /// Ends the writing: the lists, which must all be of this writer, can be read.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish<'l>(mut self, lists: impl Iterator<Item = &'l mut List<T>>) -> io::Result<()>
    where
        T: 'l,
    {
        self.flush()?;
        self.storage.as_ref().map_or(Ok(()), Storage::sync)?;
        let storage = self.storage.map(Arc::new);
        lists.for_each(|list| list.storage.clone_from(&storage));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(Storage::File(file)) = &self.storage {
            file.write_all_at(&self.buffer, offset::<T>(self.flushed))?;
            self.flushed = self.count;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// A file with a place for each record, which is zero until the record is written.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    storage: Arc<Storage>,
    record: PhantomData<T>,
}

impl<T: Record> Slots<T> {
    /// In an empty file.
    #[must_use]
    pub fn new(file: File) -> Self {
        Self { storage: Arc::new(Storage::File(file)), record: PhantomData }
    }

    /// Writes consecutive records, from number `first` on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, first: u64, records: impl IntoIterator<Item = T>) -> io::Result<()> {
        let mut bytes = Vec::new();
        records.into_iter().for_each(|record| record.encode(&mut bytes));
        match &*self.storage {
            Storage::File(file) => file.write_all_at(&bytes, offset::<T>(first)),
            Storage::Memory(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Waits until all records are on the disk: a file system may notice only then that it cannot store them, and would
    /// show zeros in their place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        self.storage.sync()
    }

    /// Consecutive records.
    #[must_use]
    pub fn list(&self, first: u64, count: u64) -> List<T> {
        List { storage: Some(Arc::clone(&self.storage)), ..List::placed(first, count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Number(u32);

    impl Record for Number {
        const BYTES: usize = 4;

        fn encode(&self, out: &mut Vec<u8>) {
            out.extend(self.0.to_be_bytes());
        }

        fn decode(mut bytes: &[u8]) -> Option<Self> {
            take(&mut bytes).map(u32::from_be_bytes).map(Self)
        }
    }

    fn all(list: &List<Number>) -> Vec<u32> {
        list.iter().map(|number| number.unwrap().0).collect()
    }

    fn written(place: Place) -> [List<Number>; 3] {
        let (mut writer, mut lists) = (ListWriter::new(place), <[List<Number>; 3]>::default());
        for (list, numbers) in lists.iter_mut().zip([0..30_000, 0..0, 70_000..70_003]) {
            numbers.for_each(|number| assert!(writer.push(list, &Number(number)).unwrap()));
        }
        assert!(!writer.push(&mut lists[0], &Number(1)).unwrap(), "another list has followed");
        writer.finish(lists.iter_mut()).unwrap();
        lists
    }

    #[test]
    fn lists_read_back_from_memory_and_from_a_file() {
        let file = || Place::File(tempfile::tempfile().unwrap());
        for lists in [written(Place::Memory), written(file())] {
            assert_eq!(all(&lists[0]), (0..30_000).collect::<Vec<_>>());
            assert!(lists[1].is_empty() && all(&lists[1]).is_empty());
            assert_eq!(all(&lists[2]), [70_000, 70_001, 70_002]);
            assert_eq!(lists[2].get(2).unwrap(), Some(Number(70_002)));
            assert_eq!(lists[2].get(3).unwrap(), None, "the next list is another one");
            let range: Vec<u32> = lists[0].range(29_998, 5).unwrap().iter().map(|number| number.0).collect();
            assert_eq!(range, [29_998, 29_999]);
            for wanted in [0, 1, 17_000, 29_999, 30_000] {
                assert_eq!(lists[0].partition_point(|number| number.0 < wanted).unwrap(), u64::from(wanted));
            }
        }
        assert_eq!(written(Place::Memory), written(file()));
        assert_eq!(written(file())[2], List::from([70_000, 70_001, 70_002].map(Number).to_vec()));
        assert_ne!(written(file())[2], List::from([70_000, 70_001, 70_003].map(Number).to_vec()));
    }

    #[test]
    fn a_list_that_is_nowhere_is_counted_and_not_read() {
        let lists = written(Place::Nowhere);
        assert_eq!(lists.each_ref().map(List::len), [30_000, 0, 3]);
        let mut records = lists[0].iter();
        assert!(records.next().is_some_and(|record| record.is_err()) && records.next().is_none());
        assert!(lists[2].get(0).is_err() && lists[1].get(0).unwrap().is_none());
    }

    #[test]
    fn a_slot_is_zero_until_it_is_written() {
        let slots = Slots::new(tempfile::tempfile().unwrap());
        slots.put(20_000, [7, 8].map(Number)).unwrap();
        slots.put(3, [Number(1)]).unwrap();
        assert_eq!(all(&slots.list(2, 3)), [0, 1, 0]);
        assert_eq!(all(&slots.list(19_999, 5)), [0, 7, 8, 0, 0], "also behind the end");
    }
}
