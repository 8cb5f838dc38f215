//! Names of the actions of S3 that policies allow, as a request needs them and an error names them.
//!
//! Source: "Actions, resources, and condition keys for Amazon S3" of the Service Authorization Reference.

/// Reads an object, or its length.
pub const GET_OBJECT: &str = "s3:GetObject";
/// Reads a version of an object other than the newest.
pub const GET_OBJECT_VERSION: &str = "s3:GetObjectVersion";
/// Reads when the lock of an object ends.
pub const GET_OBJECT_RETENTION: &str = "s3:GetObjectRetention";
/// Creates an object.
pub const PUT_OBJECT: &str = "s3:PutObject";
/// Locks an object, and extends the lock.
pub const PUT_OBJECT_RETENTION: &str = "s3:PutObjectRetention";
/// Deletes an object of a bucket without versions; hides it in one with versions.
pub const DELETE_OBJECT: &str = "s3:DeleteObject";
/// Deletes a version of an object permanently.
pub const DELETE_OBJECT_VERSION: &str = "s3:DeleteObjectVersion";
/// Lists the objects of a bucket.
pub const LIST_BUCKET: &str = "s3:ListBucket";
/// Lists the versions of objects of a bucket.
pub const LIST_BUCKET_VERSIONS: &str = "s3:ListBucketVersions";
