//! Reads an object, and continues after the connection was lost.

use std::{
    io::{self, Read},
    sync::Arc,
};

use super::{
    S3Fault,
    client::{Call, Client},
};
use crate::{Error, s3_action};

/// Maximum number of consecutive attempts to continue that bring no new byte.
const MAX_STALLS: u32 = 5;

/// An object, or a range of it, that is being read.
pub(super) struct Download {
    client: Arc<Client>,
    key: String,
    reader: Box<dyn Read + Send>,
    /// Id of the version to read, if not the newest.
    version: Option<String>,
    /// Entity tag of the object: all bytes must come from the same version.
    etag: Option<String>,
    at: u64,
    end: u64,
    stalls: u32,
}

impl Download {
    /// Starts to read a range, or all, of the version with this entity tag if one is given; `None` if there is no such
    /// object.
    pub(super) fn start(
        client: &Arc<Client>,
        key: String,
        range: Option<std::ops::Range<u64>>,
        etag: Option<&str>,
    ) -> Result<Option<Self>, S3Fault> {
        let (client, at) = (Arc::clone(client), range.as_ref().map_or(0, |range| range.start));
        let reader: Box<dyn Read + Send> = Box::new(io::empty());
        let etag = etag.map(str::to_owned);
        let mut download = Self { client, key, reader, version: None, etag, at, end: u64::MAX, stalls: 0 };
        if range.as_ref().is_some_and(|range| range.end <= range.start) {
            download.end = at;
            return Ok(Some(download));
        }
        download.end = range.as_ref().map_or(u64::MAX, |range| range.end);
        Ok(download.open(range.is_some())?.then_some(download))
    }

    /// Starts to read a version of an object; `None` if there is none with this id.
    pub(super) fn start_version(client: &Arc<Client>, key: String, version: &str) -> Result<Option<Self>, S3Fault> {
        let (client, reader) = (Arc::clone(client), Box::new(io::empty()));
        let version = Some(version.to_owned());
        let mut download = Self { client, key, reader, version, etag: None, at: 0, end: u64::MAX, stalls: 0 };
        Ok(download.open(false)?.then_some(download))
    }

    /// Requests the remaining bytes. Returns whether the object exists.
    fn open(&mut self, is_part: bool) -> Result<bool, S3Fault> {
        let mut headers = Vec::new();
        if is_part {
            let last = if self.end == u64::MAX { String::new() } else { self.end.saturating_sub(1).to_string() };
            headers.push(("range", format!("bytes={}-{last}", self.at)));
        }
        headers.extend(self.etag.clone().map(|etag| ("if-match", etag)));
        let query = self.version.as_deref().map(|version| ("versionId", version)).into_iter().collect();
        let action = if self.version.is_some() { s3_action::GET_OBJECT_VERSION } else { s3_action::GET_OBJECT };
        let call = Call { method: "GET", key: Some(&self.key), query, headers, action };
        let reply = match self.client.call(&call, None) {
            // The range begins after the end of the object.
            Err(S3Fault::Refused { status: 416, .. }) => {
                self.end = self.at;
                return Ok(true);
            }
            reply => reply?,
        };
        match reply.status {
            404 => return Ok(false),
            412 => return Err(S3Fault::Replaced),
            206 => {}
            _ if is_part => return Err(S3Fault::Answer("the whole object instead of a part of it".to_owned())),
            _ => {}
        }
        let length = reply.header("content-length").and_then(|length| length.parse::<u64>().ok());
        let length = length.ok_or_else(|| S3Fault::Answer("an object without a length".to_owned()))?;
        self.end = self.end.min(self.at.saturating_add(length));
        self.etag = reply.header("etag").map(str::to_owned);
        self.reader = Box::new(reply.body.into_reader());
        Ok(true)
    }

    /// Requests the object again, from after the bytes already read.
    fn resume(&mut self) -> io::Result<()> {
        self.stalls = self.stalls.saturating_add(1);
        if self.stalls > MAX_STALLS {
            return Err(io::Error::other(format!(
                "the download of {} stopped {MAX_STALLS} times at one place",
                self.key
            )));
        }
        match self.open(true) {
            Ok(true) => Ok(()),
            Ok(false) => Err(io::Error::new(io::ErrorKind::NotFound, "the object was deleted while it was read")),
            Err(fault) => {
                let location = self.client.address.to_string();
                Err(io::Error::other(Error::S3 { location, fault }))
            }
        }
    }
}

impl Read for Download {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
            let most = room.len().min(left);
            let Some(part) = room.get_mut(..most).filter(|part| !part.is_empty()) else { return Ok(0) };
            // A permit for each piece, and not for the whole body: who reads two objects at once would wait for himself.
            let permit = self.client.permit();
            let read = self.reader.read(part);
            drop(permit);
            match read {
                Ok(count @ 1..) => {
                    self.at = self.at.saturating_add(count as u64);
                    self.stalls = 0;
                    return Ok(count);
                }
                // Truncated, or the connection was lost.
                Ok(0) | Err(_) => self.resume()?,
            }
        }
    }
}
